// Declares message handles: of one transfer, and multiples. Called by
// message_api.cc; handle.cc starts and waits for what is declared here. It
// never waits for the peer.
#include <algorithm>
#include <new>
#include <span>
#include <vector>

#include "qmp/handle.h"

namespace qmp {

namespace {

/// The job, when `comm` and `memory` are given; otherwise nullptr and a
/// failure.
Job* job_with(const char* function,
              QMP_comm_t comm,
              const MessageMemory* memory) {
  Job* mine = job_for(function);
  if (mine != nullptr && (comm == nullptr || memory == nullptr)) {
    return fail_null(
        QMP_INVALID_ARG, "%s: %s is NULL", function,
        comm == nullptr ? "the communicator" : "the message memory");
  }
  return mine;
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
  auto* handle = new (std::nothrow) QMP_msghandle_struct;
  auto* transfer = new (std::nothrow) Transfer;
  if (half == nullptr || handle == nullptr || transfer == nullptr) {
    delete handle;
    delete transfer;
    return fail_null(QMP_NOMEM_ERR,
                     "%s: no memory to declare a message with node %d",
                     function, node);
  }
  memory->add_user();
  transfer->half = half;
  transfer->memory = memory;
  handle->first = transfer;
  handle->last = transfer;
  return handle;
}

bool is_declared_twice(std::span<QMP_msghandle_t const> handles) {
  std::vector<QMP_msghandle_t> sorted(handles.begin(), handles.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

}  // namespace

QMP_msghandle_t declare_with_node(const char* function,
                                  QMP_comm_t comm,
                                  MessageMemory* memory,
                                  int node,
                                  Direction direction) {
  Job* mine = job_with(function, comm, memory);
  if (mine == nullptr) {
    return nullptr;
  }
  if (node < 0 || node >= comm->nodes()) {
    return fail_null(QMP_NODE_OUTRANGE, "%s: node %d; nodes are 0 to %d",
                     function, node, comm->nodes() - 1);
  }
  return declare(function, *mine, comm, memory, node, kAbsolute, direction);
}

/// The class of the channel is the direction of travel, which for a receive is
/// opposite to `sign`.
QMP_msghandle_t declare_with_neighbour(const char* function,
                                       QMP_comm_t comm,
                                       MessageMemory* memory,
                                       int axis,
                                       int sign,
                                       Direction direction) {
  Job* mine = job_with(function, comm, memory);
  if (mine == nullptr) {
    return nullptr;
  }
  if (sign != 1 && sign != -1) {
    return fail_null(QMP_INVALID_ARG,
                     "%s along axis %d: dir is %d; it has to be 1 or -1",
                     function, axis, sign);
  }
  const Grid* grid = mine->grid_of(*comm);
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
  return declare(function, *mine, comm, memory, node,
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
  const std::span<QMP_msghandle_t const> parts(handles,
                                               static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (handles[i] == nullptr) {
      return fail_null(QMP_INVALID_ARG,
                       "%s: handle %d of 0 to %d is NULL; declare it first",
                       function, i, count - 1);
    }
    if (handles[i]->is_active()) {
      return fail_null(QMP_INVALID_OP,
                       "%s: handle %d of 0 to %d is active: %s; wait for it "
                       "first",
                       function, i, count - 1,
                       describe_active(handles[i]).c_str());
    }
  }
  if (is_declared_twice(parts)) {
    return fail_null(QMP_INVALID_ARG,
                     "%s: one handle of %d is there twice; each has to be "
                     "another one",
                     function, count);
  }
  auto* result = new (std::nothrow) QMP_msghandle_struct;
  if (result == nullptr) {
    return fail_null(QMP_NOMEM_ERR,
                     "%s: no memory for a multiple of %d handles", function,
                     count);
  }
  for (QMP_msghandle_t part : parts) {
    if (part->first != nullptr) {
      (result->last != nullptr ? result->last->next : result->first) =
          part->first;
      result->last = part->last;
    }
    delete part;
  }
  return result;
}

}  // namespace qmp
