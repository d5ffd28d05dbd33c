// The tree of free chunks. Called by PageRuns alone. Reads no heap.
#include "middle/malloc/chunk_index.h"

#include <algorithm>
#include <bit>

#include "middle/malloc/layout.h"

namespace acp::middle {

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::uint32_t longest_run(std::uint64_t free) noexcept {
  std::uint32_t length = 0;
  for (; free != 0; free &= free >> 1) {
    ++length;
  }
  return length;
}

}  // namespace

ChunkIndex::Node ChunkIndex::leaf(std::uint64_t taken) noexcept {
  return {static_cast<std::uint32_t>(std::countr_zero(taken)),
          static_cast<std::uint32_t>(std::countl_zero(taken)),
          longest_run(~taken)};
}

/// Makes a node from its children, each of which covers `half` chunks.
ChunkIndex::Node ChunkIndex::join(const Node& left,
                                  const Node& right,
                                  std::uint64_t half) const noexcept {
  Node both = {left.first, right.last, std::max(left.most, right.most)};
  if (left.first == half) {
    both.first += right.first;
  }
  if (right.last == half) {
    both.last += left.last;
  }
  both.most = std::max(both.most, left.last + right.first);
  return both;
}

/// Builds the tree at first use. Groups that pad the tree to a power of 2
/// count as taken.
void ChunkIndex::prepare() {
  if (leaves_ != 0) {
    return;
  }
  leaves_ = std::bit_ceil(std::max<std::uint64_t>(groups_, 1));
  taken_.assign(leaves_, 0);
  std::fill(taken_.begin() + static_cast<std::ptrdiff_t>(groups_), taken_.end(),
            kAll);  // these groups do not exist
  nodes_.resize(2 * leaves_);
  for (std::uint64_t i = 0; i < leaves_; ++i) {
    nodes_[leaves_ + i] = leaf(taken_[i]);
  }
  std::uint64_t half = kChunksPerGroup;
  for (std::uint64_t first = leaves_ / 2; first != 0; first /= 2, half *= 2) {
    for (std::uint64_t i = first; i < 2 * first; ++i) {
      nodes_[i] = join(nodes_[2 * i], nodes_[2 * i + 1], half);
    }
  }
}

void ChunkIndex::set(std::uint64_t group, std::uint64_t taken) {
  prepare();
  if (taken_[group] == taken) {
    return;
  }
  taken_[group] = taken;
  std::uint64_t node = leaves_ + group;
  nodes_[node] = leaf(taken);
  for (std::uint64_t half = kChunksPerGroup; node > 1; half *= 2) {
    node /= 2;
    nodes_[node] = join(nodes_[2 * node], nodes_[2 * node + 1], half);
  }
}

void ChunkIndex::mark_taken(std::uint64_t group, std::uint64_t mask) {
  if (leaves_ != 0) {
    set(group, taken_[group] | mask);
  }
}

void ChunkIndex::mark_free(std::uint64_t group, std::uint64_t mask) {
  if (leaves_ != 0) {
    set(group, taken_[group] & ~mask);
  }
}

/// Returns the first fit, so that large runs stay at the front.
std::uint64_t ChunkIndex::find(std::uint64_t chunks) {
  prepare();
  if (nodes_[1].most < chunks) {
    return kNone;
  }
  // Goes down to the leftmost fit: in the left half, across both, or in the
  // right half.
  std::uint64_t node = 1;
  std::uint64_t begin = 0;
  std::uint64_t half = leaves_ * kChunksPerGroup / 2;
  for (; node < leaves_; half /= 2) {
    const Node& left = nodes_[2 * node];
    if (left.most >= chunks) {
      node = 2 * node;
    } else if (left.last + nodes_[2 * node + 1].first >= chunks) {
      return begin + half - left.last;
    } else {
      node = 2 * node + 1;
      begin += half;
    }
  }
  std::uint64_t free = ~taken_[node - leaves_];
  for (std::uint64_t have = 1; have < chunks; ++have) {
    free &= free >> 1;
  }
  // Bit i is left when `chunks` free chunks begin at i.
  return begin + static_cast<std::uint64_t>(std::countr_zero(free));
}

}  // namespace acp::middle
