// Reductions by recursive doubling, broadcasts along a binomial tree, and
// transpositions by rounds of pairs. Called by
// global_api.cc and by splits; one thread at a time for a communicator. They
// wait, so no lock may be held.
#include "qmp/collective.h"

#include <cstring>
#include <utility>
#include <vector>

#include "acp/infrastructure.h"
#include "qmp/channel_round.h"
#include "qmp/operation.h"
#include "qmp/partner.h"
#include "qmp/tree.h"

namespace qmp {

namespace {

/// Recursive doubling over blocks of nodes. With n nodes, n - p of which exceed
/// the largest power of two p, the first 2 (n - p) nodes pair up. The odd one
/// sends its operand and waits for the result. Operands are combined in the
/// order of the nodes, so all nodes get the same bits. `mine` and `theirs` may
/// be swapped; the result is in `mine`.
QMP_status_t reduce_in(Operation& operation,
                       std::byte*& mine,
                       std::byte*& theirs,
                       const Operator& combine) {
  const TreePosition position(operation.comm());
  const std::size_t bytes = operation.bytes();
  QMP_status_t status = QMP_SUCCESS;
  if (position.is_paired() && position.me % 2 == 1) {
    Partner lower(operation, position.me - 1);
    status = lower.send(mine, bytes);
    return status != QMP_SUCCESS ? status : lower.receive(mine, bytes);
  }
  if (position.is_paired()) {
    status = Partner(operation, position.me + 1).receive(theirs, bytes);
    if (status != QMP_SUCCESS) {
      return status;
    }
    combine.apply(mine, theirs, bytes);
  }
  for (int mask = 1; mask < position.power; mask *= 2) {
    const int block = position.block ^ mask;
    Partner partner(operation, position.node_of(block));
    status = partner.swap(mine, theirs, bytes);
    if (status != QMP_SUCCESS) {
      return status;
    }
    if (block < position.block) {
      std::swap(mine, theirs);
    }
    combine.apply(mine, theirs, bytes);
  }
  return position.is_paired()
             ? Partner(operation, position.me + 1).send(mine, bytes)
             : QMP_SUCCESS;
}

/// One round of all_to_all().
QMP_status_t exchange_blocks(Operation& operation,
                             int round,
                             std::byte* in,
                             std::byte* out) {
  const int nodes = operation.comm().nodes();
  const int to = (operation.comm().me + round) % nodes;
  const int from = (operation.comm().me + nodes - round) % nodes;
  const std::size_t bytes = operation.bytes();
  const auto* to_lanes = operation.lanes_to(to);
  const auto* from_lanes = operation.lanes_to(from);
  if (to_lanes == nullptr || from_lanes == nullptr) {
    return QMP_NOMEM_ERR;
  }
  ChannelRound messages(operation, operation.tag());
  messages.receive(*from_lanes, in + static_cast<std::size_t>(from) * bytes,
                   bytes);
  messages.send(*to_lanes, out + static_cast<std::size_t>(to) * bytes, bytes);
  return messages.run();
}

class Nothing final : public Operator {
 public:
  void apply(void* /*lower*/,
             void* /*higher*/,
             std::size_t /*bytes*/) const override {}

  std::uint8_t kind() const override { return kBarrier; }
};

}  // namespace

/// Short operands stay in `scratch` of the communicator, so that a reduction of
/// a few numbers allocates nothing.
QMP_status_t reduce(Job& job,
                    QMP_comm_struct& comm,
                    const char* function,
                    void* data,
                    std::size_t bytes,
                    const Operator& combine) {
  if (comm.nodes() == 1) {
    return QMP_SUCCESS;
  }
  Operation operation(job, comm, function, combine.kind(), bytes);
  if (operation.is_revoked()) {
    return operation.fail_revoked();
  }
  LibraryMemory& library = job.exchange.library();
  const bool is_short = bytes <= kEagerBytes;
  const std::size_t room = is_short ? kEagerBytes : (bytes + 63) / 64 * 64;
  Block block = is_short ? comm.scratch : Block{};
  if (!block) {
    block = library.allocate(2 * room);
    if (!block) {
      return operation.fail_memory("its operands");
    }
  }
  if (is_short) {
    comm.scratch = block;
  }
  std::byte* mine = block.memory;
  std::byte* theirs = block.memory + room;
  if (bytes > 0) {
    std::memcpy(mine, data, bytes);
  }
  const QMP_status_t status = reduce_in(operation, mine, theirs, combine);
  if (status == QMP_SUCCESS && bytes > 0) {
    std::memcpy(data, mine, bytes);
  }
  if (!is_short) {
    library.free(block.memory);
  }
  return status;
}

/// A node first receives from its parent and then sends to all children at
/// once.
QMP_status_t broadcast(Job& job,
                       QMP_comm_struct& comm,
                       const char* function,
                       void* data,
                       std::size_t bytes) {
  if (comm.nodes() == 1) {
    return QMP_SUCCESS;
  }
  Operation operation(job, comm, function, kBroadcast, bytes);
  if (operation.is_revoked()) {
    return operation.fail_revoked();
  }
  if (comm.me != 0) {
    ChannelRound round(operation, operation.tag());
    const auto* lanes = operation.lanes_to(parent_of(comm));
    if (lanes == nullptr) {
      return QMP_NOMEM_ERR;
    }
    round.receive(*lanes, data, bytes);
    if (const QMP_status_t status = round.run(); status != QMP_SUCCESS) {
      return status;
    }
  }
  ChannelRound round(operation, operation.tag());
  for (const int child : children_of(comm)) {
    const auto* lanes = operation.lanes_to(child);
    if (lanes == nullptr) {
      return QMP_NOMEM_ERR;
    }
    round.send(*lanes, data, bytes);
  }
  return round.run();
}

/// In round r each node sends to the node r behind it, and receives from the
/// node r before it. So every pair of nodes has one round, and no node gets two
/// messages at a time. All nodes become partners, which tell each other of
/// failures.
QMP_status_t all_to_all(Job& job,
                        QMP_comm_struct& comm,
                        const char* function,
                        std::byte* in,
                        std::byte* out,
                        std::size_t bytes) {
  const auto mine = static_cast<std::size_t>(comm.me) * bytes;
  if (comm.nodes() > 1) {
    Operation operation(job, comm, function, kAllToAll, bytes);
    if (!comm.has_all_partners) {
      comm.has_all_partners = true;
      std::vector<int> others = comm.ranks;
      std::erase(others, acp_rank());
      job.exchange.add_partners(*comm.revocation, others);
    }
    if (operation.is_revoked()) {
      return operation.fail_revoked();
    }
    for (int round = 1; round < comm.nodes(); ++round) {
      const QMP_status_t status = exchange_blocks(operation, round, in, out);
      if (status != QMP_SUCCESS) {
        return status;
      }
    }
  }
  if (bytes > 0) {
    std::memcpy(in + mine, out + mine, bytes);
  }
  return QMP_SUCCESS;
}

QMP_status_t meet(Job& job, QMP_comm_struct& comm, const char* function) {
  return reduce(job, comm, function, nullptr, 0, Nothing());
}

}  // namespace qmp
