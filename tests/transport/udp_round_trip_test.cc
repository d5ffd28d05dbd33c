// Round trips that are long or change: they cause needless retransmissions,
// whose effect on the window is taken back.
#include <array>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "udp/rtt.h"

namespace acp::test {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using transport::Ordering;

/// Before the first sample the RTO is doubled from 20 ms; 20 + 40 + ... + 640
/// is more than the longest round trip here.
constexpr std::uint64_t kGuesses = 6;

/// Numbered messages from 0 to 1, each of which arrives once.
class Numbered {
 public:
  explicit Numbered(FakeJob& job) : job_(job) {
    job.sink(1).message = [this](auto, auto, auto bytes) {
      std::uint32_t number = 0;
      REQUIRE(bytes.size() == sizeof number);
      std::memcpy(&number, bytes.data(), sizeof number);
      REQUIRE(number < seen_.size());
      REQUIRE_FALSE(seen_[number]);
      seen_[number] = true;
      ++arrived_;
    };
  }

  /// Sends a message in a datagram of its own, as soon as the window allows.
  void send() {
    const auto number = static_cast<std::uint32_t>(seen_.size());
    const std::array parts = {std::as_bytes(std::span(&number, 1))};
    seen_.push_back(false);
    REQUIRE(job_.run_until([&] {
      return job_.endpoint(0, 1).send(parts, Ordering::kFree) == Status::kOk;
    }));
    job_.transport(0).flush();
  }

  void finish() {
    REQUIRE(job_.run_until_idle());
    REQUIRE(arrived_ == seen_.size());
  }

  const udp::Counters& counters() { return job_.transport(0).counters(); }

 private:
  FakeJob& job_;
  std::vector<bool> seen_;
  std::size_t arrived_ = 0;
};

FakeJobPlan plan_with(Duration one_way) {
  FakeJobPlan plan;
  plan.network.delay = one_way;
  return plan;
}

}  // namespace

TEST_CASE("udp round trip: without loss little is sent again, of any length",
          "[udp][rtt]") {
  const int round_trip_ms = GENERATE(1, 3, 10, 19, 30, 70, 100, 300, 700, 1000);
  const bool is_pipelined = GENERATE(false, true);
  INFO("round trip " << round_trip_ms << " ms");
  FakeJob job(plan_with(microseconds(500 * round_trip_ms)));
  Numbered messages(job);
  for (int i = 0; i < 50; ++i) {
    messages.send();
    if (!is_pipelined) {
      messages.finish();
    }
  }
  messages.finish();
  CHECK(messages.counters().sent <= 50 + kGuesses);
  // Each needless retransmission is recognized.
  CHECK(messages.counters().needless <= messages.counters().sent_again);
  const std::uint64_t before = messages.counters().sent;
  for (int i = 0; i < 100; ++i) {
    messages.send();
    messages.finish();
  }
  CHECK(messages.counters().sent == before + 100);
}

TEST_CASE("udp round trip: the first stream of a process warns the next",
          "[udp][rtt]") {
  FakeJobPlan plan = plan_with(milliseconds(150));
  plan.procs = 8;
  FakeJob job(plan);
  for (transport::ProcId peer = 1; peer < plan.procs; ++peer) {
    REQUIRE(job.endpoint(0, peer).send({}, Ordering::kFree) == Status::kOk);
    REQUIRE(job.run_until_idle());
  }
  CHECK(job.transport(0).counters().sent_again <= kGuesses);
}

// The path becomes slower in one step. The first message is sent again
// needlessly, and no message after it.
TEST_CASE("udp round trip: a path that becomes slow is learned within one",
          "[udp][rtt]") {
  const int slow_ms = GENERATE(20, 100, 400);
  FakeJob job(plan_with(microseconds(50)));
  Numbered messages(job);
  for (int i = 0; i < 50; ++i) {
    messages.send();
    messages.finish();
  }
  CHECK(messages.counters().sent_again == 0);
  job.network().plan().delay = milliseconds(slow_ms);
  messages.send();
  messages.finish();
  const std::uint64_t guesses = messages.counters().sent_again;
  CHECK(guesses <= 9);
  CHECK(messages.counters().needless == 1);
  for (int i = 0; i < 50; ++i) {
    messages.send();
    messages.finish();
  }
  CHECK(messages.counters().sent_again == guesses);
}

// The delays jump, so some retransmissions are needless on purpose. Over all
// seeds they have to be less than a quarter.
TEST_CASE("udp round trip: spikes, reordering and loss, from many seeds",
          "[udp][rtt][lossy]") {
  std::uint64_t sent = 0;
  std::uint64_t needless = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    udp::FaultDice dice(seed);
    FakeJobPlan plan = plan_with(microseconds(10 + dice.roll() % 50'000));
    plan.network.faults.seed = seed;
    plan.network.faults.reorder = 0.3;
    plan.network.faults.duplicate = 0.02;
    plan.network.faults.loss = seed % 2 == 0 ? 0.1 : 0.0;
    plan.network.reorder_delay = plan.network.delay;
    FakeJob job(plan);
    Numbered messages(job);
    for (int i = 0; i < 40; ++i) {
      const bool is_spike = dice.roll() % 8 == 0;
      job.network().plan().delay =
          is_spike ? 5 * plan.network.delay : plan.network.delay;
      messages.send();
      job.run_for(plan.network.delay / 4);
    }
    messages.finish();
    sent += messages.counters().sent;
    needless += messages.counters().needless;
  }
  CHECK(needless > 2000);
  CHECK(needless * 4 < sent);
}

TEST_CASE("udp round trip: acks that wait in the socket are taken first",
          "[udp][rtt]") {
  FakeJobPlan plan;
  plan.procs = 201;
  FakeJob job(plan);
  for (transport::ProcId peer = 1; peer < plan.procs; ++peer) {
    REQUIRE(job.endpoint(0, peer).send({}, Ordering::kFree) == Status::kOk);
  }
  job.transport(0).flush();
  // All other processes answer while process 0 has no core.
  for (int pass = 0; pass < 3; ++pass) {
    job.network().clock().advance(milliseconds(1));
    for (transport::ProcId peer = 1; peer < plan.procs; ++peer) {
      job.transport(peer).poll(job.sink(peer));
      job.transport(peer).flush();
    }
  }
  job.network().clock().advance(milliseconds(500));
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(0).counters().sent == 200);
}

TEST_CASE("udp round trip: two copies that lie in one socket are one answer",
          "[udp][rtt]") {
  FakeJob job(FakeJobPlan{});
  Numbered messages(job);
  messages.send();
  // Process 1 has no core for 300 ms, in which process 0 retransmits.
  for (int ms = 0; ms < 300; ++ms) {
    job.network().clock().advance(milliseconds(1));
    job.transport(0).poll(job.sink(0));
    job.transport(0).flush();
  }
  CHECK(messages.counters().sent_again > 2);
  messages.finish();
  CHECK(messages.counters().needless == 1);
  const std::uint64_t before = messages.counters().sent;
  for (int i = 0; i < 5; ++i) {
    messages.send();
    job.network().clock().advance(milliseconds(290));
    messages.finish();
  }
  CHECK(messages.counters().sent == before + 5);
}

}  // namespace acp::test
