// Tests when the watchdog calls a rank stuck.
#include "launcher/watchdog.h"

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLimit{1000};
constexpr milliseconds kTick{200};

/// A job of three ranks in acp_sync, and a watchdog that looks every 200 ms.
struct Job {
  Job() {
    for (RankSight& rank : ranks) {
      rank.is_waiting = true;
      rank.looks = true;
    }
  }

  /// The next sight.
  bool is_stuck(milliseconds later = kTick) {
    now += later;
    return watchdog.is_stuck(ranks, now);
  }

  /// Whether it is found stuck in ten limits, when `live` happens between two
  /// sights.
  template <typename Live>
  bool gets_stuck(Live live) {
    for (int i = 0; i < 10 * (kLimit / kTick); ++i) {
      live(i);
      if (is_stuck()) return true;
    }
    return false;
  }

  void look() {
    for (RankSight& rank : ranks)
      rank.passes += 100;
  }

  std::vector<RankSight> ranks = std::vector<RankSight>(3);
  Watchdog watchdog{kLimit};
  Watchdog::Clock::time_point now{milliseconds(1'000'000)};
};

}  // namespace

// The job may not be stuck before the limit has passed. Each section shows
// another way to look and find nothing.
TEST_CASE("watchdog: ranks that look and find nothing are stuck",
          "[launcher][watchdog]") {
  Job job;
  SECTION("asleep") {}
  SECTION("spinning") {
    for (RankSight& rank : job.ranks)
      rank.process.is_thread_running = true;
  }
  SECTION("one waits for acprun, and need not look") {
    job.ranks[1].looks = false;
  }
  bool is_stuck = false;
  for (milliseconds time{0}; time <= kLimit; time += kTick) {
    CHECK_FALSE(is_stuck);
    job.look();
    job.ranks[1].passes *= job.ranks[1].looks ? 1 : 0;
    is_stuck = job.is_stuck();
  }
  CHECK(is_stuck);
}

// Each section lets something happen only now and then, but within the limit.
TEST_CASE("watchdog: a rank that gets on is not stuck, however slowly",
          "[launcher][watchdog]") {
  Job job;
  SECTION("a wait begins or ends") {
    for (RankSight& rank : job.ranks)
      rank.process.is_thread_running = true;
    CHECK_FALSE(job.gets_stuck([&](int i) {
      job.look();
      if (i % 4 == 0) ++job.ranks[2].waits;
    }));
  }
  SECTION("a message arrives") {
    CHECK_FALSE(job.gets_stuck([&](int i) {
      job.look();
      if (i % 4 == 0) ++job.ranks[0].arrivals;
    }));
  }
  SECTION("one computes from time to time") {
    CHECK_FALSE(job.gets_stuck([&](int i) {
      job.look();
      job.ranks[0].is_waiting = i % 4 != 0;
    }));
  }
}

// A rank without a processor cannot look, so its silence says nothing. Neither
// does the watchdog's own.
TEST_CASE("watchdog: a rank that gets no processor is not stuck",
          "[launcher][watchdog]") {
  Job job;
  RankSight& starved = job.ranks[1];
  SECTION("it has not looked since") {
    starved.process.is_thread_running = true;
    CHECK_FALSE(job.gets_stuck([&](int) {
      job.look();
      starved.passes = 7;
    }));
  }
  SECTION("its progress thread, or one that computes, wants one") {
    CHECK_FALSE(job.gets_stuck([&](int i) {
      job.look();
      starved.process.are_others_running = i % 8 != 0;
    }));
  }
  SECTION("acprun itself gets none") {
    for (int i = 0; i < 20; ++i) {
      job.look();
      CHECK_FALSE(job.is_stuck(kLimit * 3));
    }
  }
}

TEST_CASE("watchdog: ranks that poll a lock and nap are stuck",
          "[launcher][watchdog]") {
  Job job;
  // Rank 1 looks, over a network, at a lock that rank 0 has.
  const auto poll = [&](int) {
    job.look();
    job.ranks[1].waits += 6;
    job.ranks[1].arrivals += 2;
    job.ranks[0].arrivals += 2;
  };
  SECTION("asleep") {
    CHECK(job.gets_stuck(poll));
  }
  SECTION("with haste") {
    CHECK_FALSE(job.gets_stuck([&](int i) {
      poll(i);
      job.ranks[1].waits += 100;
    }));
  }
  SECTION("while one wants a processor") {
    CHECK_FALSE(job.gets_stuck([&](int i) {
      poll(i);
      job.ranks[static_cast<std::size_t>(i) % 3].process.is_thread_running =
          true;
    }));
  }
  SECTION("while data move") {
    CHECK_FALSE(job.gets_stuck([&](int i) {
      poll(i);
      job.ranks[2].arrivals += 50;
    }));
  }
}

TEST_CASE("watchdog: a stopped rank is stuck, one in a debugger never",
          "[launcher][watchdog]") {
  Job job;
  job.ranks[2].is_waiting = false;
  SECTION("stopped while it computes") {
    job.ranks[2].process.is_stopped = true;
    CHECK(job.gets_stuck([&](int) {
      job.ranks[0].passes += 9;
      job.ranks[1].passes += 9;
    }));
  }
  SECTION("held by a debugger") {
    job.ranks[2].process.is_traced = true;
    CHECK_FALSE(job.gets_stuck([&](int) { job.look(); }));
  }
}

}  // namespace acp::launcher
