// uts in C++: unbalanced tree search, as uts.c does. Counts the nodes of a tree
// whose shape follows from a hash of each node's place.
//
// Shows: work stealing on deques. Each rank has a deque of chunks of nodes. It
// takes from the back of its own, and when that is empty, from the front of
// another's. A counter on rank 0 says when all nodes are visited.
//
//   acprun -np 4 uts_cpp [DEPTH]
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <acp/acp.hpp>

namespace {

constexpr std::uint32_t kMostDepth = 16;
constexpr std::size_t kChunk = 16;  // nodes that change hands together
using bytes = std::array<unsigned char, 20>;

struct node {
  bytes state;  // random state: a SHA-1
  std::uint32_t depth;
};

using chunk = std::array<node, kChunk>;
using chunks = acp::deque<chunk>;

std::uint32_t read32(const unsigned char* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 |
         std::uint32_t{at[2]} << 8 | at[3];
}

void write32(unsigned char* at, std::uint32_t x) {
  for (int i = 0; i < 4; ++i)
    at[i] = static_cast<unsigned char>(x >> (24 - 8 * i));
}

/// FIPS 180-4, for messages of at most 55 bytes: one block.
bytes sha1(std::span<const unsigned char> message) {
  std::array<unsigned char, 64> block{};
  std::ranges::copy(message, block.begin());
  block[message.size()] = 0x80;
  write32(&block[60], static_cast<std::uint32_t>(message.size()) * 8);
  std::array<std::uint32_t, 80> w;
  for (std::size_t t = 0; t < 80; ++t) {
    w[t] = t < 16 ? read32(&block[4 * t])
                  : std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  }
  const std::uint32_t h[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                             0xc3d2e1f0};
  auto a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
  for (std::size_t t = 0; t < 80; ++t) {
    const std::uint32_t f = t < 20   ? (b & c) | (~b & d)
                            : t < 40 ? b ^ c ^ d
                            : t < 60 ? (b & c) | (b & d) | (c & d)
                                     : b ^ c ^ d;
    constexpr std::uint32_t kRound[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc,
                                        0xca62c1d6};
    const std::uint32_t next = std::rotl(a, 5) + f + e + kRound[t / 20] + w[t];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  const std::uint32_t sum[] = {h[0] + a, h[1] + b, h[2] + c, h[3] + d,
                               h[4] + e};
  bytes digest;
  for (std::size_t i = 0; i < 5; ++i)
    write32(&digest[4 * i], sum[i]);
  return digest;
}

node root_node() {
  bytes seed{};
  seed[19] = 19;
  return {sha1(seed), 0};
}

node child_of(const node& parent, std::uint32_t number) {
  std::array<unsigned char, 24> message;
  std::ranges::copy(parent.state, message.begin());
  write32(&message[20], number);
  return {sha1(message), parent.depth + 1};
}

/// Geometrically distributed with mean 4, 100 at most.
std::uint32_t children_of(const node& n, std::uint32_t depth) {
  if (n.depth >= depth) return 0;
  const double u = (read32(&n.state[16]) & 0x7fffffff) / 2147483648.0;
  const double count = std::floor(std::log(1 - u) / std::log(1 - 1 / 5.0));
  return static_cast<std::uint32_t>(std::min(count, 100.0));
}

std::uint64_t count_sequentially(const node& n, std::uint32_t depth) {
  std::uint64_t nodes = 1;
  for (std::uint32_t i = 0; i < children_of(n, depth); ++i) {
    nodes += count_sequentially(child_of(n, i), depth);
  }
  return nodes;
}

std::string deque_of(int rank) {
  return "deque of " + std::to_string(rank);
}

/// Visits my nodes, then takes chunks. `open` is the counter of nodes that are
/// not visited, or more: it is brought up to date before others can take nodes
/// and before each look at it. Returns how many nodes this rank visited.
std::uint64_t search(const acp::job& job,
                     std::uint32_t depth,
                     acp::global_ptr<std::uint64_t> open,
                     std::vector<node> stack) {
  chunks mine(100, job.rank());
  acp::publish(deque_of(job.rank()), mine);
  std::vector<chunks> all;
  for (int i = 0; i < job.ranks(); ++i)
    all.push_back(acp::lookup<chunks>(deque_of(i)));
  std::uint64_t change = 0, visited = 0;
  for (int victim = job.rank();;) {
    while (!stack.empty()) {
      const node n = stack.back();
      stack.pop_back();
      const std::uint32_t children = children_of(n, depth);
      for (std::uint32_t i = 0; i < children; ++i)
        stack.push_back(child_of(n, i));
      change += std::uint64_t{children} - 1;
      ++visited;
      if (stack.size() < 3 * kChunk) continue;
      // Offers the oldest nodes, which have the largest trees, to all.
      acp::fetch_add(open, std::exchange(change, 0));
      chunk oldest;
      std::copy_n(stack.begin(), kChunk, oldest.begin());
      stack.erase(stack.begin(), stack.begin() + kChunk);
      mine.push_back(oldest);
    }
    acp::fetch_add(open, std::exchange(change, 0));
    auto taken = mine.take_back();
    if (!taken) {
      if (*open == 0) break;
      victim = (victim + 1) % job.ranks();
      if (victim != job.rank()) taken = all[victim].take_front();
    }
    if (taken) stack.assign(taken->begin(), taken->end());
  }
  job.sync();  // no rank looks at my deque any more
  return visited;
}

}  // namespace

int main(int argc, char** argv) {
  const acp::job job(argc, argv);
  const unsigned long depth = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 7;
  if (depth > kMostDepth) acp::abort("usage: uts_cpp [DEPTH], 0 to 16");
  const auto open = acp::starter<std::uint64_t>(0);
  std::vector<node> stack;
  if (job.rank() == 0) {
    stack.push_back(root_node());
    *open = 1;
  }
  job.sync();
  const auto most = static_cast<std::uint32_t>(depth);
  acp::fetch_add(open + 1, search(job, most, open, std::move(stack)));
  job.sync();
  if (job.rank() != 0) return 0;
  const std::uint64_t nodes = open[1];
  const bool is_equal = nodes == count_sequentially(root_node(), most);
  std::printf("%llu nodes down to depth %lu\n",
              static_cast<unsigned long long>(nodes), depth);
  std::fputs(is_equal ? "equal to a sequential search\n"
                      : "DIFFERS from a sequential search\n",
             stderr);
  return is_equal ? 0 : 1;
}
