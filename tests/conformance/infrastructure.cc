// Tests of chapter 4.1: ranks, barrier, renumbering, errors. Calls outside of
// acp_init .. acp_finalize are in lifecycle.cc.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::Memory;

namespace {

/// Renumbers and checks that the new numbers hold and memory works.
void reset_to(const std::vector<int>& new_rank_of) {
  const int mine = new_rank_of[static_cast<std::size_t>(acp_rank())];
  EXPECT_EQ(acp_reset(mine), 0);
  EXPECT_EQ(acp_rank(), mine);
  EXPECT_EQ(acp_procs(), static_cast<int>(new_rank_of.size()));
  const std::vector<std::uint64_t> ranks =
      spmd::gather(static_cast<std::uint64_t>(acp_rank()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ranks[i], i);
  }
}

std::vector<int> identity() {
  std::vector<int> ranks(static_cast<std::size_t>(acp_procs()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> rotated(int by) {
  std::vector<int> ranks = identity();
  std::rotate(ranks.begin(), ranks.begin() + by, ranks.end());
  return ranks;
}

std::vector<int> reversed() {
  std::vector<int> ranks = identity();
  std::reverse(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<int> shuffled(std::uint64_t salt) {
  std::vector<int> ranks = identity();
  std::mt19937_64 random = spmd::random_of_job(salt);
  std::shuffle(ranks.begin(), ranks.end(), random);
  return ranks;
}

std::uint64_t* starter_words() {
  return static_cast<std::uint64_t*>(
      acp_query_address(acp_query_starter_ga(acp_rank())));
}

/// Every rank proposes proposal[rank], which is no permutation: it fails
/// everywhere, and registered memory, starter memory and ranks live on.
void expect_refused(const std::vector<int>& proposal) {
  Block block(Memory::kRegistered, 64);
  const int rank = acp_rank();
  starter_words()[0] = 0x1234;
  EXPECT_FAILS(acp_reset(proposal[static_cast<std::size_t>(rank)]), -1,
               ACPX_BAD_RANK);
  EXPECT_EQ(acp_rank(), rank);
  EXPECT_EQ(starter_words()[0], 0x1234U);
  EXPECT_EQ(acp_sync(), 0);
  const int right = spmd::right_of(rank);
  block.word(1).store(static_cast<std::uint64_t>(rank) + 1);
  EXPECT_DONE(acp_copy(block.at(right), block.mine(8), 8, ACP_HANDLE_NULL));
  EXPECT_EQ(acp_sync(), 0);
  const int left = (rank + acp_procs() - 1) % acp_procs();
  EXPECT_EQ(block.word(0).load(), static_cast<std::uint64_t>(left) + 1);
}

}  // namespace

SPMD_CASE(acp_rank_and_procs,
          "acp_rank, acp_procs: every rank of 0 .. procs - 1 is there once") {
  EXPECT(acp_procs() >= 1);
  EXPECT(acp_rank() >= 0);
  EXPECT(acp_rank() < acp_procs());
  const std::vector<std::uint64_t> ranks =
      spmd::gather(static_cast<std::uint64_t>(acp_rank()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ranks[i], i);
  }
}

SPMD_CASE(acp_init_twice, "acp_init: a second call fails, the job goes on") {
  EXPECT_FAILS(acp_init(nullptr, nullptr), -1, ACPX_ALREADY_INITIALIZED);
  EXPECT_EQ(acp_sync(), 0);
}

/// A progress step: notes the thread that runs it.
int note_thread(void* arg) {
  static_cast<std::atomic<pid_t>*>(arg)->store(::gettid());
  return 0;
}

/// Waits until the progress thread runs, and returns its number.
pid_t library_thread() {
  std::atomic<pid_t> thread{0};
  EXPECT_EQ(acpx_add_progress(note_thread, &thread), 0);
  while (thread.load() == 0) {  // the watchdog is the deadline
    std::this_thread::yield();
  }
  EXPECT_EQ(acpx_remove_progress(note_thread, &thread), 0);
  EXPECT(thread.load() != ::gettid());
  return thread.load();
}

/// The signals that a thread of this process blocks, bit n - 1 for signal n.
std::uint64_t blocked_signals(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;) {
    if (word == "SigBlk:") {
      std::uint64_t blocked = 0;
      status >> std::hex >> blocked;
      return blocked;
    }
  }
  spmd::fail("a thread's status has no SigBlk");
}

SPMD_CASE(acp_init_thread_blocks_signals,
          "acp_init: the library's thread blocks all but faults") {
  const std::uint64_t blocked = blocked_signals(library_thread());
  const auto blocks = [blocked](int signal) {
    return (blocked >> (signal - 1) & 1) == 1;
  };
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD,
        SIGPROF, SIGIO, SIGRTMIN, SIGRTMAX}) {
    EXPECT(blocks(signal));
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    EXPECT(!blocks(fault));
  }
}

SPMD_CASE(acp_init_leaves_signals,
          "acp_init: a blocked signal waits for the program") {
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  sigset_t before;
  EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &mine, &before), 0);
  // A thread of the library that took it would end the process.
  (void)library_thread();  // it can take signals from here on
  EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
  int taken = 0;
  EXPECT_EQ(sigwait(&mine, &taken), 0);
  EXPECT_EQ(taken, SIGUSR1);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

SPMD_CASE(acp_errno_of_a_thread, "acp_errno: each thread has its own") {
  acp_errno = 0;
  int seen_before = -1;
  int seen_after = -1;
  std::thread other([&] {
    seen_before = acp_errno;
    EXPECT_EQ(acp_query_starter_ga(-1), ACP_GA_NULL);
    seen_after = ACP_ERRNO;
  });
  other.join();
  EXPECT_EQ(seen_before, 0);
  EXPECT_EQ(seen_after, int{ACPX_BAD_RANK});
  EXPECT_EQ(acp_errno, 0);
}

SPMD_CASE(acp_errno_after_success, "acp_errno: a success leaves it alone") {
  acp_errno = ACPX_TIMED_OUT;
  EXPECT(acp_query_starter_ga(0) != ACP_GA_NULL);
  EXPECT(acp_colors() >= 1);
  acp_complete(ACP_HANDLE_ALL);
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(acp_errno, int{ACPX_TIMED_OUT});
  acp_errno = 0;
}

SPMD_CASE(acp_sync_many,
          "acp_sync: 10,000 rounds, nobody leaves before all have come") {
  Block block(Memory::kLibrary, 64);
  const std::size_t rounds = spmd::scaled(10'000, 200);
  const int right = spmd::right_of(acp_rank());
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    block.word(0).store(round);
    EXPECT_EQ(acp_sync(), 0);
    if (round % 16 == 0) {
      EXPECT_DONE(acp_copy(block.mine(8), block.at(right), 8, ACP_HANDLE_NULL));
      // The neighbour came to this round, and cannot be two ahead.
      EXPECT(block.word(1).load() >= round);
      EXPECT(block.word(1).load() <= round + 1);
    }
  }
}

// One rank comes late in each round, when all others have timed out twice and
// told it. They go on by either of the two functions.
SPMD_CASE(acpx_sync_timeout_goes_on,
          "acpx_sync_timeout: what timed out is gone on with, by either call") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  const int others = acp_procs() - 1;
  std::uint64_t expected = 0;
  for (int round = 0; round < 4 * acp_procs(); ++round) {
    const int late = round % acp_procs();
    if (acp_rank() == late) {
      expected += static_cast<std::uint64_t>(others);
      const auto have_left = [](void* arg) {
        const auto& [memory, count] =
            *static_cast<std::pair<const Block*, std::uint64_t>*>(arg);
        return memory->word(0).load() == count ? 1 : 0;
      };
      std::pair<const Block*, std::uint64_t> arg(&block, expected);
      EXPECT_EQ(acpx_wait_until(have_left, &arg, spmd::kPatience), 0);
      EXPECT_EQ(acpx_sync_timeout(spmd::kPatience), 0);
      continue;
    }
    EXPECT_EQ(acpx_sync_timeout(round % 3), 1);
    EXPECT_EQ(acpx_sync_timeout(0), 1);
    EXPECT_DONE(acp_add8(block.mine(8), block.at(late), 1, ACP_HANDLE_NULL));
    if (round % 2 == 0) {
      EXPECT_EQ(acp_sync(), 0);
      continue;
    }
    int result = 1;
    while (result == 1) {
      result = acpx_sync_timeout(1);
    }
    EXPECT_EQ(result, 0);
  }
}

// Rank 0 comes to the barrier only when all others have tried acp_reset in
// vain. So their barrier is open during the trial.
SPMD_CASE(acp_reset_refuses_an_open_barrier,
          "acp_reset: fails at once while a barrier that timed out is open") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  if (acp_rank() == 0) {
    const auto have_tried = [](void* memory) {
      const auto others = static_cast<std::uint64_t>(acp_procs() - 1);
      return static_cast<const Block*>(memory)->word(0).load() == others ? 1
                                                                         : 0;
    };
    EXPECT_EQ(acpx_wait_until(have_tried, const_cast<Block*>(&block),
                              spmd::kPatience),
              0);
    EXPECT_EQ(acp_sync(), 0);
    return;
  }
  EXPECT_EQ(acpx_sync_timeout(0), 1);
  EXPECT_EQ(acp_reset(acp_rank()), -1);
  EXPECT_EQ(acp_errno, ACPX_AGAIN);
  EXPECT_DONE(acp_add8(block.mine(8), block.at(0), 1, ACP_HANDLE_NULL));
  EXPECT_EQ(acp_sync(), 0);
}

// Each rank puts to all, and looks at the words of all after the barrier. The
// second barrier keeps the next round's puts away.
SPMD_CASE(acp_sync_shows_stores,
          "acp_sync: what was put and completed before is there after") {
  Block block(Memory::kLibrary, 64 * 8);
  const auto procs = static_cast<std::size_t>(acp_procs());
  const auto rank = static_cast<std::size_t>(acp_rank());
  for (std::uint64_t round = 1; round <= 50; ++round) {
    block.word(63).store(round * 100 + rank);
    for (int to = 0; to < acp_procs(); ++to) {
      EXPECT(acp_copy(block.at(to, 8 * rank), block.mine(8 * 63), 8,
                      ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_sync(), 0);
    for (std::size_t from = 0; from < std::min<std::size_t>(procs, 63);
         ++from) {
      EXPECT_EQ(block.word(from).load(), round * 100 + from);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(acp_reset_permutations,
          "acp_reset: any permutation, twice, and back") {
  for (int time = 0; time < 2; ++time) {
    reset_to(identity());
    reset_to(reversed());
    reset_to(rotated(1 % acp_procs()));
    reset_to(shuffled(1));
    reset_to(shuffled(2));
  }
}

// Every word of starter memory is set before, and every word is 0 after. The
// old key fails in both kinds of calls.
SPMD_CASE(acp_reset_clears,
          "acp_reset: starter memory is zero, keys are dead") {
  static std::uint64_t word = 0;
  const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
  EXPECT(key != ACP_ATKEY_NULL);
  const acp_ga_t address = acp_query_ga(key, &word);
  for (std::size_t i = 0; i < 10'240 / 8; ++i) {
    starter_words()[i] = ~std::uint64_t{0};
  }
  reset_to(rotated(1 % acp_procs()));
  for (std::size_t i = 0; i < 10'240 / 8; ++i) {
    EXPECT_EQ(starter_words()[i], 0U);
  }
  acp_errno = 0;
  EXPECT_EQ(acp_unregister_memory(key), -1);
  EXPECT_EQ(acp_errno, int{ACPX_BAD_KEY});
  EXPECT_REJECTED(
      acp_copy(acp_query_starter_ga(acp_rank()), address, 8, ACP_HANDLE_NULL),
      ACPX_BAD_KEY);
}

// The copy is large and not waited for. After the renumbering its bytes have to
// be with the former right neighbour.
SPMD_CASE(acp_reset_completes,
          "acp_reset: completes what is outstanding before it renumbers") {
  static std::vector<std::byte> source(std::size_t{1} << 20);
  static std::vector<std::byte> target(std::size_t{1} << 20);
  const std::vector<std::uint64_t> addresses = [&] {
    const acp_atkey_t key =
        acp_register_memory(target.data(), target.size(), 0);
    return spmd::gather(acp_query_ga(key, target.data()));
  }();
  const acp_atkey_t key = acp_register_memory(source.data(), source.size(), 0);
  const int right = spmd::right_of(acp_rank());
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  spmd::fill_pattern(source, static_cast<std::uint64_t>(acp_rank()));
  EXPECT(acp_copy(addresses[static_cast<std::size_t>(right)],
                  acp_query_ga(key, source.data()), source.size(),
                  ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
  reset_to(shuffled(3));
  EXPECT_EQ(spmd::pattern_mismatch(target, static_cast<std::uint64_t>(left)),
            target.size());
}

SPMD_CASE(acp_reset_out_of_range,
          "acp_reset: a rank out of range fails everywhere, the job goes on") {
  for (const int bad : {-1, acp_procs(), 1 << 30}) {
    std::vector<int> proposal = identity();
    proposal.back() = bad;
    expect_refused(proposal);
  }
}

SPMD_CASE(acp_reset_duplicate,
          "acp_reset: one rank asked for twice fails everywhere") {
  SPMD_NEEDS_RANKS(2);
  std::vector<int> proposal = identity();
  proposal.front() = proposal.back();
  expect_refused(proposal);
  expect_refused(std::vector<int>(proposal.size(), 0));
  reset_to(reversed());
}
