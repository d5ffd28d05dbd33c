// Many processes send to one process as fast as they may. Its grants keep the
// sum of all datagrams under way below its receive buffer.
#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "udp/endpoint.h"
#include "udp/grant_budget.h"

namespace acp::test {

namespace {

using transport::ProcId;

constexpr std::size_t kMessageBytes = 1'000;

/// Processes 1 and up send to process 0. Grants alone limit them, because on
/// one host there is no congestion window.
FakeJobPlan plan_for(std::uint32_t senders, std::size_t buffer_bytes) {
  FakeJobPlan plan;
  plan.procs = senders + 1;
  plan.network.buffer_bytes = buffer_bytes;
  plan.first_grant = udp::kFirstGrant;
  plan.max_fragments = 1'024;
  return plan;
}

class Incast {
 public:
  explicit Incast(const FakeJobPlan& plan) : job_(plan), sent_(plan.procs, 0) {
    job_.sink(0).message = [this](auto, auto, auto) {
      ++arrived_;
    };
  }

  FakeJob& job() { return job_; }

  std::uint64_t lost() { return job_.network().counts().lost; }

  std::uint64_t arrived() const { return arrived_; }

  udp::Endpoint& sender(ProcId proc) {
    return static_cast<udp::Endpoint&>(job_.endpoint(proc, 0));
  }

  /// The process sends until its window is full, or `most` messages in all.
  void fill(ProcId proc, std::uint64_t most, std::size_t bytes) {
    const std::vector<std::byte> message(bytes);
    const std::array parts = {std::span<const std::byte>(message)};
    while (sent_[proc] < most &&
           sender(proc).send(parts, transport::Ordering::kFree) ==
               Status::kOk) {
      ++sent_[proc];
    }
    job_.transport(proc).flush();
  }

  /// Bytes that the senders believe to be granted, all together.
  std::uint64_t granted() {
    std::uint64_t sum = 0;
    for (ProcId proc = 1; proc < sent_.size(); ++proc) {
      sum += sender(proc).sender().granted();
    }
    return sum;
  }

 private:
  FakeJob job_;
  std::vector<std::uint64_t> sent_;
  std::uint64_t arrived_ = 0;
};

}  // namespace

// All senders fill their grants all the time, and the sum is taken in each
// step. It has to be large as well, or the buffer would lie idle.
TEST_CASE("udp grants: their sum stays below half of the buffer",
          "[udp][grants]") {
  const std::uint32_t senders = GENERATE(16U, 64U);
  const std::size_t buffer =
      GENERATE(std::size_t{425'984}, std::size_t{4} << 20);
  CAPTURE(senders, buffer);
  constexpr std::uint64_t kEach = 200;
  Incast incast(plan_for(senders, buffer));
  std::uint64_t most = 0;
  const auto send_all = [&] {
    for (ProcId proc = 1; proc <= senders; ++proc) {
      incast.fill(proc, kEach, kMessageBytes);
    }
    most = std::max(most, incast.granted());
    return incast.arrived() == kEach * senders;
  };
  REQUIRE(incast.job().run_until(send_all, std::chrono::minutes(1)));
  CHECK(most > buffer / 4);
  CHECK(most <= std::max<std::uint64_t>(
                    buffer / 2, std::uint64_t{senders} * udp::kFirstGrant));
  CHECK(incast.lost() == 0);
}

TEST_CASE("udp grants: senders that begin one after the other fit the buffer",
          "[udp][grants]") {
  constexpr std::uint32_t kSenders = 64;
  constexpr std::size_t kBuffer = 425'984;
  constexpr std::uint64_t kEach = 200;
  Incast incast(plan_for(kSenders, kBuffer));
  const TimePoint begin = incast.job().network().clock().now();
  const auto send_all = [&] {
    const auto passed = incast.job().network().clock().now() - begin;
    const auto active = std::min<std::int64_t>(
        kSenders, 1 + passed / std::chrono::microseconds(20));
    for (ProcId proc = 1; proc <= static_cast<ProcId>(active); ++proc) {
      incast.fill(proc, kEach, kMessageBytes);
    }
    return incast.arrived() == kEach * kSenders;
  };
  REQUIRE(incast.job().run_until(send_all, std::chrono::minutes(1)));
  CHECK(incast.lost() == 0);
}

TEST_CASE("udp grants: small messages of many leave a heavy stream its share",
          "[udp][grants]") {
  constexpr std::uint32_t kSenders = 16;
  constexpr std::size_t kBuffer = std::size_t{4} << 20;
  Incast incast(plan_for(kSenders, kBuffer));
  const TimePoint begin = incast.job().network().clock().now();
  std::uint64_t smalls = 0;  // Each sender but the first has sent so many.
  const auto send = [&] {
    const auto passed = incast.job().network().clock().now() - begin;
    incast.fill(1, UINT64_MAX, kMessageBytes);
    if (passed / std::chrono::milliseconds(20) >
        static_cast<std::int64_t>(smalls)) {
      ++smalls;
      for (ProcId proc = 2; proc <= kSenders; ++proc) {
        incast.fill(proc, smalls, 8);
      }
    }
    return passed > std::chrono::milliseconds(600);
  };
  REQUIRE(incast.job().run_until(send, std::chrono::minutes(1)));
  CHECK(incast.sender(1).sender().granted() >= kBuffer / 4);
  CHECK(incast.sender(2).sender().granted() <= kBuffer / 4 / kSenders);
  CHECK(incast.lost() == 0);
}

// First all streams send a little, so that each has begun. Then all become
// heavy in the same period, before the budget has counted them.
TEST_CASE("udp grants: streams that become heavy together fit the buffer",
          "[udp][grants]") {
  const std::uint32_t senders = GENERATE(3U, 16U, 64U);
  const std::size_t buffer =
      GENERATE(std::size_t{425'984}, std::size_t{4} << 20);
  CAPTURE(senders, buffer);
  constexpr std::uint64_t kEach = 600;
  Incast incast(plan_for(senders, buffer));
  const auto fill_all = [&](std::uint64_t most, std::size_t bytes) {
    for (ProcId proc = 1; proc <= senders; ++proc) {
      incast.fill(proc, most, bytes);
    }
  };
  for (std::uint64_t small = 1; small <= 25; ++small) {
    fill_all(small, 8);
    incast.job().run_for(std::chrono::milliseconds(20));
  }
  std::uint64_t most = 0;
  const auto send = [&] {
    fill_all(kEach, kMessageBytes);
    most = std::max(most, incast.granted());
    return incast.arrived() == kEach * senders;
  };
  REQUIRE(incast.job().run_until(send, std::chrono::minutes(1)));
  CHECK(most <= buffer * 3 / 4);
  CHECK(incast.lost() == 0);
}

/// Four small datagrams of each sender fit a buffer of 4 MiB. Larger ones are
/// lost in part, and sent again.
TEST_CASE("udp grants: 1,000 unknown senders at once", "[udp][grants]") {
  constexpr std::uint32_t kSenders = 1'000;
  constexpr std::uint64_t kEach = 4;
  const std::size_t bytes = GENERATE(std::size_t{8}, kMessageBytes);
  FakeJobPlan plan = plan_for(kSenders, std::size_t{4} << 20);
  plan.max_fragments = 64;
  Incast incast(plan);
  const auto send_all = [&] {
    for (ProcId proc = 1; proc <= kSenders; ++proc) {
      incast.fill(proc, kEach, bytes);
    }
    return incast.arrived() == kEach * kSenders;
  };
  REQUIRE(incast.job().run_until(send_all, std::chrono::seconds(1)));
  CHECK(incast.lost() <= (bytes == kMessageBytes ? kSenders : 0));
}

}  // namespace acp::test
