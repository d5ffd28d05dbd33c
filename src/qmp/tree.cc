// Binomial tree and recursive doubling, as lists of nodes. Called by
// collectives, splits and the partition. Pure, so all nodes get equal trees.
#include "qmp/tree.h"

#include <algorithm>

namespace qmp {

int parent_of(const QMP_comm_struct& comm) {
  return comm.me == 0 ? -1 : comm.me & (comm.me - 1);
}

std::vector<int> children_of(const QMP_comm_struct& comm) {
  const int nodes = comm.nodes();
  int mask = 1;
  while (mask < nodes && (comm.me & mask) == 0) {
    mask *= 2;
  }
  std::vector<int> children;
  for (mask /= 2; mask > 0; mask /= 2) {
    if (comm.me + mask < nodes) {
      children.push_back(comm.me + mask);
    }
  }
  return children;
}

/// Parent and children of the broadcast tree, the other node of a pair, and one
/// node per round of doubling.
std::vector<int> partner_ranks(const QMP_comm_struct& comm) {
  std::vector<int> nodes = children_of(comm);
  if (comm.me != 0) {
    nodes.push_back(parent_of(comm));
  }
  const TreePosition position(comm);
  if (position.is_paired()) {
    nodes.push_back(position.me ^ 1);
  }
  if (!position.is_paired() || position.me % 2 == 0) {
    for (int mask = 1; mask < position.power; mask *= 2) {
      nodes.push_back(position.node_of(position.block ^ mask));
    }
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::vector<int> ranks;
  ranks.reserve(nodes.size());
  for (const int node : nodes) {
    ranks.push_back(comm.ranks[static_cast<std::size_t>(node)]);
  }
  return ranks;
}

}  // namespace qmp
