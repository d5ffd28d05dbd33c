// The path of ACP_UDP_FAULTS: delay, jitter and the link of limited rate,
// alone, in a FaultySocket and below the transport.
#include <array>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "udp/delay_line.h"
#include "udp/faulty_socket.h"

namespace acp::test {

namespace {

using namespace std::chrono_literals;
using udp::DelayLine;
using udp::PathPlan;

constexpr TimePoint kStart{1000s};

std::vector<std::byte> datagram(int number, std::size_t bytes = 100) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(number));
}

/// Puts a datagram whose bytes all have the value `number`.
void put(DelayLine& line,
         TimePoint arrived,
         int number,
         std::size_t bytes = 100,
         Duration jitter = 0ns) {
  line.put(arrived, jitter, {}, datagram(number, bytes));
}

/// The number of the datagram that is due; -1 when none is.
int take(DelayLine& line, TimePoint now) {
  std::vector<std::byte> buffer(70'000);
  const auto arrival = line.take(now, buffer);
  return arrival ? static_cast<int>(buffer[arrival->bytes - 1]) : -1;
}

}  // namespace

TEST_CASE("udp delay line: a datagram is due after the delay, not before",
          "[udp][faults]") {
  DelayLine line(PathPlan{.delay = 2ms});
  CHECK(line.next_due() == TimePoint::max());
  put(line, kStart, 1);
  put(line, kStart + 1ms, 2);
  CHECK(line.next_due() == kStart + 2ms);
  CHECK(take(line, kStart + 2ms - 1ns) == -1);
  CHECK(take(line, kStart + 2ms) == 1);
  CHECK(line.next_due() == kStart + 3ms);
  CHECK(take(line, kStart + 2ms) == -1);
  CHECK(take(line, kStart + 3ms) == 2);
  CHECK(line.next_due() == TimePoint::max());
}

TEST_CASE("udp delay line: what is taken late has waited since it was due",
          "[udp][faults]") {
  DelayLine line(PathPlan{.delay = 2ms});
  put(line, kStart, 1);
  std::vector<std::byte> buffer(100);
  const auto arrival = line.take(kStart + 7ms, buffer);
  REQUIRE(arrival.has_value());
  CHECK(arrival->bytes == 100);
  CHECK(arrival->waited == 5ms);
}

TEST_CASE("udp delay line: jitter lets a datagram be overtaken",
          "[udp][faults]") {
  DelayLine line(PathPlan{.delay = 2ms, .jitter = 1ms});
  put(line, kStart, 1, 100, 1ms);
  put(line, kStart, 2);
  put(line, kStart, 3);
  CHECK(take(line, kStart + 2ms) == 2);
  CHECK(take(line, kStart + 2ms) == 3);
  CHECK(take(line, kStart + 2ms) == -1);
  CHECK(take(line, kStart + 3ms) == 1);
}

TEST_CASE("udp delay line: the link passes one datagram after the other",
          "[udp][faults]") {
  DelayLine line(PathPlan{.delay = 5ms, .rate = 1'000'000});
  put(line, kStart, 1, 1'000);  // 1 ms on the link
  put(line, kStart, 2, 2'000);
  CHECK(line.next_due() == kStart + 6ms);
  CHECK(take(line, kStart + 6ms) == 1);
  CHECK(line.next_due() == kStart + 8ms);
  CHECK(take(line, kStart + 8ms) == 2);
  // The link has been free meanwhile, and its idle time is not made up for.
  put(line, kStart + 10ms, 3, 1'000);
  CHECK(line.next_due() == kStart + 16ms);
}

TEST_CASE("udp delay line: the queue loses what does not fit",
          "[udp][faults]") {
  DelayLine line(PathPlan{.rate = 1'000'000, .queue_bytes = 100'000});
  put(line, kStart, 1, 60'000);
  put(line, kStart, 2, 40'000);
  put(line, kStart, 3, 1);          // the queue is full
  put(line, kStart + 1ms, 4, 900);  // 1,000 bytes have passed
  CHECK(take(line, kStart + 1s) == 1);
  CHECK(take(line, kStart + 1s) == 2);
  CHECK(take(line, kStart + 1s) == 4);
  CHECK(take(line, kStart + 1s) == -1);
}

TEST_CASE("udp delay line: it holds a bounded number of bytes",
          "[udp][faults]") {
  DelayLine line(PathPlan{.delay = 10s});
  constexpr std::size_t kBytes = 60'000;
  constexpr std::size_t kMost = DelayLine::kMostHeldBytes / kBytes;
  for (std::size_t i = 0; i < kMost + 10; ++i) {
    put(line, kStart, 1, kBytes);
  }
  std::size_t count = 0;
  while (take(line, kStart + 10s) != -1) {
    ++count;
  }
  CHECK(count == kMost);
  put(line, kStart, 2);  // there is room again
  CHECK(take(line, kStart + 10s) == 2);
}

TEST_CASE("udp faulty socket: it holds what has arrived until it is due",
          "[udp][faults]") {
  FakeNetwork network;
  const auto sender = network.make_socket(0, 1);
  udp::FaultySocket receiver(network.make_socket(1, 2),
                             {.path = {.delay = 2ms}}, 1, network.clock());
  CHECK(receiver.longest_train() == network.plan().longest_train);
  std::vector<std::byte> buffer(1'000);
  for (const int number : {1, 2}) {
    const auto bytes = datagram(number);
    REQUIRE(sender->send(0, receiver.addresses()[1], {bytes, {}}) ==
            Status::kOk);
  }
  const TimePoint arrived = network.clock().now() + network.plan().delay;
  network.clock().advance_to(arrived);
  CHECK_FALSE(receiver.receive(1, buffer).has_value());
  CHECK(network.next_arrival() == TimePoint::max());  // both were taken
  CHECK_FALSE(receiver.has_backlog());
  CHECK(receiver.next_due() == arrived + 2ms);
  network.clock().advance_to(arrived + 2ms);
  CHECK_FALSE(receiver.receive(0, buffer).has_value());
  for (const int number : {1, 2}) {
    const auto arrival = receiver.receive(1, buffer);
    REQUIRE(arrival.has_value());
    CHECK(arrival->from == sender->addresses()[0]);
    CHECK(buffer[0] == static_cast<std::byte>(number));
  }
  CHECK(receiver.next_due() == TimePoint::max());
}

TEST_CASE("udp transport: held datagrams are deadlines of the transport",
          "[udp][faults]") {
  FakeJob job({.path = {.delay = 3ms}});
  const auto start = job.network().clock().now();
  TimePoint came{};
  job.sink(1).message = [&](auto, auto, auto) {
    came = job.network().clock().now();
  };
  const auto message = datagram(7);
  const std::array parts = {std::span<const std::byte>(message)};
  REQUIRE(job.endpoint(0, 1).send(parts, transport::Ordering::kFree) ==
          Status::kOk);
  // Time jumps from one deadline to the next, so it would miss this one.
  REQUIRE(job.run_until([&] { return came != TimePoint{}; }));
  CHECK(came == start + job.network().plan().delay + 3ms);
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(1).counters().delivered == 1);
}

TEST_CASE("udp transport: a slow path with a short queue loses no message",
          "[udp][faults]") {
  FakeJob job({.path = {.delay = 2ms,
                        .jitter = 1ms,
                        .rate = 1'000'000,
                        .queue_bytes = 65'536}});
  constexpr int kMessages = 300;
  int came = 0;
  job.sink(1).message = [&](auto, auto, auto bytes) {
    CHECK(bytes[0] == static_cast<std::byte>(came));
    ++came;
  };
  const auto start = job.network().clock().now();
  for (int sent = 0; sent < kMessages; ++sent) {
    const auto message = datagram(sent, 1'200);
    const std::array parts = {std::span<const std::byte>(message)};
    REQUIRE(job.run_until([&] {
      return job.endpoint(0, 1).send(parts, transport::Ordering::kOrdered) ==
             Status::kOk;
    }));
  }
  REQUIRE(job.run_until([&] { return came == kMessages; }));
  CHECK(job.network().clock().now() - start >= 360ms);  // 360 kB at 1 MB/s
  CHECK(job.transport(0).counters().sent_again > 0);
}

}  // namespace acp::test
