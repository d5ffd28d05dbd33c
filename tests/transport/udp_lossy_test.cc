// Streams over a network that loses, doubles, reorders and damages datagrams.
// Every message arrives once, and ordered messages arrive after all earlier
// messages.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"

namespace acp::test {

namespace {

using transport::Ordering;

struct MessageHead {
  std::uint64_t index;
  std::uint32_t size;
  std::uint32_t is_ordered;
};

/// Sends numbered messages of random sizes over one endpoint and checks how
/// they come out at the other end.
class Flow {
 public:
  Flow(std::uint64_t messages, std::uint64_t seed, double ordered)
      : dice_(seed), ordered_(ordered), seen_(messages) {}

  /// Offers messages until the endpoint is full.
  void pump(transport::Endpoint& endpoint) {
    while (next_ < seen_.size()) {
      if (!has_drawn_) {
        draw();
      }
      const std::array parts = {std::as_bytes(std::span(&head_, 1)),
                                std::span<const std::byte>(body_)};
      const Status status = endpoint.send(
          parts, head_.is_ordered != 0 ? Ordering::kOrdered : Ordering::kFree);
      if (status == Status::kAgain) {
        return;
      }
      REQUIRE(status == Status::kOk);
      has_drawn_ = false;
      ++next_;
    }
  }

  /// Checks size, body and order. A message with an older one still missing has
  /// overtaken it, which only free messages may do.
  void on_message(std::span<const std::byte> bytes) {
    MessageHead head{};
    REQUIRE(bytes.size() >= sizeof head);
    std::memcpy(&head, bytes.data(), sizeof head);
    REQUIRE(bytes.size() == sizeof head + head.size);
    REQUIRE(head.index < seen_.size());
    REQUIRE_FALSE(seen_[head.index]);
    const auto body = bytes.subspan(sizeof head);
    REQUIRE(std::all_of(body.begin(), body.end(), [&](std::byte byte) {
      return byte == static_cast<std::byte>(head.index);
    }));
    if (head.is_ordered != 0) {
      REQUIRE(oldest_missing_ == head.index);
    }
    overtaken_ += oldest_missing_ != head.index ? 1 : 0;
    seen_[head.index] = true;
    ++count_;
    while (oldest_missing_ < seen_.size() && seen_[oldest_missing_]) {
      ++oldest_missing_;
    }
  }

  bool is_complete() const { return count_ == seen_.size(); }

  std::uint64_t overtaken() const { return overtaken_; }

 private:
  void draw() {
    const std::uint64_t roll = dice_.roll() % 100;
    const std::size_t size = roll < 10   ? 0
                             : roll < 95 ? dice_.roll() % 100
                                         : dice_.roll() % 1200;
    head_ = {next_, static_cast<std::uint32_t>(size),
             dice_.hits(ordered_) ? 1U : 0U};
    body_.assign(size, static_cast<std::byte>(next_));
    has_drawn_ = true;
  }

  udp::FaultDice dice_;
  double ordered_;
  std::vector<bool> seen_;
  MessageHead head_{};
  std::vector<std::byte> body_;
  bool has_drawn_ = false;
  std::uint64_t next_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t oldest_missing_ = 0;
  std::uint64_t overtaken_ = 0;
};

FakeJobPlan lossy_plan(double loss, std::uint64_t seed) {
  FakeJobPlan plan;
  plan.network.faults.loss = loss;
  plan.network.faults.duplicate = 0.1;
  plan.network.faults.reorder = 0.2;
  plan.network.faults.corrupt = 0.02;
  plan.network.faults.seed = seed;
  return plan;
}

/// Runs a flow from process 0 to process 1 to its end.
void run_flow(FakeJob& job, Flow& flow) {
  job.sink(1).message = [&](auto, auto, auto bytes) {
    flow.on_message(bytes);
  };
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  const bool is_done = job.run_until([&] {
    flow.pump(endpoint);
    return flow.is_complete();
  });
  REQUIRE(is_done);
  REQUIRE(job.run_until_idle());
}

}  // namespace

TEST_CASE("udp lossy: 100,000 messages exactly once, mixed orders",
          "[udp][lossy]") {
  const double loss = GENERATE(0.05, 0.15, 0.3);
  INFO("loss " << loss);
  FakeJob job(lossy_plan(loss, 11));
  Flow flow(100'000, 5, 0.2);
  run_flow(job, flow);
  const udp::Counters& sender = job.transport(0).counters();
  const udp::Counters& receiver = job.transport(1).counters();
  CHECK(receiver.delivered == 100'000);
  CHECK(sender.sent_again > 100);
  CHECK(receiver.duplicates > 100);
  CHECK(receiver.corrupt > 10);
  CHECK(receiver.held > 10);
  CHECK(flow.overtaken() > 100);
}

TEST_CASE("udp lossy: all ordered, all free", "[udp][lossy]") {
  const double ordered = GENERATE(0.0, 1.0);
  const auto seed = GENERATE(1U, 2U, 3U);
  FakeJob job(lossy_plan(0.1, seed));
  Flow flow(20'000, seed, ordered);
  run_flow(job, flow);
  CHECK((flow.overtaken() == 0) == (ordered == 1.0));
}

TEST_CASE("udp lossy: numbers near the end of their fields", "[udp][lossy]") {
  const auto first =
      GENERATE(std::uint64_t{0xFFFFFF80}, std::uint64_t{0x7FFFFFC0},
               std::uint64_t{0xFFFFFFFFFFF0});
  FakeJobPlan plan = lossy_plan(0.1, 3);
  plan.first_seq = first;
  FakeJob job(plan);
  Flow flow(20'000, 9, 0.3);
  run_flow(job, flow);
}

TEST_CASE("udp lossy: a pool that is too small only slows things down",
          "[udp][lossy]") {
  FakeJobPlan plan = lossy_plan(0.1, 4);
  plan.max_fragments = 6;
  FakeJob job(plan);
  Flow flow(5'000, 2, 0.5);
  run_flow(job, flow);
}

// Four processes send to one whose buffer holds 40,000 bytes. Datagrams are
// lost by overflow alone, and all messages arrive.
TEST_CASE("udp lossy: a receive buffer that overflows is repaired",
          "[udp][lossy]") {
  FakeJobPlan plan;
  plan.procs = 5;
  plan.network.buffer_bytes = 40'000;
  FakeJob job(plan);
  std::vector<Flow> flows;
  for (std::uint64_t proc = 1; proc < plan.procs; ++proc) {
    flows.emplace_back(5'000, proc, 0.1);
  }
  job.sink(0).message = [&](auto from, auto, auto bytes) {
    flows[from - 1].on_message(bytes);
  };
  const bool is_done = job.run_until([&] {
    for (transport::ProcId proc = 1; proc < plan.procs; ++proc) {
      flows[proc - 1].pump(job.endpoint(proc, 0));
    }
    return std::all_of(flows.begin(), flows.end(),
                       [](const Flow& flow) { return flow.is_complete(); });
  });
  REQUIRE(is_done);
  std::uint64_t sent_again = 0;
  for (transport::ProcId proc = 1; proc < plan.procs; ++proc) {
    sent_again += job.transport(proc).counters().sent_again;
  }
  CHECK(sent_again > 0);
}

// Each pair in each color is a flow with numbers of its own, also from a
// process to itself.
TEST_CASE("udp lossy: eight processes talk to each other in two colors",
          "[udp][lossy]") {
  FakeJobPlan plan = lossy_plan(0.1, 21);
  plan.procs = 8;
  plan.colors = 2;
  FakeJob job(plan);
  std::deque<Flow> flows;
  const auto flow_of = [&](std::uint32_t from, std::uint32_t to,
                           std::uint32_t color) -> Flow& {
    return flows[(from * plan.procs + to) * plan.colors + color];
  };
  for (std::uint64_t i = 0; i < 8 * 8 * 2; ++i) {
    flows.emplace_back(1'000, i, 0.3);
  }
  for (std::uint32_t to = 0; to < plan.procs; ++to) {
    job.sink(to).message = [&, to](auto from, auto color, auto bytes) {
      flow_of(from, to, color).on_message(bytes);
    };
  }
  const bool is_done = job.run_until([&] {
    bool is_complete = true;
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
      const std::uint32_t pair = i / plan.colors;
      flows[i].pump(
          job.endpoint(pair / plan.procs, pair % plan.procs, i % plan.colors));
      is_complete &= flows[i].is_complete();
    }
    return is_complete;
  });
  REQUIRE(is_done);
  REQUIRE(job.run_until_idle());
}

TEST_CASE("udp lossy: requests answered from within the delivery",
          "[udp][lossy]") {
  FakeJobPlan plan = lossy_plan(0.1, 8);
  FakeJob job(plan);
  // Process 1 answers each request. Replies that cannot be sent at once wait in
  // a queue, as in an agent.
  std::deque<std::vector<std::byte>> replies;
  Flow flow(20'000, 6, 0.2);
  transport::Endpoint& back = job.endpoint(1, 0);
  const auto send_replies = [&] {
    while (!replies.empty()) {
      const std::array parts = {std::span<const std::byte>(replies.front())};
      if (back.send(parts, Ordering::kFree) != Status::kOk) {
        return;
      }
      replies.pop_front();
    }
  };
  job.sink(1).message = [&](auto, auto, auto bytes) {
    replies.emplace_back(bytes.begin(), bytes.end());
    send_replies();
  };
  std::uint64_t answered = 0;
  job.sink(0).message = [&](auto, auto, auto bytes) {
    MessageHead head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    head.is_ordered = 0;  // the answers are free
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    std::memcpy(copy.data(), &head, sizeof head);
    flow.on_message(copy);
    ++answered;
  };
  const bool is_done = job.run_until([&] {
    flow.pump(job.endpoint(0, 1));
    send_replies();
    return flow.is_complete();
  });
  REQUIRE(is_done);
  CHECK(answered == 20'000);
}

}  // namespace acp::test
