// Declares message handles: of one transfer, and multiples. Called by
// message_api.cc; handle.cc starts and waits for what is declared here. It
// never waits for the peer.
#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "inbox/reserved_call.h"
#include "qmp/handle.h"

namespace qmp {

namespace {

/// The message memory, when job, `comm` and `handle` are given and not freed;
/// otherwise nullptr and a failure.
MessageMemory* memory_for(const char* function,
                          QMP_comm_t comm,
                          QMP_msgmem_t handle) {
  if (job_to_begin(function) == nullptr) {
    return nullptr;
  }
  if (comm == nullptr || handle == nullptr) {
    return fail_null(
        QMP_INVALID_ARG, "%s: %s is NULL", function,
        comm == nullptr ? "the communicator" : "the message memory");
  }
  MessageMemory* memory = message_memories().find(handle);
  if (comm->is_freed || memory == nullptr) {
    return fail_null(
        QMP_INVALID_ARG, "%s: %s was freed before, or was never declared",
        function, comm->is_freed ? "the communicator" : "the message memory");
  }
  return memory;
}

/// The half comes first: its address goes out while the program declares
/// more.
QMP_msghandle_t declare(const char* function,
                        Job& job,
                        QMP_comm_t comm,
                        MessageMemory* memory,
                        int node,
                        std::uint32_t channel,
                        Direction direction) {
  if (memory->size() > kMaxMessage) {
    return fail_null(QMP_MEMSIZE_TOOBIG,
                     "%s: the message memory has %zu bytes; a message has %llu "
                     "at most",
                     function, memory->size(),
                     static_cast<unsigned long long>(kMaxMessage));
  }
  const auto peer =
      static_cast<std::uint32_t>(comm->ranks[static_cast<std::size_t>(node)]);
  Half* half = job.exchange.half(
      {comm->number, channel, peer, direction == Direction::kReceive});
  auto* object = new (std::nothrow) MessageHandle;
  auto* transfer = new (std::nothrow) Transfer;
  QMP_msghandle_t handle =
      half != nullptr && object != nullptr && transfer != nullptr
          ? message_handles().add(object)
          : nullptr;
  if (handle == nullptr) {
    delete object;
    delete transfer;
    return fail_null(QMP_NOMEM_ERR,
                     "%s: no memory to declare a message with node %d",
                     function, node);
  }
  memory->add_user();
  transfer->half = half;
  transfer->memory = memory;
  object->first = transfer;
  object->last = transfer;
  return handle;
}

bool is_declared_twice(std::span<MessageHandle* const> handles) {
  std::vector<MessageHandle*> sorted(handles.begin(), handles.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

/// The objects of handles that none uses now. Empty, though `count` is not 0: a
/// handle is NULL, freed or active, which is reported.
std::vector<MessageHandle*> idle_parts(const char* function,
                                       QMP_msghandle_t* handles,
                                       int count) {
  std::vector<MessageHandle*> parts;
  for (int i = 0; i < count; ++i) {
    const std::string number =
        " " + std::to_string(i) + " of 0 to " + std::to_string(count - 1);
    MessageHandle* part = find_handle(function, handles[i], number.c_str());
    if (part == nullptr) {
      return {};
    }
    if (part->is_active()) {
      (void)fail(QMP_INVALID_OP,
                 "%s: handle%s is active: %s; wait for it first", function,
                 number.c_str(), describe_active(*part).c_str());
      return {};
    }
    parts.push_back(part);
  }
  return parts;
}

/// Whether the handles can become a multiple; if not, it reports why. The
/// program says how many there are, so lists of them may not use the reserve.
bool are_parts(const char* function, QMP_msghandle_t* handles, int count) {
  try {
    const std::vector<MessageHandle*> parts =
        idle_parts(function, handles, count);
    if (parts.size() != static_cast<std::size_t>(count)) {
      return false;
    }
    if (is_declared_twice(parts)) {
      (void)fail(QMP_INVALID_ARG,
                 "%s: one handle of %d is there twice; each has to be another "
                 "one",
                 function, count);
      return false;
    }
    return true;
  } catch (const std::bad_alloc&) {
    (void)fail(QMP_NOMEM_ERR, "%s: no memory for a list of %d handles",
               function, count);
    return false;
  }
}

}  // namespace

QMP_msghandle_t declare_with_node(const char* function,
                                  QMP_comm_t comm,
                                  QMP_msgmem_t handle,
                                  int node,
                                  Direction direction) {
  const inbox::ReservedCall call;
  MessageMemory* memory = memory_for(function, comm, handle);
  if (memory == nullptr) {
    return nullptr;
  }
  if (node < 0 || node >= comm->nodes()) {
    return fail_null(QMP_NODE_OUTRANGE, "%s: node %d; nodes are 0 to %d",
                     function, node, comm->nodes() - 1);
  }
  return declare(function, *job(), comm, memory, node, kAbsolute, direction);
}

/// The class of the channel is the direction of travel, which for a receive is
/// opposite to `sign`.
QMP_msghandle_t declare_with_neighbour(const char* function,
                                       QMP_comm_t comm,
                                       QMP_msgmem_t handle,
                                       int axis,
                                       int sign,
                                       Direction direction) {
  const inbox::ReservedCall call;
  MessageMemory* memory = memory_for(function, comm, handle);
  if (memory == nullptr) {
    return nullptr;
  }
  if (sign != 1 && sign != -1) {
    return fail_null(QMP_INVALID_ARG,
                     "%s along axis %d: dir is %d; it has to be 1 or -1",
                     function, axis, sign);
  }
  const Grid* grid = job()->grid_of(*comm);
  if (grid == nullptr) {
    return fail_null(QMP_NONEIGHBOR_INFO,
                     "%s along axis %d: no logical topology is declared; call "
                     "QMP_declare_logical_topology or QMP_layout_grid before",
                     function, axis);
  }
  if (axis < 0 || axis >= grid->axes()) {
    return fail_null(QMP_INVALID_ARG, "%s: axis %d; axes are 0 to %d", function,
                     axis, grid->axes() - 1);
  }
  const int node = grid->neighbour(comm->me, axis, sign);
  const int travels = direction == Direction::kSend ? sign : -sign;
  return declare(function, *job(), comm, memory, node,
                 relative_class(axis, travels), direction);
}

/// Checks all handles before it takes the first, so that a failure leaves them
/// as they were. Their transfers become one list, in the order given.
QMP_msghandle_t declare_multiple(const char* function,
                                 QMP_msghandle_t* handles,
                                 int count) {
  if (job_for(function) == nullptr) {
    return nullptr;
  }
  if (count < 0) {
    return fail_null(QMP_INVALID_ARG, "%s: num is %d; it has to be 0 or more",
                     function, count);
  }
  if (handles == nullptr && count > 0) {
    return fail_null(QMP_INVALID_ARG, "%s: msgh is NULL, and num is %d",
                     function, count);
  }
  if (!are_parts(function, handles, count)) {
    return nullptr;
  }
  const inbox::ReservedCall call;
  if (job_to_begin(function) == nullptr) {
    return nullptr;
  }
  auto* object = new (std::nothrow) MessageHandle;
  QMP_msghandle_t result =
      object != nullptr ? message_handles().add(object) : nullptr;
  if (result == nullptr) {
    delete object;
    return fail_null(QMP_NOMEM_ERR,
                     "%s: no memory for a multiple of %d handles", function,
                     count);
  }
  for (int i = 0; i < count; ++i) {
    MessageHandle* part = message_handles().remove(handles[i]);
    if (part->first != nullptr) {
      (object->last != nullptr ? object->last->next : object->first) =
          part->first;
      object->last = part->last;
    }
    delete part;
  }
  return result;
}

}  // namespace qmp
