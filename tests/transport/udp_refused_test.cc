// The system refuses to send, because of a route, an interface or a firewall.
// The transport warns at once and gives the peer up at the limit of silence.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "support/local_socket.h"
#include "support/stderr_capture.h"

namespace acp::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::Ordering;

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Process 0 sends to all others while the system refuses with `error`. Returns
/// the text that was logged within `time`.
std::string log_of_refusal(FakeJob& job, int error, Duration time) {
  job.network().plan().send_error = error;
  spmd::StderrCapture capture;
  for (transport::ProcId peer = 1; peer < 4; ++peer) {
    REQUIRE(job.endpoint(0, peer).send({}, Ordering::kFree) == Status::kOk);
  }
  job.transport(0).flush();
  job.run_for(time);
  return capture.stop();
}

/// Process 0 sends messages of these bytes to process 1 while its window has
/// room.
void send_until_full(FakeJob& job, std::span<const std::byte> message) {
  int sent = 0;
  while (job.endpoint(0, 1).send({&message, 1}, Ordering::kFree) ==
         Status::kOk) {
    ++sent;
  }
  REQUIRE(sent > 2);
}

FakeJobPlan plan_of_four() {
  FakeJobPlan plan;
  plan.procs = 4;
  return plan;
}

}  // namespace

TEST_CASE("udp refused: told at once, once, with what to do",
          "[udp][refused]") {
  struct Case {
    int error;
    const char* text;
    const char* advice;
  };

  const auto [error, text, advice] =
      GENERATE(Case{ENETUNREACH, "Network is unreachable", "ip route get"},
               Case{EHOSTUNREACH, "No route to host", "ip route get"},
               Case{EPERM, "Operation not permitted", "firewall"},
               Case{EMSGSIZE, "Message too long", "ACP_UDP_DATAGRAM"},
               Case{EIO, "Input/output error", "interfaces"});
  FakeJob job(plan_of_four());
  const std::string log = log_of_refusal(job, error, milliseconds(500));
  INFO(log);
  CHECK(contains(log, "udp: sending to rank 1 at "));
  CHECK(contains(log, text));
  CHECK(contains(log, advice));
  CHECK(contains(log, "ACP_UDP_SILENCE"));
  // One warning, not one for each peer or transmission.
  CHECK(count_of(log, "udp: sending to") == 1);
}

TEST_CASE("udp refused: what comes back within the limit is no loss",
          "[udp][refused]") {
  FakeJob job(plan_of_four());
  int lost = 0;
  int arrived = 0;
  job.sink(0).failed = [&](auto, auto) {
    ++lost;
  };
  job.sink(1).message = [&](auto, auto, auto) {
    ++arrived;
  };
  (void)log_of_refusal(job, ENETUNREACH, seconds(8));
  job.network().plan().send_error = 0;
  REQUIRE(job.run_until_idle());
  CHECK(lost == 0);
  CHECK(arrived == 1);
  CHECK(job.transport(0).counters().unsent > 0);
}

TEST_CASE("udp refused: the peer is given up at the limit, with the reason",
          "[udp][refused]") {
  FakeJob job(plan_of_four());
  int lost = 0;
  std::string reason;
  job.sink(0).failed = [&](auto, std::string_view why) {
    ++lost;
    reason = why;
  };
  (void)log_of_refusal(job, ENETUNREACH, seconds(9));
  CHECK(lost == 0);
  (void)log_of_refusal(job, ENETUNREACH, seconds(3));
  CHECK(lost == 3);
  INFO(reason);
  CHECK(contains(reason, "the last was not sent (Network is unreachable)"));
}

TEST_CASE("udp refused: each datagram that the system refuses counts",
          "[udp][refused]") {
  FakeJobPlan plan;
  plan.datagram_bytes = 8'972;
  plan.network.has_hosts = true;
  FakeJob job(plan);
  const udp::Counters& counts = job.transport(0).counters();
  const std::vector<std::byte> large(1'000);
  const auto send_large = [&] {
    send_until_full(job, large);
    job.transport(0).flush();
  };
  const spmd::StderrCapture capture;
  SECTION("in trains") {
    job.network().plan().send_error = ENETUNREACH;
  }
  SECTION("above a size that has passed before") {
    send_large();
    REQUIRE(job.run_until_idle());
    REQUIRE(job.endpoint(0, 1).good_message() > udp::PathMtu::kBase);
    REQUIRE(counts.unsent == 0);
    job.network().plan().send_error = EMSGSIZE;
  }
  const std::uint64_t before = counts.sent - counts.unsent;
  send_large();
  job.run_for(milliseconds(100));
  CHECK(counts.unsent > 1);
  CHECK(counts.sent - counts.unsent == before);
}

// A peer's count and the sum have to agree, because there is one peer.
TEST_CASE("udp refused: datagrams without room are not counted as sent",
          "[udp][refused]") {
  std::string folder =
      (std::filesystem::temp_directory_path() / "refused.XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::uint64_t sent = 0;
  {
    FakeJobPlan plan;
    plan.stats_file = folder + "/s";
    plan.network.has_hosts = true;
    FakeJob job(plan);
    job.network().plan().is_full = true;
    const std::vector<std::byte> large(1'000);
    send_until_full(job, large);
    job.transport(0).flush();
    job.transport(0).flush();
    job.network().plan().is_full = false;
    REQUIRE(job.run_until_idle());
    CHECK(job.transport(0).counters().refused > 0);
    sent = job.transport(0).counters().sent;
  }
  std::ifstream stream(folder + "/s.0");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  std::filesystem::remove_all(folder);
  INFO(text);
  CHECK(count_of(text, "\"sent\": " + std::to_string(sent) + ",") == 2);
}

TEST_CASE("udp refused: a socket says why", "[udp][refused]") {
  auto socket = open_socket("127.0.0.1");
  REQUIRE(socket.ok());
  const udp::Address self = (*socket)->addresses()[0];
  const std::vector<std::byte> too_large(65'535);
  CHECK((*socket)->send(0, self, {too_large, {}}) == Status::kSystem);
  CHECK((*socket)->send_error() == EMSGSIZE);
  CHECK((*socket)->send(0, self, {std::span(too_large).first(8), {}}) ==
        Status::kOk);
}

}  // namespace acp::test
