// The waits of ranks that share a core, under a virtual scheduler: which of
// them yield, and which sleep. No test here measures a time.
#include "runtime/lost_turns.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <catch2/catch.hpp>

#include "runtime/host_barrier.h"
#include "support/host_memory.h"

namespace acp::runtime {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTick = milliseconds(4);
constexpr Duration kWakeUp = microseconds(15);
constexpr Duration kSwitch = microseconds(1);

/// The core of rank 0 of three. The two other ranks, which are not there, come
/// to each barrier `others_take` after rank 0 has.
class VirtualCore final : public gma::WaitHost {
 public:
  explicit VirtualCore(const protocol::HostSegment& segment)
      : barrier_(segment.header().barrier) {}

  /// Another program computes on this core from now on, or does so no more.
  void set_other_program(bool runs) { has_other_program_ = runs; }

  void set_others_take(Duration others_take) { others_take_ = others_take; }

  /// One barrier of all ranks.
  void meet(HostBarrier& barrier) {
    others_come_ = now_ + others_take_;
    REQUIRE(barrier.wait(TimePoint::max()) == Status::kOk);
    REQUIRE_FALSE(others_come_.has_value());
  }

  /// Gives the core away: to another rank, which waits soon itself, or to the
  /// other program, which keeps it for a tick.
  void yield_core() noexcept override {
    ++yields;
    pass(has_other_program_ ? kTick : kSwitch);
  }

  void sleep_on(const gma::SleepWord&, Duration limit) override {
    ++sleeps;
    REQUIRE(others_come_.has_value());
    const Duration left = *others_come_ - now_;
    pass(std::min(std::max(left, Duration(0)) + kWakeUp, limit));
  }

  TimePoint now() const noexcept override { return now_; }

  bool make_progress() override { return false; }

  Status health() override { return Status::kOk; }

  void sleep(const std::function<bool()>&, Duration) override {}

  void enter_wait(protocol::WaitKind, std::uint32_t) override {}

  void leave_wait() override {}

  const gma::WaitPolicy& policy() const noexcept override { return policy_; }

  int yields = 0;
  int sleeps = 0;

 private:
  void pass(Duration time) noexcept {
    now_ += time;
    if (others_come_ && *others_come_ <= now_) {
      barrier_.arrived = 0;
      barrier_.ended_ns = others_come_->time_since_epoch().count();
      ++barrier_.epoch;
      others_come_.reset();
    }
  }

  protocol::HostBarrier& barrier_;
  gma::WaitPolicy policy_{.spin = microseconds(50), .yields = true};
  TimePoint now_{seconds(1000)};
  std::optional<TimePoint> others_come_;
  Duration others_take_ = kSwitch / 2;
  bool has_other_program_ = false;
};

struct SharedCore {
  void meet(int times) {
    for (int i = 0; i < times; ++i) {
      core.meet(barrier);
    }
  }

  test::HostMemory host{3};
  VirtualCore core{host.segment()};
  HostBarrier barrier{host.segment(), 0, core};
};

}  // namespace

TEST_CASE("host barrier: ranks that take turns on a core only yield",
          "[runtime][barrier][turns]") {
  SharedCore shared;
  shared.meet(10'000);
  CHECK(shared.core.yields == 10'000);
  CHECK(shared.core.sleeps == 0);
  CHECK(shared.barrier.counts().lost_turns == 0);
}

// The other three ranks of four share the other core. This rank has its core
// back from each yield at once.
TEST_CASE("host barrier: a rank alone on its core does not sleep",
          "[runtime][barrier][turns]") {
  SharedCore shared;
  shared.core.set_others_take(8 * kSwitch);
  shared.meet(10'000);
  CHECK(shared.core.sleeps == 0);
}

TEST_CASE("host barrier: a rank sleeps while another one computes",
          "[runtime][barrier][turns]") {
  SharedCore shared;
  shared.core.set_others_take(milliseconds(20));
  shared.meet(100);
  CHECK(shared.core.sleeps == 100);
  CHECK(shared.core.yields <= 100 * 54);
}

TEST_CASE("host barrier: another program on the core gets few turns",
          "[runtime][barrier][turns]") {
  SharedCore shared;
  shared.core.set_other_program(true);
  const TimePoint start = shared.core.now();
  shared.meet(100'000);
  // 1.6 s of sleeps, and 4 + 8 + 16 + ... ms of bans in between.
  CHECK(shared.core.yields <= 9);
  CHECK(shared.barrier.counts().lost_turns ==
        static_cast<std::uint64_t>(shared.core.yields));
  CHECK(shared.core.sleeps + shared.core.yields == 100'000);
  CHECK(shared.core.now() - start <= 100'000 * (kWakeUp + kSwitch) + 9 * kTick);
}

TEST_CASE("host barrier: a rank yields again when the other program has ended",
          "[runtime][barrier][turns]") {
  SharedCore shared;
  shared.core.set_other_program(true);
  shared.meet(200'000);
  shared.core.set_other_program(false);
  // The last ban is over after a second.
  shared.meet(200'000);
  const int sleeps = shared.core.sleeps;
  shared.meet(200'000);
  CHECK(shared.core.sleeps == sleeps);
}

TEST_CASE("lost turns: a single one costs about as much again",
          "[runtime][turns]") {
  LostTurns turns;
  TimePoint now{seconds(1)};
  CHECK(turns.may_yield(now));
  for (int turn = 1; turn < 10; ++turn) {
    turns.ran_again(now, kTick);
    CHECK(turns.lost() == static_cast<std::uint64_t>(turn));
    CHECK(turns.is_banned());
    CHECK_FALSE(turns.may_yield(now + kTick - Duration(1)));
    now += kTick;
    CHECK(turns.may_yield(now));
    CHECK_FALSE(turns.is_banned());
    now += milliseconds(100);  // yields go well
    turns.ran_again(now, kSwitch);
    CHECK_FALSE(turns.is_banned());
  }
}

TEST_CASE("lost turns: each ban in a row is twice as long, up to a second",
          "[runtime][turns]") {
  LostTurns turns;
  TimePoint now{seconds(1)};
  Duration ban = kTick;
  for (int turn = 0; turn < 12; ++turn) {
    now += kTick;
    turns.ran_again(now, kTick);
    CHECK_FALSE(turns.may_yield(now + ban - Duration(1)));
    now += ban;
    CHECK(turns.may_yield(now));
    ban = std::min(2 * ban, LostTurns::kLongestBan);
  }
  CHECK(ban == LostTurns::kLongestBan);
}

}  // namespace acp::runtime
