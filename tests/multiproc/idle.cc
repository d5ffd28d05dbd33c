// Who has nothing to do uses no processor: outside of the library, waiting for
// other ranks, waiting for a word. Shares of processor time, not durations: a
// loaded machine makes them smaller.
#include <poll.h>
#include <unistd.h>

#include <chrono>
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

double wall_seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Processor time of this rank, all its threads, in `idle`, by wall time.
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

SPMD_CASE(idle_for_a_word,
          "idle: waiting for a word costs a look a millisecond") {
  const acp_ga_t word = acp_query_starter_ga(acp_rank());
  const double share = share_of(
      [word] { EXPECT_EQ(acpx_wait_word(word, 0, kIdleMs, nullptr), 1); });
  EXPECT(share < 0.15);
  acp_sync();
}

SPMD_CASE(idle_thread, "idle: who waits does without the progress thread") {
  constexpr int kGets = 3000;
  acp_sync();
  // Long enough for the thread to sleep where packets arrive.
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
    // It looks once a millisecond. Between two gets nobody waits: then it may
    // go to sleep where packets arrive, and be woken by the next.
    EXPECT(slept < 100 + (acp_rank() == 0 ? 3 : 1.5) * ms);
  }
  if (acp_rank() == 0) {
    acp_sync();
  }
}
