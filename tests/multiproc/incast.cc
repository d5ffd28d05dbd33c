// All ranks put to rank 0 at one time: `incast MIB_OF_EACH`. incast_test.cc
// starts it. Rank 0 checks each byte, and prints the bandwidth of rank 1 alone
// and then of all ranks together.
//
// Rank 0 has one part of memory for each rank. A rank puts a piece of its own
// memory to it again and again. Each round has a pattern of its own, and rank 0
// checks one after each barrier.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acp.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kPieces = 4;  ///< Each rank puts them in one round.
constexpr std::size_t kPartBytes = kPieces * kPieceBytes;

std::uint64_t word_of(std::size_t round, int from, std::size_t index) {
  return (static_cast<std::uint64_t>(round) << 40 |
          static_cast<std::uint64_t>(from) << 32 | index) *
         0x9e3779b97f4a7c15;
}

std::byte* memory() {
  return static_cast<std::byte*>(
      acp_query_address(acp_query_starter_ga(acp_rank())));
}

/// The offset in rank 0 of the part of a rank; its own memory is at 0.
std::size_t part_of(int rank) {
  return static_cast<std::size_t>(rank - 1) * kPartBytes;
}

void fill(std::size_t round) {
  for (std::size_t i = 0; i < kPartBytes / 8; ++i) {
    const std::uint64_t word = word_of(round, acp_rank(), i);
    std::memcpy(memory() + 8 * i, &word, sizeof word);
  }
}

/// On rank 0: whether the part of a rank has each byte of the round.
bool is_exact(std::size_t round, int from) {
  for (std::size_t i = 0; i < kPartBytes / 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory() + part_of(from) + 8 * i, sizeof word);
    if (word != word_of(round, from, i)) {
      std::printf("word %zu of rank %d is wrong in round %zu\n", i, from,
                  round);
      return false;
    }
  }
  return true;
}

/// Ranks 1 to `last` put one part each. The time of the puts, between two
/// barriers, or a negative number after a failure. Filling and checking take
/// none of it.
double round_seconds(std::size_t round, int last) {
  const int me = acp_rank();
  const bool puts = me >= 1 && me <= last;
  if (puts) {
    fill(round);
  }
  acp_sync();
  const auto begin = Clock::now();
  for (std::size_t piece = 0; puts && piece < kPieces; ++piece) {
    acp_copy(acp_query_starter_ga(0) + part_of(me) + piece * kPieceBytes,
             acp_query_starter_ga(me) + piece * kPieceBytes, kPieceBytes,
             ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
  if (acp_sync() != 0) {
    return -1;
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  for (int from = 1; me == 0 && from <= last; ++from) {
    if (!is_exact(round, from)) {
      return -1;
    }
  }
  return took.count();
}

/// Megabytes a second of ranks 1 to `last` together, in `rounds` rounds from
/// `first` on. Ends the job after a failure.
double bandwidth(std::size_t first, std::size_t rounds, int last) {
  double seconds = 0;
  for (std::size_t round = first; round < first + rounds; ++round) {
    const double took = round_seconds(round, last);
    if (took < 0) {
      acp_abort("incast: a put failed, or the memory is wrong");
    }
    seconds += took;
  }
  return static_cast<double>(rounds * static_cast<std::size_t>(last) *
                             kPartBytes) /
         seconds / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0 || argc < 2) {
    return 1;
  }
  const std::size_t mebibytes = std::strtoull(argv[1], nullptr, 10);
  const std::size_t rounds = (mebibytes + kPieces - 1) / kPieces;
  const double alone = bandwidth(1, rounds, 1);
  const double together = bandwidth(1 + rounds, rounds, acp_procs() - 1);
  if (acp_rank() == 0) {
    std::printf("exact; MB/s: 1 rank %.0f, %d ranks %.0f, ratio %.2f\n", alone,
                acp_procs() - 1, together, together / alone);
  }
  return acp_finalize() == 0 ? 0 : 1;
}
