// A job that works for SECONDS and checks every result: `steady SECONDS [CALL
// [RANK]]`. The tests of hosts start it, and meanwhile take away or attack the
// network, or kill processes. After the work, CALL `finalize` or `reset` is
// acp_finalize or acp_reset of all ranks but RANK, and the others wait there.
// With CALL `init` the ranks wait for RANK in acp_init, so there is no work.
// With CALL `resets` all ranks call acp_reset until the job is ended. With the
// name of a file in STEADY_UNTIL the work ends as soon as the file exists. With
// that name, rank 0 also tells its rounds four times a second.
//
// Each rank has in its starter memory a stop word, a counter, and for each
// other rank a block. A round: each rank adds one to each counter, and puts a
// block of the round's pattern to each rank.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "acp.h"

namespace {

constexpr std::size_t kBlockBytes = 20'000;
constexpr std::size_t kStopAt = 0;
constexpr std::size_t kCounterAt = 8;
constexpr std::size_t kBlocksAt = 64;

std::uint64_t word_of(std::uint64_t round, int from, std::size_t index) {
  return round * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(from) * 1009 +
         index;
}

/// The memory of this rank and its round.
struct Rank {
  int me = acp_rank();
  int ranks = acp_procs();
  acp_ga_t ga = acp_query_starter_ga(acp_rank());
  std::byte* memory = static_cast<std::byte*>(acp_query_address(ga));
  std::uint64_t round = 0;

  std::size_t block_at(int from) const {
    return kBlocksAt + static_cast<std::size_t>(from) * kBlockBytes;
  }

  std::uint64_t load(std::size_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory + at, sizeof value);
    return value;
  }
};

/// A rank's own block is the source of its puts. The old values of the counters
/// go behind the blocks. False: the library has lost a rank, and said so.
bool work(const Rank& rank) {
  const std::size_t own = rank.block_at(rank.me);
  for (std::size_t i = 0; i < kBlockBytes / 8; ++i) {
    const std::uint64_t word = word_of(rank.round, rank.me, i);
    std::memcpy(rank.memory + own + 8 * i, &word, sizeof word);
  }
  const std::size_t old = rank.block_at(rank.ranks);
  for (int distance = 1; distance < rank.ranks; ++distance) {
    const acp_ga_t peer =
        acp_query_starter_ga((rank.me + distance) % rank.ranks);
    acp_copy(peer + own, rank.ga + own, kBlockBytes, ACP_HANDLE_NULL);
    acp_add8(rank.ga + old, peer + kCounterAt, 1, ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
  return acp_errno == ACPX_OK && acp_sync() == 0;
}

/// Says which word of which rank is wrong.
bool is_exact(const Rank& rank) {
  const std::uint64_t added =
      rank.round * static_cast<std::uint64_t>(rank.ranks - 1);
  if (rank.load(kCounterAt) != added) {
    std::printf("rank %d: counter %llu is not %llu\n", rank.me,
                static_cast<unsigned long long>(rank.load(kCounterAt)),
                static_cast<unsigned long long>(added));
    return false;
  }
  for (int from = 0; from < rank.ranks; ++from) {
    for (std::size_t i = 0; i < kBlockBytes / 8; ++i) {
      if (rank.load(rank.block_at(from) + 8 * i) !=
          word_of(rank.round, from, i)) {
        std::printf("rank %d: word %zu from rank %d is wrong in round %llu\n",
                    rank.me, i, from,
                    static_cast<unsigned long long>(rank.round));
        return false;
      }
    }
  }
  return true;
}

/// Rank 0 tells all ranks, before a barrier, that the time is over.
void stop_all(const Rank& rank) {
  const std::uint64_t yes = 1;
  std::memcpy(rank.memory + kStopAt, &yes, sizeof yes);
  for (int peer = 1; peer < rank.ranks; ++peer) {
    acp_copy(acp_query_starter_ga(peer) + kStopAt, rank.ga + kStopAt, 8,
             ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Tells rank 0 when to end the job, and prints its progress.
class Watch {
 public:
  explicit Watch(int seconds)
      : end_(Clock::now() + std::chrono::seconds(seconds)) {}

  bool is_over() const {
    return Clock::now() > end_ ||
           (file_ != nullptr && ::access(file_, F_OK) == 0);
  }

  void tell(std::uint64_t round) {
    if (round == 1) {
      std::printf("first round\n");
    }
    if (file_ != nullptr && Clock::now() >= next_line_) {
      next_line_ = Clock::now() + std::chrono::milliseconds(250);
      std::printf("round %llu\n", static_cast<unsigned long long>(round));
      std::fflush(stdout);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point end_;
  Clock::time_point next_line_{};
  const char* file_ = std::getenv("STEADY_UNTIL");
};

/// Tells which call comes next. The tests wait for this line, which comes
/// before the call: they look afterwards whether the process sleeps.
void tell(int rank, const std::string& what) {
  std::printf("rank %d %s\n", rank, what.c_str());
  std::fflush(stdout);
}

/// Tells that the call comes next. The absent rank leaves the other ranks alone
/// in their call until the job is ended.
void tell_or_stay_out(int rank, const std::string& call, int absent) {
  if (rank != absent) {
    tell(rank, "calls acp_" + call);
    return;
  }
  tell(rank, "stays out of acp_" + call);
  for (;;) {
    ::pause();
  }
}

/// Ends only when the job is ended: no reset fails in a job that is well.
void reset_until_the_end(const Rank& rank) {
  for (bool is_first = true; acp_reset(rank.me) == 0; is_first = false) {
    if (is_first) {
      tell(rank.me, "goes on with acp_reset");
    }
  }
}

/// Brings the ranks into the call of the command line, for deaths within it.
/// Returns when a reset has failed, or when acp_finalize is to come.
void enter_call(const Rank& rank, const std::string& call, int absent) {
  if (call == "resets") {
    return reset_until_the_end(rank);
  }
  tell_or_stay_out(rank.me, call, absent);
  if (call == "reset") {
    acp_reset(rank.me);
  }
}

}  // namespace

/// Rank 0 prints a line after acp_init and after the first round, and one at
/// the end.
int main(int argc, char** argv) {
  const std::string call = argc > 2 ? argv[2] : "";
  const int absent = argc > 3 ? std::stoi(argv[3]) : -1;
  if (call == "init") {
    // acprun tells each rank its number; acp_rank is not available yet.
    tell_or_stay_out(std::stoi(std::getenv("ACP_RANK")), call, absent);
  }
  if (acp_init(&argc, &argv) != 0 || argc < 2) {
    return 1;
  }
  Watch watch(std::stoi(argv[1]));
  Rank rank;
  if (rank.me == 0) {
    std::printf("acp_init is over\n");
  }
  if (acp_sync() != 0) {
    return 1;
  }
  while (rank.load(kStopAt) == 0) {
    ++rank.round;
    if (!work(rank)) {
      return 1;
    }
    if (!is_exact(rank)) {
      acp_abort("the memory is wrong");
    }
    if (rank.me == 0) {
      watch.tell(rank.round);
    }
    if (rank.me == 0 && watch.is_over()) {
      stop_all(rank);
    }
    if (acp_sync() != 0) {
      return 1;
    }
  }
  if (rank.me == 0) {
    std::printf("%llu rounds were exact\n",
                static_cast<unsigned long long>(rank.round));
  }
  if (!call.empty()) {
    enter_call(rank, call, absent);
  }
  return acp_finalize() == 0 ? 0 : 1;
}
