// A message handle of qmp.h: a list of transfers. declaration.cc makes handles,
// handle.cc starts and waits for them.
#pragma once

#include <cstdint>
#include <string>

#include "qmp.h"
#include "qmp/failure.h"
#include "qmp/handle_table.h"
#include "qmp/job.h"
#include "qmp/message_memory.h"
#include "qmp/transfer.h"

namespace qmp {

/// The object of a message handle. One thread at a time uses a handle.
/// declaration.cc writes the list when it makes the handle, and handle.cc keeps
/// failures.
struct MessageHandle {
  Transfer* first = nullptr;  ///< Null: a multiple of no handles.
  Transfer* last = nullptr;
  Failure failure;  ///< QMP_get_error_string returns it.

  bool is_active() const {
    for (const Transfer* each = first; each != nullptr; each = each->next) {
      if (each->is_active()) {
        return true;
      }
    }
    return false;
  }
};

/// The message handles of this process. Like the table below it is never
/// destroyed: a program that ends need not free its handles.
using MessageHandles = HandleTable<MessageHandle, QMP_msghandle_t>;
MessageHandles& message_handles();

/// The message memories that the program has. The table holds one user of each.
using MessageMemories = HandleTable<MessageMemory, QMP_msgmem_t>;
MessageMemories& message_memories();

/// The object of a handle; nullptr: NULL, or freed before, which is reported.
/// `number` is its place among several handles, as " 2 of 0 to 4", or "".
MessageHandle* find_handle(const char* function,
                           QMP_msghandle_t handle,
                           const char* number = "");

/// Names the first active transfer of a handle, or its last one, for a message
/// to the user: "send of 8 bytes with node 3". The handle has a transfer.
std::string describe_active(const MessageHandle& handle);

// declaration.cc. Each returns nullptr on a failure, which it has printed. The
// line names `function`, which the program has called.

enum class Direction { kSend, kReceive };

/// Declares a transfer with a node of the communicator.
QMP_msghandle_t declare_with_node(const char* function,
                                  QMP_comm_t comm,
                                  QMP_msgmem_t handle,
                                  int node,
                                  Direction direction);

/// Declares a transfer with the neighbour along an axis.
QMP_msghandle_t declare_with_neighbour(const char* function,
                                       QMP_comm_t comm,
                                       QMP_msgmem_t handle,
                                       int axis,
                                       int sign,
                                       Direction direction);

QMP_msghandle_t declare_multiple(const char* function,
                                 QMP_msghandle_t* handles,
                                 int count);

// handle.cc. QMP_start, QMP_wait and so on; qmp.h says what they return.

QMP_status_t start(QMP_msghandle_t name);
QMP_status_t wait(QMP_msghandle_t name);
QMP_status_t wait_all(QMP_msghandle_t* handles, int count);
QMP_bool_t is_complete(QMP_msghandle_t name);
QMP_status_t clear_to_send(QMP_msghandle_t name, QMP_clear_to_send_t cts);
QMP_status_t change_addresses(const char* function,
                              QMP_msghandle_t name,
                              void** bases,
                              int count);
void free_handle(QMP_msghandle_t name);

}  // namespace qmp
