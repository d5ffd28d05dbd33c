// Which nodes exchange messages in a global operation. docs/qmp.md,
// "Collectives".
#pragma once

#include <bit>
#include <vector>

#include "qmp/comm.h"

namespace qmp {

/// A reduction, seen from this node.
struct Plan {
  explicit Plan(const QMP_comm_struct& comm)
      : power(static_cast<int>(
            std::bit_floor(static_cast<unsigned>(comm.nodes())))),
        pairs(comm.nodes() - power),
        me(comm.me),
        block(me < 2 * pairs ? me / 2 : me - pairs) {}

  bool is_paired() const { return me < 2 * pairs; }

  int node_of(int of_block) const {
    return of_block < pairs ? 2 * of_block : of_block + pairs;
  }

  int power;
  int pairs;
  int me;
  int block;
};

/// Broadcasts: the node that this one receives from, or -1.
int parent_of(const QMP_comm_struct& comm);
/// The nodes that it sends to, in this order.
std::vector<int> children_of(const QMP_comm_struct& comm);

/// The ranks of all nodes that this one exchanges messages with, in reductions
/// and in broadcasts. The relation is symmetric.
std::vector<int> partner_ranks(const QMP_comm_struct& comm);

}  // namespace qmp
