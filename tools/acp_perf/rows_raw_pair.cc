// Raw rows of two or more processes that share a page, without ACP: a cache
// line there and back, a barrier, a futex. rows.cc lists them, and runner.cc
// runs them. They may call no function of ACP while they measure.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

/// Barriers that are timed together. A single barrier cannot be timed: the
/// other rank may arrive before rank 0 reads the clock.
constexpr std::uint64_t kBarriers = 64;

using Word64 = std::atomic<std::uint64_t>;

void reset(RawWords& words) {
  words.ping.store(0);
  words.pong.store(0);
  words.doorbell.store(0);
}

/// A round trip of a cache line counts as two operations, one each way.
Outcome run_line(Context& context, Samples& samples) {
  RawWords& words = context.area.words();
  std::uint64_t count = 0;
  measure(context.time_ns, 2, samples, [&] {
    words.ping.store(++count, std::memory_order_release);
    spin_until(
        [&] { return words.pong.load(std::memory_order_acquire) == count; });
  });
  words.ping.store(kEnd);
  spin_until([&] { return words.pong.load() == kEnd; });
  reset(words);
  return {};
}

void respond_line(Context& context) {
  RawWords& words = context.area.words();
  std::uint64_t seen = 0;
  while (seen != kEnd) {
    std::uint64_t value = seen;
    spin_until([&] {
      value = words.ping.load(std::memory_order_acquire);
      return value != seen;
    });
    seen = value;
    words.pong.store(seen, std::memory_order_release);
  }
}

/// The simplest barrier of two ranks: each raises its own flag and waits for
/// the flag of the other rank.
void pass_two(Word64& mine, Word64& other, std::uint64_t epoch) {
  mine.store(epoch, std::memory_order_release);
  spin_until([&] { return other.load(std::memory_order_acquire) >= epoch; });
}

/// A barrier of more ranks: the last rank to arrive resets the count and sets
/// the epoch. A waiting rank yields its core.
void pass_many(RawBarrier& barrier, std::uint64_t procs, std::uint64_t epoch) {
  if (barrier.first.fetch_add(1) + 1 == procs) {
    barrier.first.store(0, std::memory_order_relaxed);
    barrier.second.store(epoch, std::memory_order_release);
  }
  while (barrier.second.load(std::memory_order_acquire) < epoch) {
    ::sched_yield();
  }
}

void pass_barrier(Context& context, std::uint64_t epoch) {
  RawBarrier& barrier = context.area.words().barrier;
  if (context.procs > 2) {
    pass_many(barrier, static_cast<std::uint64_t>(context.procs), epoch);
  } else if (context.rank == 0) {
    pass_two(barrier.first, barrier.second, epoch);
  } else {
    pass_two(barrier.second, barrier.first, epoch);
  }
}

/// The epoch at which the barrier stood after the row before. It cannot move
/// until this rank passes the barrier.
std::uint64_t epoch_of(const Context& context) {
  const RawBarrier& barrier = context.area.words().barrier;
  return (context.rank == 1 || context.procs > 2 ? barrier.second
                                                 : barrier.first)
      .load();
}

Outcome run_barrier(Context& context, Samples& samples) {
  std::uint64_t epoch = epoch_of(context);
  measure(context.time_ns, kBarriers, samples, [&] {
    for (std::uint64_t i = 0; i < kBarriers; ++i) {
      pass_barrier(context, ++epoch);
    }
  });
  context.area.words().barrier.last.store(++epoch);
  pass_barrier(context, epoch);
  return {};
}

/// Times each barrier from the end of the one before.
Outcome run_barrier_each(Context& context, Samples& samples) {
  std::uint64_t epoch = epoch_of(context);
  std::int64_t before = now_ns();
  const std::int64_t end = before + context.time_ns;
  for (bool has_room = true; has_room && before < end;) {
    pass_barrier(context, ++epoch);
    const std::int64_t now = now_ns();
    has_room =
        samples.add(static_cast<double>(now - before) - clock_cost_ns(), 1);
    before = now;
  }
  context.area.words().barrier.last.store(++epoch);
  pass_barrier(context, epoch);
  return {};
}

void respond_barrier(Context& context) {
  std::uint64_t epoch = epoch_of(context);
  do {
    pass_barrier(context, ++epoch);
  } while (context.area.words().barrier.last.load() != epoch);
}

long futex(std::atomic<std::uint32_t>& word, int call, std::uint32_t value) {
  return ::syscall(SYS_futex, &word, call, value, nullptr, nullptr, 0);
}

/// Times one way, like the row signal.wake. Rank 1 answers with the time at
/// which it ran again; ranks of a host have one clock.
Outcome run_wake(Context& context, Samples& samples) {
  RawWords& words = context.area.words();
  const std::int64_t end = now_ns() + context.time_ns;
  do {
    const std::int64_t asleep = now_ns() + kFallAsleepNs;
    spin_until([&] { return now_ns() >= asleep; });
    words.pong.store(0);
    const std::int64_t sent = now_ns();
    words.doorbell.fetch_add(1);
    futex(words.doorbell, FUTEX_WAKE, 1);
    spin_until([&] { return words.pong.load() != 0; });
    const auto awake = static_cast<std::int64_t>(words.pong.load());
    if (!samples.add(static_cast<double>(awake - sent) - clock_cost_ns(), 1)) {
      break;
    }
  } while (now_ns() < end || samples.batches() < 3);
  words.ping.store(kEnd);
  words.doorbell.fetch_add(1);
  futex(words.doorbell, FUTEX_WAKE, 1);
  spin_until([&] { return words.pong.load() == kEnd; });
  reset(words);
  return {};
}

void respond_wake(Context& context) {
  RawWords& words = context.area.words();
  std::uint32_t seen = 0;  // rank 0 may ring before this rank arrives
  for (;;) {
    while (words.doorbell.load() == seen) {
      futex(words.doorbell, FUTEX_WAIT, seen);
    }
    seen = words.doorbell.load();
    if (words.ping.load() == kEnd) break;
    words.pong.store(static_cast<std::uint64_t>(now_ns()));
  }
  words.pong.store(kEnd);
}

}  // namespace

/// These rows are the limits of ranks that tell each other something by memory.
void add_raw_pair_rows(Rows& rows) {
  append(
      rows,
      {
          {.name = "raw.line",
           .what = "a cache line to the other rank's core, one way",
           .needs = Needs::kSameHost,
           .partners = Partners::kRankOne,
           .run = run_line,
           .respond = respond_line},
          {.name = "raw.barrier",
           .what =
               "a barrier: of two ranks by two flags, of more by a count and "
               "sched_yield",
           .needs = Needs::kAllOnHost,
           .partners = Partners::kAll,
           .run = run_barrier,
           .respond = respond_barrier},
          {.name = "raw.barrier.each",
           .what = "such a barrier, each timed alone",
           .needs = Needs::kAllOnHost,
           .partners = Partners::kAll,
           .run = run_barrier_each,
           .respond = respond_barrier},
          {.name = "raw.wake",
           .what = "a futex wakes the other rank, one way",
           .needs = Needs::kSameHost,
           .partners = Partners::kRankOne,
           .run = run_wake,
           .respond = respond_wake},
      });
}

}  // namespace acp::perf
