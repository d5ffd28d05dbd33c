// A peer that owes nothing is asked for a sign of life while it is waited for.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"

namespace acp::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::Ordering;
using Whom = transport::WaitedFor::Whom;

/// A job in which process 0 has sent to all other processes, and they owe it
/// nothing.
struct Quiet {
  explicit Quiet(const FakeJobPlan& plan) : job(plan), procs(plan.procs) {
    job.sink(0).failed = [this](auto peer, std::string_view why) {
      lost.push_back(peer);
      reason = why;
    };
    for (transport::ProcId peer = 1; peer < procs; ++peer) {
      REQUIRE(job.endpoint(0, peer).send({}, Ordering::kFree) == Status::kOk);
      REQUIRE(job.run_until_idle());
    }
    sent = job.transport(0).counters().sent;
  }

  /// Lets time pass like in ranks that wait, which poll every 50 ms.
  void pass(Duration duration) {
    const TimePoint end = job.network().clock().now() + duration;
    while (job.network().clock().now() < end) {
      job.run_for(milliseconds(50));
    }
  }

  std::uint64_t sent_since() { return job.transport(0).counters().sent - sent; }

  FakeJob job;
  std::uint32_t procs;
  std::uint64_t sent = 0;
  std::vector<transport::ProcId> lost;
  std::string reason;
};

FakeJobPlan plan_of(std::uint32_t procs) {
  FakeJobPlan plan;
  plan.procs = procs;
  return plan;
}

}  // namespace

TEST_CASE("udp silence: a peer that is waited for and disconnected is found",
          "[udp][silence]") {
  const auto whom = GENERATE(Whom::kPeer, Whom::kAnybody);
  Quiet quiet(plan_of(4));
  quiet.job.network().disconnect(2);
  quiet.job.waited_for(0) = {whom, 2};
  quiet.pass(seconds(10));
  CHECK(quiet.lost.empty());
  quiet.pass(seconds(4));
  CHECK(quiet.lost == std::vector<transport::ProcId>{2});
  CHECK(quiet.reason.find("it does not answer: 10.") != std::string::npos);
}

TEST_CASE("udp silence: a peer that was never spoken to is found as well",
          "[udp][silence]") {
  FakeJob job(plan_of(3));
  std::vector<transport::ProcId> lost;
  job.sink(0).failed = [&](auto peer, auto) {
    lost.push_back(peer);
  };
  job.network().disconnect(2);
  job.waited_for(0) = {Whom::kPeer, 2};
  for (int i = 0; i < 280; ++i) {
    job.run_for(milliseconds(50));
  }
  CHECK(lost == std::vector<transport::ProcId>{2});
}

TEST_CASE("udp silence: nobody is asked while nobody is waited for",
          "[udp][silence]") {
  Quiet quiet(plan_of(3));
  quiet.job.network().disconnect(1);
  quiet.pass(seconds(60));
  CHECK(quiet.lost.empty());
  CHECK(quiet.sent_since() == 0);
}

TEST_CASE("udp silence: nobody is asked when silence is no sign of death",
          "[udp][silence]") {
  FakeJobPlan plan = plan_of(3);
  plan.silence = seconds(0);
  Quiet quiet(plan);
  quiet.job.network().disconnect(1);
  quiet.job.waited_for(0) = {Whom::kAnybody, 0};
  quiet.pass(seconds(60));
  CHECK(quiet.lost.empty());
  CHECK(quiet.sent_since() == 0);
}

TEST_CASE("udp silence: peers that answer are left alone, and see no message",
          "[udp][silence]") {
  const auto whom = GENERATE(Whom::kPeer, Whom::kAnybody);
  FakeJobPlan plan = plan_of(3);
  plan.network.faults.loss = 0.2;
  plan.network.faults.reorder = 0.2;
  Quiet quiet(plan);
  quiet.job.waited_for(0) = {whom, 1};
  quiet.pass(std::chrono::minutes(10));
  CHECK(quiet.lost.empty());
  CHECK(quiet.sent_since() > 300);
  CHECK(quiet.job.transport(1).counters().delivered == 1);
}

TEST_CASE("udp silence: probes are few, with however many peers",
          "[udp][silence]") {
  const std::uint32_t procs = GENERATE(2U, 5U, 150U);
  Quiet quiet(plan_of(procs));
  quiet.job.waited_for(0) = {Whom::kAnybody, 0};
  quiet.pass(seconds(60));
  CHECK(quiet.lost.empty());
  CHECK(quiet.sent_since() >= 40);
  CHECK(quiet.sent_since() <= 4 * 61);
  CHECK(quiet.job.transport(0).counters().sent_again == 0);
}

// Every process waits for any peer, and probes one after the other from another
// beginning. Within 14 s one of them has to come to the lost one.
TEST_CASE("udp silence: all that wait for one together find it soon",
          "[udp][silence]") {
  Quiet quiet(plan_of(60));
  for (transport::ProcId from = 1; from < 60; ++from) {
    for (transport::ProcId to = 0; to < 60; ++to) {
      REQUIRE(quiet.job.endpoint(from, to).send({}, Ordering::kFree) ==
              Status::kOk);
    }
  }
  REQUIRE(quiet.job.run_until_idle());
  transport::ProcId lost = 0;
  for (transport::ProcId proc = 0; proc < 60; ++proc) {
    quiet.job.waited_for(proc) = {Whom::kAnybody, 0};
    quiet.job.sink(proc).failed = [&, proc](auto peer, auto) {
      lost = proc == 31 ? lost : peer;
    };
  }
  quiet.job.network().disconnect(31);
  quiet.pass(seconds(14));
  CHECK(lost == 31);
}

}  // namespace acp::test
