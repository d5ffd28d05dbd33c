// Which nodes exchange messages in a global operation: the trees of reductions
// and broadcasts. docs/qmp.md, "Collectives". Pure.
#pragma once

#include <bit>
#include <vector>

#include "qmp/comm.h"

namespace qmp {

/// The position of this node in the tree of a reduction. The first nodes form
/// `pairs` pairs, the others stay single. Pairs and single nodes together are
/// `power` blocks, a power of two.
struct TreePosition {
  explicit TreePosition(const QMP_comm_struct& comm)
      : power(static_cast<int>(
            std::bit_floor(static_cast<unsigned>(comm.nodes())))),
        pairs(comm.nodes() - power),
        me(comm.me),
        block(me < 2 * pairs ? me / 2 : me - pairs) {}

  bool is_paired() const { return me < 2 * pairs; }

  int node_of(int of_block) const {
    return of_block < pairs ? 2 * of_block : of_block + pairs;
  }

  /// The largest power of two that is not above the number of nodes.
  int power;
  int pairs;
  int me;
  /// The block of this node, from 0.
  int block;
};

/// The node that this one receives broadcasts from; -1 on node 0.
int parent_of(const QMP_comm_struct& comm);
/// The nodes that this one sends broadcasts to, in this order.
std::vector<int> children_of(const QMP_comm_struct& comm);

/// The ranks of all nodes that this one exchanges messages with. The relation
/// is symmetric.
std::vector<int> partner_ranks(const QMP_comm_struct& comm);

}  // namespace qmp
