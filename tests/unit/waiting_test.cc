// Tests how a waiting thread looks, yields and sleeps, on a fake host and with
// real threads on one core.
#include "gma/waiting.h"

#include <sched.h>

#include <atomic>
#include <stop_token>
#include <thread>

#include <catch2/catch.hpp>

#include "support/on_one_core.h"

namespace acp::gma {

namespace {

/// Counts the actions of a wait; sleeping takes no time beyond its limit.
class FakeHost final : public WaitHost {
 public:
  bool make_progress() override {
    ++passes;
    return has_arrivals;
  }

  Status health() override {
    ++health_looks;
    return health_looks > healthy_looks ? Status::kAborted : Status::kOk;
  }

  void sleep(const std::function<bool()>& is_done, Duration limit) override {
    ++sleeps;
    longest = std::max(longest, limit);
    shortest = std::min(shortest, limit);
    const TimePoint until = SteadyClock().now() + limit;
    while (!is_done() && limit < std::chrono::seconds(1) &&
           SteadyClock().now() < until) {
    }
  }

  void enter_wait(protocol::WaitKind kind, std::uint32_t peer) override {
    ++inside;
    last_kind = kind;
    last_peer = peer;
  }

  void leave_wait() override { --inside; }

  const WaitPolicy& policy() const noexcept override { return wait_policy; }

  WaitPolicy wait_policy{Duration(0)};
  bool has_arrivals = false;
  int healthy_looks = INT32_MAX;
  int passes = 0;
  int health_looks = 0;
  int sleeps = 0;
  int inside = 0;
  Duration longest{0};
  Duration shortest{Duration::max()};
  protocol::WaitKind last_kind = protocol::WaitKind::kNothing;
  std::uint32_t last_peer = 0;
};

/// Sleeping leaves the processor to others.
class SharedHost final : public WaitHost {
 public:
  bool make_progress() override {
    ++passes;
    return has_arrivals;
  }

  Status health() override { return Status::kOk; }

  void sleep(const std::function<bool()>& is_done, Duration limit) override {
    ++sleeps;
    const TimePoint until = SteadyClock().now() + limit;
    while (!is_done() && SteadyClock().now() < until) {
      ::sched_yield();
    }
  }

  void enter_wait(protocol::WaitKind /*kind*/,
                  std::uint32_t /*peer*/) override {}

  void leave_wait() override {}

  bool shares_core_now() noexcept override {
    ++asked_for_core;
    return shares_core;
  }

  const WaitPolicy& policy() const noexcept override { return wait_policy; }

  WaitPolicy wait_policy{};
  bool shares_core = false;
  int asked_for_core = 0;
  bool has_arrivals = false;
  int passes = 0;
  int sleeps = 0;
};

constexpr int kRounds = 1000;

/// Takes turns with a partner on the same core that yields it at once. Ends
/// also when a turn is lost.
void take_turns(WaitHost& host) {
  const test::OnOneCore one_core;
  const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(20);
  std::atomic<int> turn{0};
  const std::jthread partner([&turn](const std::stop_token& stop) {
    for (int round = 0; round < kRounds; ++round) {
      while (turn.load() != 2 * round + 1) {
        if (stop.stop_requested()) {
          return;
        }
        ::sched_yield();
      }
      turn.store(2 * round + 2);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    turn.store(2 * round + 1);
    REQUIRE(wait_until(host, {}, deadline, [&] {
              return turn.load() == 2 * round + 2;
            }) == Status::kOk);
  }
}

const WaitPolicy kPolicies[] = {
    {Duration(0), false},
    {std::chrono::microseconds(50), false},
    {std::chrono::microseconds(50), true},
};

WaitPurpose purpose_of(Duration look_again) {
  WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kSync;
  purpose.peer = 7;
  purpose.look_again = look_again;
  return purpose;
}

}  // namespace

TEST_CASE("waiting: the longer nothing happens, the rarer the looks",
          "[gma][waiting]") {
  FakeHost host;
  const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(1);
  CHECK(wait_until(host, {}, deadline, [] { return false; }) ==
        Status::kTimedOut);
  // 16 ms of one each, then one per sixteenth more: some 80, and not 1,000.
  CHECK(host.sleeps < 130);
  CHECK(host.longest > std::chrono::milliseconds(20));
  CHECK(host.longest <= std::chrono::milliseconds(50));
}

TEST_CASE("waiting: what arrives makes the looks frequent again",
          "[gma][waiting]") {
  FakeHost host;
  host.has_arrivals = true;
  const TimePoint deadline =
      SteadyClock().now() + std::chrono::milliseconds(200);
  CHECK(wait_until(host, {}, deadline, [] { return false; }) ==
        Status::kTimedOut);
  CHECK(host.sleeps > 0);
  CHECK(host.longest <= std::chrono::milliseconds(1));
}

TEST_CASE("waiting: what is done already costs one look", "[gma][waiting]") {
  FakeHost host;
  int looks = 0;
  CHECK(wait_until(host, {}, TimePoint::max(), [&] { return ++looks > 0; }) ==
        Status::kOk);
  CHECK(looks == 1);
  CHECK(host.passes == 0);
  CHECK(host.inside == 0);
  // Even when there is no time.
  CHECK(wait_until(host, {}, TimePoint::min(), [] { return true; }) ==
        Status::kOk);
}

TEST_CASE("waiting: progress alone may end a wait before any sleep",
          "[gma][waiting]") {
  for (const WaitPolicy& policy : kPolicies) {
    FakeHost host;
    host.wait_policy = policy;
    CHECK(wait_until(host, {}, TimePoint::max(),
                     [&] { return host.passes > 0; }) == Status::kOk);
    CHECK(host.sleeps == 0);
    CHECK(host.inside == 0);
  }
}

TEST_CASE("waiting: a wait is counted while it lasts", "[gma][waiting]") {
  FakeHost host;
  CHECK(wait_until(host, purpose_of(std::chrono::microseconds(10)),
                   TimePoint::max(), [&] {
                     return host.inside == 1 && host.sleeps > 2;
                   }) == Status::kOk);
  CHECK(host.last_kind == protocol::WaitKind::kSync);
  CHECK(host.last_peer == 7);
  CHECK(host.inside == 0);
}

TEST_CASE("waiting: time runs out, not before and not long after",
          "[gma][waiting]") {
  for (const WaitPolicy& policy : kPolicies) {
    FakeHost host;
    host.wait_policy = policy;
    const TimePoint deadline =
        SteadyClock().now() + std::chrono::milliseconds(20);
    CHECK(wait_until(host, purpose_of(std::chrono::milliseconds(3)), deadline,
                     [] { return false; }) == Status::kTimedOut);
    CHECK(SteadyClock().now() >= deadline);
    CHECK(host.longest <= std::chrono::milliseconds(3));
    CHECK(host.shortest > Duration(0));
    CHECK(host.passes > 1);
    CHECK(host.inside == 0);
  }
}

TEST_CASE("waiting: a deadline that has passed is one try", "[gma][waiting]") {
  for (const WaitPolicy& policy : kPolicies) {
    FakeHost host;
    host.wait_policy = policy;
    CHECK(wait_until(host, {}, SteadyClock().now() - std::chrono::seconds(1),
                     [] { return false; }) == Status::kTimedOut);
    CHECK(host.sleeps == 0);
    CHECK(host.passes >= 1);
  }
}

TEST_CASE("waiting: a sleep ends at the deadline, not at the next look",
          "[gma][waiting]") {
  FakeHost host;
  const TimePoint deadline =
      SteadyClock().now() + std::chrono::milliseconds(20);
  CHECK(wait_until(host, purpose_of(std::chrono::seconds(100)), deadline,
                   [] { return false; }) == Status::kTimedOut);
  CHECK(host.longest <= std::chrono::milliseconds(20));
}

TEST_CASE("waiting: bad health ends it", "[gma][waiting]") {
  for (const WaitPolicy& policy : kPolicies) {
    FakeHost host;
    host.wait_policy = policy;
    host.healthy_looks = 3;
    CHECK(wait_until(host, purpose_of(std::chrono::microseconds(10)),
                     TimePoint::max(),
                     [] { return false; }) == Status::kAborted);
    // Once while spinning, once after it, at the most.
    CHECK(host.health_looks > host.healthy_looks);
    CHECK(host.health_looks <= host.healthy_looks + 2);
    CHECK(host.inside == 0);
  }
}

TEST_CASE("waiting: what is done wins over bad health", "[gma][waiting]") {
  FakeHost host;
  host.healthy_looks = 0;
  CHECK(wait_until(host, {}, TimePoint::max(),
                   [&] { return host.passes > 0; }) == Status::kOk);
}

TEST_CASE("waiting: looks again for a while before it sleeps",
          "[gma][waiting]") {
  for (const WaitPolicy& policy : kPolicies) {
    FakeHost host;
    host.wait_policy = policy;
    const TimePoint start = SteadyClock().now();
    TimePoint asleep = start;
    CHECK(wait_until(host, purpose_of(std::chrono::microseconds(10)),
                     TimePoint::max(), [&] {
                       asleep = SteadyClock().now();
                       return host.sleeps > 0;
                     }) == Status::kOk);
    CHECK(asleep - start >= policy.spin);
    CHECK((host.passes > 2 || policy.spin.count() == 0));
  }
}

TEST_CASE("waiting: short sleeps lengthen the spin, a long one ends that",
          "[gma][waiting]") {
  constexpr Duration kLeast = std::chrono::microseconds(50);
  SpinTime spin;
  CHECK(spin.at_least(kLeast) == kLeast);
  spin.slept(std::chrono::microseconds(10));
  CHECK(spin.at_least(kLeast) > kLeast);
  for (int i = 0; i < 10; ++i) {
    const Duration before = spin.at_least(kLeast);
    spin.slept(SpinTime::kShortSleep - Duration(1));
    CHECK(spin.at_least(kLeast) >= before);
  }
  CHECK(spin.at_least(kLeast) == SpinTime::kLongest);
  CHECK(spin.at_least(2 * SpinTime::kLongest) == 2 * SpinTime::kLongest);
  spin.slept(SpinTime::kShortSleep);
  CHECK(spin.at_least(kLeast) == kLeast);
}

TEST_CASE("waiting: what often takes longer than the spin is not slept for",
          "[gma][waiting]") {
  FakeHost host;
  host.wait_policy.spin = std::chrono::microseconds(50);
  const auto wait_300_us = [&host] {
    const int sleeps = host.sleeps;
    const TimePoint end = SteadyClock().now() + std::chrono::microseconds(300);
    CHECK(wait_until(
              host, purpose_of(std::chrono::milliseconds(1)), TimePoint::max(),
              [end] { return SteadyClock().now() >= end; }) == Status::kOk);
    return host.sleeps > sleeps;
  };
  int waits = 1;
  while (wait_300_us()) {
    // More than a few: this thread lost its processor for milliseconds.
    REQUIRE(++waits < 1000);
  }
}

TEST_CASE("waiting: a long spin leaves the processor to who is waited for",
          "[gma][waiting]") {
  SharedHost host;
  for (int i = 0; i < 4; ++i) {
    host.spin_time().slept(std::chrono::microseconds(10));
  }
  take_turns(host);
  // Without it nearly each round would need one.
  CHECK(host.sleeps < kRounds / 2);
}

TEST_CASE("waiting: who shares a core yields it also after arrivals",
          "[gma][waiting]") {
  SharedHost host;
  host.wait_policy.yields = true;
  host.has_arrivals = true;  // at each pass, and never the awaited one
  take_turns(host);
  // Some 10 us otherwise, which are hundreds.
  CHECK(host.passes < 20 * kRounds);
}

TEST_CASE("waiting: who shares a core at the moment yields it at once",
          "[gma][waiting]") {
  SharedHost host;
  host.shares_core = true;
  take_turns(host);
  // Without that a round takes 50 us of passes, which are hundreds.
  CHECK(host.passes < 20 * kRounds);
}

TEST_CASE("waiting: a quick answer does not ask for the core",
          "[gma][waiting]") {
  SharedHost host;
  CHECK(wait_until(host, {}, TimePoint::max(),
                   [&host] { return host.passes == 2; }) == Status::kOk);
  CHECK(host.asked_for_core == 0);
  CHECK(wait_until(host, {}, TimePoint::max(),
                   [&host] { return host.passes == 5; }) == Status::kOk);
  CHECK(host.asked_for_core > 0);
}

TEST_CASE("waiting: public time-outs", "[gma][waiting]") {
  CHECK(deadline_after_ms(-1) == TimePoint::max());
  CHECK(deadline_after_ms(INT32_MIN) == TimePoint::max());
  const TimePoint now = SteadyClock().now();
  CHECK(deadline_after_ms(0) >= now);
  CHECK(deadline_after_ms(0) < now + std::chrono::minutes(1));
  CHECK(deadline_after_ms(INT32_MAX) > now + std::chrono::hours(24 * 24));
  CHECK(deadline_after_ms(INT32_MAX) < now + std::chrono::hours(24 * 26));
}

}  // namespace acp::gma
