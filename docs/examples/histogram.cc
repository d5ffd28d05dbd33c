// histogram in C++: counts how often each byte value occurs in a file, as
// histogram.c does, by acp.hpp.
//
// Shows: pointers into the memory of other ranks, and atomics without an order.
// Byte value b has its counter in the starter memory of rank b % ranks.
//
//   acprun -np 4 histogram_cpp [FILE]
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

#include <acp/acp.hpp>

namespace {

constexpr int kValues = 256;
constexpr int kShown = 8;
using table = std::array<std::uint64_t, kValues>;

/// The bytes first .. last - 1 of the file.
std::vector<unsigned char> read_slice(const char* path, long first, long last) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(first);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(last - first));
  file.read(reinterpret_cast<char*>(bytes.data()), last - first);
  if (!file) acp::abort("cannot read the file");
  return bytes;
}

/// Rank 0: all counters, with one copy from each rank.
table gather(int ranks) {
  table all{};
  const acp::registered<std::uint64_t> part(kValues);
  for (int rank = 0; rank < std::min(ranks, kValues); ++rank) {
    const int n = (kValues - rank + ranks - 1) / ranks;
    acp::copy(part.ptr(), acp::starter<std::uint64_t>(rank),
              static_cast<std::size_t>(n))
        .wait();
    for (int i = 0; i < n; ++i)
      all[rank + i * ranks] = part[i];
  }
  return all;
}

void print_most_frequent(const table& counts) {
  std::array<int, kValues> by_count;
  std::iota(by_count.begin(), by_count.end(), 0);
  std::ranges::stable_sort(by_count, std::greater<>(),
                           [&](int b) { return counts[b]; });
  for (int i = 0; i < kShown && counts[by_count[i]] != 0; ++i) {
    const int b = by_count[i];
    std::printf("  0x%02x %c %8llu\n", b, b > ' ' && b < 127 ? b : ' ',
                static_cast<unsigned long long>(counts[b]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const acp::job job(argc, argv);
  const char* path = argc > 1 ? argv[1] : "/usr/share/common-licenses/GPL-3";
  const int ranks = job.ranks();
  const long size = std::ifstream(path, std::ios::ate).tellg();

  const long share = size * job.rank() / ranks;
  for (const int b : read_slice(path, share, size * (job.rank() + 1) / ranks)) {
    acp::async_add(acp::starter<std::uint64_t>(b % ranks) + b / ranks, 1);
  }
  acp::wait_all();  // my additions are done
  job.sync();       // all ranks are done, too

  if (job.rank() != 0) return 0;
  const table counts = gather(ranks);
  std::printf("%s: %ld bytes counted by %d rank%s\n", path, size, ranks,
              ranks == 1 ? "" : "s");
  print_most_frequent(counts);
  table expected{};
  for (const int b : read_slice(path, 0, size))
    ++expected[b];
  std::puts(counts == expected ? "equal to a sequential count"
                               : "DIFFERS from a sequential count");
  return counts == expected ? 0 : 1;
}
