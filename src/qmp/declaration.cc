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
Job* job_with(QMP_comm_t comm, const MessageMemory* memory) {
  Job* mine = job_for("declaring a message");
  if (mine != nullptr && (comm == nullptr || memory == nullptr)) {
    return fail_null(
        QMP_INVALID_ARG, "declaring a message: %s is NULL",
        comm == nullptr ? "the communicator" : "the message memory");
  }
  return mine;
}

/// The half comes first: its address goes out while the program declares
/// more.
QMP_msghandle_t declare(Job& job,
                        QMP_comm_t comm,
                        MessageMemory* memory,
                        int node,
                        std::uint32_t channel,
                        Direction direction) {
  if (memory->size() > kMaxMessage) {
    return fail_null(QMP_MEMSIZE_TOOBIG, "a message of %zu bytes is too large",
                     memory->size());
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
                     "no memory to declare a message with node %d", node);
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

QMP_msghandle_t declare_with_node(QMP_comm_t comm,
                                  MessageMemory* memory,
                                  int node,
                                  Direction direction) {
  Job* mine = job_with(comm, memory);
  if (mine == nullptr) {
    return nullptr;
  }
  if (node < 0 || node >= comm->nodes()) {
    return fail_null(QMP_NODE_OUTRANGE,
                     "declaring a message with node %d: nodes are 0 to %d",
                     node, comm->nodes() - 1);
  }
  return declare(*mine, comm, memory, node, kAbsolute, direction);
}

/// The class of the channel is the direction of travel, which for a receive is
/// opposite to `sign`.
QMP_msghandle_t declare_with_neighbour(QMP_comm_t comm,
                                       MessageMemory* memory,
                                       int axis,
                                       int sign,
                                       Direction direction) {
  Job* mine = job_with(comm, memory);
  if (mine == nullptr) {
    return nullptr;
  }
  if (sign != 1 && sign != -1) {
    return fail_null(QMP_INVALID_ARG,
                     "declaring a message along axis %d: direction %d; it has "
                     "to be 1 or -1",
                     axis, sign);
  }
  const Grid* grid = mine->grid_of(*comm);
  if (grid == nullptr) {
    return fail_null(QMP_NONEIGHBOR_INFO,
                     "declaring a message along axis %d: no logical topology "
                     "is declared; call QMP_declare_logical_topology or "
                     "QMP_layout_grid before",
                     axis);
  }
  if (axis < 0 || axis >= grid->axes()) {
    return fail_null(QMP_INVALID_ARG,
                     "declaring a message along axis %d: axes are 0 to %d",
                     axis, grid->axes() - 1);
  }
  const int node = grid->neighbour(comm->me, axis, sign);
  const int travels = direction == Direction::kSend ? sign : -sign;
  return declare(*mine, comm, memory, node, relative_class(axis, travels),
                 direction);
}

/// Checks all handles before it takes the first, so that a failure leaves them
/// as they were. Their transfers become one list, in the order given.
QMP_msghandle_t declare_multiple(QMP_msghandle_t* handles, int count) {
  if (job_for("QMP_declare_multiple") == nullptr) {
    return nullptr;
  }
  if (count < 0 || (handles == nullptr && count > 0)) {
    return fail_null(QMP_INVALID_ARG, "QMP_declare_multiple of %d handles",
                     count);
  }
  const std::span<QMP_msghandle_t const> parts(handles,
                                               static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (handles[i] == nullptr) {
      return fail_null(QMP_INVALID_ARG,
                       "QMP_declare_multiple: handle %d of 0 to %d is NULL", i,
                       count - 1);
    }
    if (handles[i]->is_active()) {
      return fail_null(QMP_INVALID_OP,
                       "QMP_declare_multiple: handle %d of 0 to %d is active: "
                       "%s; wait for it first",
                       i, count - 1, describe_active(handles[i]).c_str());
    }
  }
  if (is_declared_twice(parts)) {
    return fail_null(QMP_INVALID_ARG,
                     "QMP_declare_multiple: one handle of %d is there twice",
                     count);
  }
  auto* result = new (std::nothrow) QMP_msghandle_struct;
  if (result == nullptr) {
    return fail_null(QMP_NOMEM_ERR, "no memory for a multiple of %d handles",
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
