// How many datagrams a poll of the udp transport takes, and which replies and
// acknowledgements it causes. docs/udp.md, "Polling".
#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"

namespace acp::test {

namespace {

void send_to(FakeJob& job,
             transport::ProcId from,
             transport::ProcId to,
             std::size_t bytes) {
  const std::vector<std::byte> message(bytes);
  const std::array parts = {std::span<const std::byte>(message)};
  REQUIRE(job.endpoint(from, to).send(parts, transport::Ordering::kFree) ==
          Status::kOk);
}

/// Lets all datagrams under way arrive; then process `proc` polls once.
void poll_arrivals(FakeJob& job, transport::ProcId proc) {
  job.network().clock().advance(job.network().plan().delay);
  job.transport(proc).poll(job.sink(proc));
  job.transport(proc).flush();
}

}  // namespace

TEST_CASE("udp transport: the pieces of a copy are answered together",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  job.sink(1).message = [&](auto from, auto, auto) {
    send_to(job, 1, from, 0);
  };
  int answers = 0;
  job.sink(0).message = [&](auto, auto, auto) {
    ++answers;
  };
  constexpr std::size_t kPiece = 800;  // two do not fit a datagram
  send_to(job, 0, 1, kPiece);
  send_to(job, 0, 1, kPiece);
  job.transport(0).flush();
  poll_arrivals(job, 1);
  CHECK(job.transport(1).counters().received == 2);
  CHECK(job.transport(1).counters().sent == 1);
  // The datagram of both answers also acknowledged both messages.
  REQUIRE(job.run_until_idle());
  CHECK(answers == 2);
  CHECK(job.transport(1).counters().sent == 1);
  CHECK(job.transport(0).counters().sent_again == 0);
}

TEST_CASE("udp transport: a small datagram is answered before the next look",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  for (int i = 0; i < 2; ++i) {
    send_to(job, 0, 1, 0);
    job.transport(0).flush();
  }
  poll_arrivals(job, 1);
  CHECK(job.transport(1).counters().received == 1);
}

TEST_CASE("udp transport: a poll takes no more after 128 KiB",
          "[udp][transport]") {
  FakeJobPlan plan;
  plan.datagram_bytes = 60'000;
  FakeJob job(plan);
  for (int i = 0; i < 7; ++i) {
    send_to(job, 0, 1, 59'000);
  }
  job.transport(0).flush();
  const udp::Counters& counters = job.transport(1).counters();
  poll_arrivals(job, 1);
  CHECK(counters.received == 3);
  poll_arrivals(job, 1);
  CHECK(counters.received == 6);
  poll_arrivals(job, 1);
  CHECK(counters.received == 7);
}

}  // namespace acp::test
