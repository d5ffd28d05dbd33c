// Reads of the clock, spins, and the loop that times an operation in batches.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "samples.h"

namespace acp::perf {

/// Monotonic nanoseconds; the same scale in all processes of a host.
inline std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Nanoseconds that a call of now_ns() adds to a timed batch; measured once.
double clock_cost_ns();

/// Spins until `done()`. Yields the core now and then, so that it also ends
/// when there are fewer cores than spinning ranks.
template <typename Done>
void spin_until(Done&& done) {
  constexpr int kSpinsPerYield = 20'000;
  for (int spins = 1; !done(); ++spins) {
    if (spins % kSpinsPerYield == 0) sched_yield();
  }
}

/// Operations shorter than this are timed in batches of about
/// kBatchTargetNs, so that the clock's resolution does not show.
inline constexpr double kAloneNs = 1'000;
inline constexpr double kBatchTargetNs = 5'000;
inline constexpr std::uint64_t kMaxBatch = 2'000;

/// How many calls of `call` make one batch. It warms up meanwhile, for a tenth
/// of the time that will be measured. The shortest call counts, since longer
/// calls may have been interrupted.
template <typename Call>
std::uint64_t calibrate(std::int64_t time_ns, Call& call) {
  std::int64_t now = now_ns();
  const std::int64_t end = now + time_ns / 10;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int calls = 0; now < end || calls < 3; ++calls) {
    const std::int64_t before = now;
    call();
    now = now_ns();
    shortest = std::min(shortest, now - before);
  }
  const double each =
      std::max(0.5, static_cast<double>(shortest) - clock_cost_ns());
  if (each >= kAloneNs) return 1;
  return std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(kBatchTargetNs / each), 1, kMaxBatch);
}

/// Times batches of `call` for `time_ns`, and three batches at least. Each call
/// makes `ops_per_call` operations.
template <typename Call>
void measure(std::int64_t time_ns,
             std::uint64_t ops_per_call,
             Samples& samples,
             Call call) {
  const std::uint64_t batch = calibrate(time_ns, call);
  const std::int64_t end = now_ns() + time_ns;
  std::int64_t after = 0;
  do {
    const std::int64_t before = now_ns();
    for (std::uint64_t i = 0; i < batch; ++i) {
      call();
    }
    after = now_ns();
    const double ns = static_cast<double>(after - before) - clock_cost_ns();
    if (!samples.add(ns, batch * ops_per_call)) return;
  } while (after < end || samples.batches() < 3);
}

/// Rank 0 waits this long before it wakes the other rank. It is long enough for
/// that rank to fall asleep, and for its next wait to spin no longer than
/// usual.
inline constexpr std::int64_t kFallAsleepNs = 5'000'000;

/// Keeps the compiler from dropping the load that made `value`.
template <typename T>
inline void keep(T value) noexcept {
  asm volatile("" : : "r"(value) : "memory");
}

}  // namespace acp::perf
