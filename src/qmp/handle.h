// Message handles: declared transfers, one or several.
#pragma once

#include <cstdint>
#include <string>

#include "qmp.h"
#include "qmp/failure.h"
#include "qmp/job.h"
#include "qmp/message_memory.h"
#include "qmp/transfer.h"

/// Used by one thread at a time.
struct QMP_msghandle_struct {
  qmp::Transfer* first = nullptr;  ///< None: a multiple of nothing.
  qmp::Transfer* last = nullptr;
  bool is_multiple = false;
  qmp::Failure failure;

  bool is_active() const {
    for (const qmp::Transfer* each = first; each != nullptr;
         each = each->next) {
      if (each->is_active()) {
        return true;
      }
    }
    return false;
  }
};

namespace qmp {

/// The first transfer of a handle that is active, or its last one, for a
/// message: "send of 8 bytes with node 3". The handle has one or more.
std::string describe_active(QMP_msghandle_t handle);

// declaration.cc. Each returns nullptr on a failure, which it has printed.

enum class Direction { kSend, kReceive };

/// A handle of one transfer with a node of the communicator.
QMP_msghandle_t declare_with_node(QMP_comm_t comm,
                                  MessageMemory* memory,
                                  int node,
                                  Direction direction);

/// A handle of one transfer with the neighbour along an axis.
QMP_msghandle_t declare_with_neighbour(QMP_comm_t comm,
                                       MessageMemory* memory,
                                       int axis,
                                       int sign,
                                       Direction direction);

QMP_msghandle_t declare_multiple(QMP_msghandle_t* handles, int count);

// handle.cc. QMP_start, QMP_wait and so on; qmp.h says what they return.

QMP_status_t start(QMP_msghandle_t handle);
QMP_status_t wait(QMP_msghandle_t handle);
QMP_status_t wait_all(QMP_msghandle_t* handles, int count);
QMP_bool_t is_complete(QMP_msghandle_t handle);
QMP_status_t clear_to_send(QMP_msghandle_t handle, QMP_clear_to_send_t cts);
QMP_status_t change_addresses(QMP_msghandle_t handle, void** bases, int count);
void free_handle(QMP_msghandle_t handle);

}  // namespace qmp
