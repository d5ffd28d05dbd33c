// Cases of idle ranks, which must use no processor: outside of the library,
// waiting for other ranks, waiting for a word. They measure shares of processor
// time and counts of sleeps, which a loaded machine only makes smaller.
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/spmd.h"

namespace {

constexpr int kIdleMs = 1000;

double process_seconds() {
  timespec time{};
  EXPECT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

double thread_seconds() {
  timespec time{};
  EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Processor time of all threads of this rank during `idle`, divided by the
/// wall time.
template <typename Idle>
double share_of(Idle idle) {
  const double wall = wall_seconds();
  const double cpu = process_seconds();
  idle();
  const double used = process_seconds() - cpu;
  return used / (wall_seconds() - wall);
}

void stay_outside() {
  ::poll(nullptr, 0, kIdleMs);
}

/// How often the threads of this process other than the caller fell asleep.
long sleeps_of_other_threads() {
  long sleeps = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) {
      continue;
    }
    std::ifstream status(task.path() / "status");
    const std::string name = "voluntary_ctxt_switches:";
    for (std::string word; status >> word;) {
      long count = 0;
      if (word == name && status >> count) {
        sleeps += count;
      }
    }
  }
  return sleeps;
}

/// How often the calling thread (RUSAGE_THREAD) or all threads of this process
/// (RUSAGE_SELF) fell asleep so far. Each sleep has ended with a wake-up.
long sleeps_of(int who) {
  rusage usage{};
  EXPECT_EQ(getrusage(who, &usage), 0);
  return usage.ru_nvcsw;
}

/// Whether ranks reach registered memory and the barrier through shared memory.
bool is_over_shm() {
  const char* net = std::getenv("ACP_NET");
  return net == nullptr || std::string(net).empty();
}

/// Indices of words of starter memory; the first word stays 0.
enum Word : std::size_t { kZero, kMine, kTheirs, kOld, kSignal, kTurn };

acp_ga_t starter_word(int rank, Word word) {
  return acp_query_starter_ga(rank) + word * sizeof(std::uint64_t);
}

std::uint64_t* starter_words() {
  return static_cast<std::uint64_t*>(
      acp_query_address(starter_word(acp_rank(), kZero)));
}

/// Memory of this rank that other ranks reach by message alone.
class Registered {
 public:
  Registered() : key_(acp_register_memory(words_.data(), sizeof words_, 0)) {
    EXPECT(key_ != ACP_ATKEY_NULL);
    // Other ranks read the address from this word of starter memory.
    starter_words()[kMine] = acp_query_ga(key_, words_.data());
    acp_sync();
  }

  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  ~Registered() {
    acp_sync();
    EXPECT_EQ(acp_unregister_memory(key_), 0);
  }

  /// The address of another rank's words.
  static acp_ga_t of(int rank) {
    acp_complete(acp_copy(starter_word(acp_rank(), kTheirs),
                          starter_word(rank, kMine), 8, ACP_HANDLE_NULL));
    return starter_words()[kTheirs];
  }

 private:
  std::array<std::uint64_t, 8> words_{};
  acp_atkey_t key_;
};

/// One atomic on a word of another rank, which its library has to execute.
void add_to(acp_ga_t word) {
  acp_complete(
      acp_add8(starter_word(acp_rank(), kOld), word, 1, ACP_HANDLE_NULL));
}

}  // namespace

SPMD_CASE(idle_outside, "idle: outside of the library the process sleeps") {
  acp_sync();
  const double share = share_of(stay_outside);
  EXPECT(share < 0.02);
  acp_sync();
}

SPMD_CASE(idle_in_sync, "idle: acp_sync sleeps until the last rank comes") {
  acp_sync();
  if (acp_rank() == 0) {
    stay_outside();
    EXPECT_EQ(acp_sync(), 0);
    return;
  }
  const double share = share_of([] { EXPECT_EQ(acp_sync(), 0); });
  EXPECT(share < 0.05);
}

SPMD_CASE(idle_after_message,
          "idle: acp_sync wakes 20 times a second at most after a message") {
  const Registered memory;
  if (acp_rank() == 0) {
    ::poll(nullptr, 0, 10);  // by now the other ranks are in acp_sync
    for (int rank = 1; rank < acp_procs(); ++rank) {
      add_to(Registered::of(rank));
    }
    ::poll(nullptr, 0, kIdleMs / 2);
    EXPECT_EQ(acp_sync(), 0);
    return;
  }
  const double wall = wall_seconds();
  const long sleeps = sleeps_of(RUSAGE_SELF);
  EXPECT_EQ(acp_sync(), 0);
  // 40 sleeps are allowed for the message, and for the begin and the end of the
  // wait.
  EXPECT(static_cast<double>(sleeps_of(RUSAGE_SELF) - sleeps) <
         40 + 20 * (wall_seconds() - wall));
}

SPMD_CASE(idle_in_long_wait,
          "idle: a long wait for a word wakes 20 times a second in the end") {
  constexpr int kLongMs = 2 * kIdleMs;
  acp_sync();
  const long sleeps = sleeps_of(RUSAGE_THREAD);
  EXPECT_EQ(
      acpx_wait_word(starter_word(acp_rank(), kZero), 0, kLongMs, nullptr), 1);
  // The wait looks 16 times in the first 16 ms. Up to 0.8 s each pause is then
  // a sixteenth of the time waited, and after that the wait looks 20 times a
  // second. That makes some 100 sleeps; one a millisecond would make 2,000.
  EXPECT(sleeps_of(RUSAGE_THREAD) - sleeps < 250);
  acp_sync();
}

SPMD_CASE(idle_signals_in_sync,
          "idle: signals wake nobody who is in acp_sync on one host") {
  constexpr int kSignals = 300;
  if (!is_over_shm()) {
    spmd::note_skip("arrivals from a network do wake");
    return;
  }
  acp_sync();
  if (acp_rank() == 0) {
    for (int i = 0; i < kSignals; ++i) {
      ::poll(nullptr, 0, 1);  // rank 1 would be asleep again
      acp_complete(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                                   starter_word(1, kSignal), 1,
                                   ACP_HANDLE_NULL));
    }
    EXPECT_EQ(acp_sync(), 0);
    return;
  }
  const double wall = wall_seconds();
  const long sleeps = sleeps_of(RUSAGE_THREAD);
  EXPECT_EQ(acp_sync(), 0);
  EXPECT(static_cast<double>(sleeps_of(RUSAGE_THREAD) - sleeps) <
         40 + 20 * (wall_seconds() - wall));
}

SPMD_CASE(idle_answers_in_sync,
          "idle: who is in acp_sync answers without a millisecond's nap") {
  constexpr int kAtomics = 50;
  constexpr int kPauseMs = 20;
  const Registered memory;
  if (acp_rank() == 0) {
    const acp_ga_t word = Registered::of(1);
    for (int i = 0; i < kAtomics; ++i) {
      ::poll(nullptr, 0, kPauseMs);  // rank 1 falls asleep
      add_to(word);
    }
  }
  const double wall = wall_seconds();
  const long sleeps = sleeps_of(RUSAGE_SELF);
  EXPECT_EQ(acp_sync(), 0);
  // An atomic wakes the sleeper of rank 1, which answers at once and falls
  // asleep again, and sometimes the other thread as well. A progress thread
  // that naps answers at the end of a nap. It falls asleep 20 times for each
  // atomic, or more often where other programs slow rank 0 down. As in the
  // cases above, 40 sleeps and 20 a second are allowed besides.
  EXPECT(acp_rank() != 1 ||
         static_cast<double>(sleeps_of(RUSAGE_SELF) - sleeps) <
             40 + 4 * kAtomics + 20 * (wall_seconds() - wall));
}

/// Binds the calling thread to one core for a while.
class OnCore {
 public:
  explicit OnCore(std::uint64_t core) {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    is_there_ = sched_setaffinity(0, sizeof only, &only) == 0;
  }

  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

  ~OnCore() { EXPECT_EQ(sched_setaffinity(0, sizeof before_, &before_), 0); }

  bool is_there() const { return is_there_; }

 private:
  cpu_set_t before_{};
  bool is_there_ = false;
};

void signal_turn(int rank) {
  acp_complete(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                               starter_word(rank, kTurn), 1, ACP_HANDLE_NULL));
}

void wait_for_turn(std::uint64_t turns_before) {
  EXPECT_EQ(acpx_wait_word(starter_word(acp_rank(), kTurn), turns_before,
                           spmd::kPatience, nullptr),
            0);
}

SPMD_CASE(idle_on_one_core,
          "idle: two ranks on one core do not spin for each other") {
  constexpr std::uint64_t kRounds = 1000;
  if (!is_over_shm()) {
    spmd::note_skip("packets cost more than a spin");
    return;
  }
  if (acp_rank() == 0) {
    starter_words()[kMine] = static_cast<std::uint64_t>(sched_getcpu());
  }
  acp_sync();
  if (acp_rank() < 2) {
    acp_complete(acp_copy(starter_word(acp_rank(), kTheirs),
                          starter_word(0, kMine), 8, ACP_HANDLE_NULL));
    const OnCore core(starter_words()[kTheirs]);
    const double cpu = thread_seconds();
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      if (acp_rank() == 0) {
        signal_turn(1);
        wait_for_turn(round);
      } else {
        wait_for_turn(round);
        signal_turn(0);
      }
    }
    // A spin takes 50 us. With spins, each round would have one before the turn
    // of the other rank.
    EXPECT(!core.is_there() || thread_seconds() - cpu < kRounds * 25e-6);
  }
  acp_sync();
  starter_words()[kTurn] = 0;
}

SPMD_CASE(idle_for_a_word,
          "idle: waiting for a word costs a look a millisecond") {
  const acp_ga_t word = starter_word(acp_rank(), kZero);
  const double share = share_of(
      [word] { EXPECT_EQ(acpx_wait_word(word, 0, kIdleMs, nullptr), 1); });
  EXPECT(share < 0.15);
  acp_sync();
}

SPMD_CASE(idle_thread, "idle: who waits does without the progress thread") {
  constexpr int kGets = 3000;
  acp_sync();
  // In this time the progress thread goes to sleep in epoll.
  ::poll(nullptr, 0, acp_rank() == 0 ? 50 : 10);
  const long sleeps = sleeps_of_other_threads();
  const double begin = wall_seconds();
  if (acp_rank() == 0) {
    const acp_ga_t mine = acp_query_starter_ga(0);
    const acp_ga_t theirs = acp_query_starter_ga(1);
    for (int i = 0; i < kGets; ++i) {
      acp_complete(acp_copy(mine, theirs, 16, ACP_HANDLE_NULL));
    }
  }
  if (acp_rank() != 0) {
    acp_sync();
  }
  if (acp_rank() < 2) {
    const double ms = (wall_seconds() - begin) * 1e3;
    const auto slept = static_cast<double>(sleeps_of_other_threads() - sleeps);
    // The thread looks once a millisecond. Between two gets no caller waits, so
    // it may go to sleep in epoll and be woken by the next packet.
    EXPECT(slept < 100 + (acp_rank() == 0 ? 3 : 1.5) * ms);
  }
  if (acp_rank() == 0) {
    acp_sync();
  }
}
