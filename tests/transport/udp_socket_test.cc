// The udp transport over real sockets on the loopback interface.
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "support/fake_network.h"
#include "support/file_size_limit.h"
#include "support/local_socket.h"
#include "support/stderr_capture.h"
#include "udp/address_card.h"
#include "udp/udp_transport.h"

namespace acp::test {

namespace {

using transport::Ordering;
using udp::KernelSocket;
using udp::kFirstGrant;
using udp::SocketOptions;
using udp::UdpOptions;
using udp::UdpTransport;

constexpr auto kPatience = std::chrono::seconds(60);

/// The transports of several processes, all in this process, over real sockets.
class SocketJob {
 public:
  SocketJob(std::uint32_t procs,
            const SocketOptions& sockets,
            std::size_t datagram_bytes = 0,
            std::uint64_t first_grant = kFirstGrant)
      : sinks(procs) {
    for (transport::ProcId proc = 0; proc < procs; ++proc) {
      UdpOptions options;
      options.me = proc;
      options.procs = procs;
      options.epoch = 77;
      options.first_grant = first_grant;
      options.datagram_bytes = datagram_bytes;
      options.card_of = [this](transport::ProcId peer) {
        return transports[peer]->card();
      };
      auto opened = UdpTransport::open(options, sockets, clock_);
      REQUIRE(opened.ok());
      transports.push_back(std::move(opened).value());
    }
  }

  transport::Endpoint& endpoint(transport::ProcId from,
                                transport::ProcId to,
                                transport::Color color = 0) {
    auto endpoint = transports[from]->endpoint(to, color);
    REQUIRE(endpoint.ok());
    return *endpoint.value();
  }

  /// Polls all transports until `is_done`; false after kPatience.
  template <typename Predicate>
  bool run_until(Predicate is_done) {
    const TimePoint end = clock_.now() + kPatience;
    while (!is_done()) {
      for (std::size_t i = 0; i < transports.size(); ++i) {
        transports[i]->poll(sinks[i]);
        transports[i]->flush();
      }
      if (clock_.now() > end) {
        return false;
      }
    }
    return true;
  }

 private:
  SteadyClock clock_;

 public:
  std::vector<std::unique_ptr<UdpTransport>> transports;
  std::vector<FunctionSink> sinks;
};

Status send_number(transport::Endpoint& endpoint,
                   std::uint64_t number,
                   std::span<const std::byte> body = {},
                   Ordering ordering = Ordering::kFree) {
  const std::array parts = {std::as_bytes(std::span(&number, 1)), body};
  return endpoint.send(parts, ordering);
}

std::uint64_t number_of(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  REQUIRE(bytes.size() >= sizeof number);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// Sends `count` numbers in order from process 0 to process 1, and checks that
/// they arrive in this order.
void run_stream(SocketJob& job,
                transport::Color color,
                std::uint64_t count,
                std::size_t body_bytes) {
  const std::vector<std::byte> body(body_bytes, std::byte{0x77});
  std::uint64_t arrived = 0;
  job.sinks[1].message = [&](auto from, auto at, auto bytes) {
    REQUIRE(from == 0);
    REQUIRE(at == color);
    REQUIRE(bytes.size() == sizeof(std::uint64_t) + body.size());
    REQUIRE(number_of(bytes) == arrived);
    REQUIRE(std::equal(body.begin(), body.end(), bytes.begin() + 8));
    ++arrived;
  };
  transport::Endpoint& endpoint = job.endpoint(0, 1, color);
  std::uint64_t sent = 0;
  const bool is_done = job.run_until([&] {
    while (sent < count && send_number(endpoint, sent, body,
                                       Ordering::kOrdered) == Status::kOk) {
      ++sent;
    }
    return arrived == count;
  });
  REQUIRE(is_done);
}

/// Silences warnings about the machine's limits, which do not concern these
/// tests.
struct QuietLog {
  QuietLog() { set_log_level(LogLevel::kError); }
} quiet_log;

}  // namespace

TEST_CASE("udp socket: a stream over IPv4 and IPv6", "[udp][socket]") {
  const std::string addresses = GENERATE("", "127.0.0.1", "::1");
  SocketJob job(2, {addresses, ""});
  run_stream(job, 0, 20'000, 100);
  run_stream(job, 0, 2'000, 32'768);
}

TEST_CASE("udp socket: datagrams of every permitted size", "[udp][socket]") {
  const auto bytes = GENERATE(576U, 1400U, 9000U, 65'000U);
  SocketJob job(2, {}, bytes);
  const std::size_t largest = job.transports[0]->capabilities().max_message;
  CHECK(largest == bytes - udp::kHeadroomBytes - 2);
  run_stream(job, 0, 1'000, largest - 8);
  run_stream(job, 0, 1'000, 0);
}

TEST_CASE("udp socket: colors of both families side by side",
          "[udp][socket][color]") {
  SocketJob job(2, {"127.0.0.1,127.0.0.2,::1,127.0.0.1", ""});
  CHECK(job.transports[0]->capabilities().colors == 4);
  CHECK(job.transports[0]->descriptors().size() == 4);
  for (transport::Color color = 0; color < 4; ++color) {
    run_stream(job, color, 1'000, 50);
  }
  for (const auto& transport : job.transports) {
    CHECK(transport->counters().unknown == 0);
  }
}

// Each color has a loopback address of its own. A datagram may be found in its
// color alone, and comes from the address of that color.
TEST_CASE("udp socket: a color's packets really use its addresses",
          "[udp][socket][color]") {
  auto one = open_socket("127.0.0.1,127.0.0.2");
  auto two = open_socket("127.0.0.1,127.0.0.2");
  REQUIRE(one.ok());
  REQUIRE(two.ok());
  const std::array<std::byte, 3> datagram = {};
  std::array<std::byte, 16> buffer{};
  for (transport::Color color = 0; color < 2; ++color) {
    const udp::Address from = (*one)->addresses()[color];
    const udp::Address to = (*two)->addresses()[color];
    CHECK(from.bytes[3] == color + 1);
    REQUIRE((*one)->send(color, to, {datagram, {}}) == Status::kOk);

    std::array<pollfd, 1> ready = {
        pollfd{(*two)->descriptors()[color], POLLIN, 0}};
    REQUIRE(::poll(ready.data(), ready.size(), 10'000) == 1);
    CHECK_FALSE((*two)->receive(1 - color, buffer).has_value());
    const auto arrival = (*two)->receive(color, buffer);
    REQUIRE(arrival.has_value());
    CHECK(arrival->from == from);
    CHECK(arrival->bytes == datagram.size());
    CHECK_FALSE((*two)->receive(color, buffer).has_value());
  }
}

TEST_CASE("udp socket: a truncated datagram shows its real size",
          "[udp][socket]") {
  auto socket = open_socket("127.0.0.1");
  REQUIRE(socket.ok());
  const std::array<std::byte, 100> datagram = {};
  std::array<std::byte, 10> buffer{};
  REQUIRE((*socket)->send(0, (*socket)->addresses()[0], {datagram, {}}) ==
          Status::kOk);
  std::array<pollfd, 1> ready = {
      pollfd{(*socket)->descriptors()[0], POLLIN, 0}};
  REQUIRE(::poll(ready.data(), ready.size(), 10'000) == 1);
  const auto arrival = (*socket)->receive(0, buffer);
  REQUIRE(arrival.has_value());
  CHECK(arrival->bytes == 100);
}

TEST_CASE("udp socket: a datagram in two pieces arrives in one",
          "[udp][socket]") {
  auto socket = open_socket("127.0.0.1");
  REQUIRE(socket.ok());
  const std::array head = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::byte> tail(59'000, std::byte{4});
  REQUIRE((*socket)->send(0, (*socket)->addresses()[0], {head, tail}) ==
          Status::kOk);
  std::array<pollfd, 1> ready = {
      pollfd{(*socket)->descriptors()[0], POLLIN, 0}};
  REQUIRE(::poll(ready.data(), ready.size(), 10'000) == 1);
  std::vector<std::byte> buffer(60'000);
  const auto arrival = (*socket)->receive(0, buffer);
  REQUIRE(arrival.has_value());
  REQUIRE(arrival->bytes == head.size() + tail.size());
  CHECK(std::equal(head.begin(), head.end(), buffer.begin()));
  CHECK(std::equal(tail.begin(), tail.end(), buffer.begin() + 3));
}

TEST_CASE("udp socket: a connected socket has another port, and only sends",
          "[udp][socket]") {
  const std::array head = {std::byte{1}, std::byte{2}};
  const std::vector<std::byte> tail(50'000, std::byte{3});
  std::vector<std::byte> buffer(60'000);
  for (const char* const text : {"127.0.0.1", "::1"}) {
    auto one = open_socket(text);
    auto two = open_socket(text);
    REQUIRE(one.ok());
    REQUIRE(two.ok());
    const udp::Address own = (*one)->addresses()[0];
    const udp::Address peer = (*two)->addresses()[0];
    constexpr std::size_t kLast = udp::kConnections - 1;
    REQUIRE((*one)->connect(kLast, 0, peer));
    REQUIRE((*one)->connect(0, 0, own));  // a second socket with an equal port
    const std::uint16_t port = (*one)->send_ports()[0];
    CHECK(port != own.port);

    // Large datagrams would fill the socket's buffers, did they not leave them.
    for (int i = 0; i < 1000; ++i) {
      REQUIRE((*one)->send_connected(kLast, {head, tail}) == Status::kOk);
      std::array<pollfd, 1> ready = {
          pollfd{(*two)->descriptors()[0], POLLIN, 0}};
      REQUIRE(::poll(ready.data(), ready.size(), 10'000) == 1);
      const auto arrival = (*two)->receive(0, buffer);
      REQUIRE(arrival.has_value());
      CHECK(arrival->bytes == head.size() + tail.size());
      CHECK(arrival->from.bytes == own.bytes);
      CHECK(arrival->from.port == port);
    }
    REQUIRE((*one)->send_connected(kLast, {head, {}}) == Status::kOk);

    // The peer has closed its socket. The kernel reports it with a later send.
    two->reset();
    Status status = Status::kOk;
    const TimePoint end = SteadyClock().now() + kPatience;
    while (status == Status::kOk && SteadyClock().now() < end) {
      status = (*one)->send_connected(kLast, {head, {}});
    }
    CHECK(status == Status::kSystem);
    CHECK((*one)->send(0, peer, {head, {}}) == Status::kOk);
    (*one)->disconnect(kLast);
    CHECK((*one)->connect(kLast, 0, own));
  }
}

TEST_CASE("udp socket: no two sockets send from one port", "[udp][socket]") {
  std::vector<std::unique_ptr<KernelSocket>> sockets;
  std::set<std::uint16_t> ports;
  constexpr std::size_t kSockets = 400;
  for (std::size_t i = 0; i < kSockets; ++i) {
    auto socket = open_socket("127.0.0.1");
    REQUIRE(socket.ok());
    ports.insert((*socket)->send_ports()[0]);
    sockets.push_back(std::move(socket).value());
  }
  CHECK(ports.size() == kSockets);
}

TEST_CASE("udp socket: without descriptors there is no connected one",
          "[udp][socket]") {
  auto socket = open_socket("127.0.0.1");
  REQUIRE(socket.ok());
  const udp::Address to = (*socket)->addresses()[0];
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK_FALSE((*socket)->connect(0, 0, to));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK((*socket)->connect(0, 0, to));
}

TEST_CASE("udp socket: descriptors wake a sleeper", "[udp][socket]") {
  SocketJob job(2, {});
  REQUIRE(job.transports[1]->arm());
  std::array<pollfd, 1> ready = {
      pollfd{job.transports[1]->descriptors()[0], POLLIN, 0}};
  CHECK(::poll(ready.data(), ready.size(), 0) == 0);
  REQUIRE(send_number(job.endpoint(0, 1), 5) == Status::kOk);
  job.transports[0]->flush();
  REQUIRE(::poll(ready.data(), ready.size(), 10'000) == 1);
  job.transports[1]->disarm();
  std::uint64_t got = 0;
  job.sinks[1].message = [&](auto, auto, auto bytes) {
    got = number_of(bytes);
  };
  CHECK(job.transports[1]->poll(job.sinks[1]) == 1);
  CHECK(got == 5);
}

TEST_CASE("udp socket: faults from the setting are survived",
          "[udp][socket][lossy]") {
  SocketJob job(2, {"127.0.0.1,::1",
                    "loss=0.1,duplicate=0.05,reorder=0.1,corrupt=0.02,seed=3"});
  for (transport::Color color = 0; color < 2; ++color) {
    run_stream(job, color, 5'000, 1'000);
  }
  CHECK(job.transports[0]->counters().sent_again > 0);
  CHECK(job.transports[1]->counters().duplicates > 0);
  CHECK(job.transports[1]->counters().corrupt > 0);
}

TEST_CASE("udp socket: a receive buffer that overflows is repaired",
          "[udp][socket][lossy]") {
  // Twelve windows of large datagrams are more than the largest buffer that
  // is asked for; all are sent before the receiver looks once.
  constexpr std::uint32_t kSenders = 12;
  SocketJob job(kSenders + 1, {}, 0, std::uint64_t{1} << 20);
  const std::vector<std::byte> body(50'000, std::byte{1});
  std::vector<std::uint64_t> arrived(kSenders);
  job.sinks[kSenders].message = [&](auto from, auto, auto bytes) {
    REQUIRE(number_of(bytes) == arrived[from]);
    ++arrived[from];
  };
  std::vector<std::uint64_t> sent(kSenders);
  for (std::uint32_t proc = 0; proc < kSenders; ++proc) {
    while (send_number(job.endpoint(proc, kSenders), sent[proc], body,
                       Ordering::kOrdered) == Status::kOk) {
      ++sent[proc];
    }
    job.transports[proc]->flush();
  }
  REQUIRE(job.run_until([&] { return arrived == sent; }));
  std::uint64_t sent_again = 0;
  for (const auto& transport : job.transports) {
    sent_again += transport->counters().sent_again;
  }
  CHECK(sent_again > 0);
}

// A wrong setting ends acp_init with a status that tells it from a refusal by
// the system.
TEST_CASE("udp socket: bad settings are refused", "[udp][socket]") {
  set_log_level(LogLevel::kError);
  SteadyClock clock;
  UdpOptions options;
  const auto status_of = [&](const SocketOptions& sockets) {
    return UdpTransport::open(options, sockets, clock).status();
  };
  for (const std::string addresses :
       {"0.0.0.0", "198.51.100.2", "::", "localhost", "127.0.0.1,", ",",
        "127.0.0.1 ::1"}) {
    INFO(addresses);
    CHECK(status_of({addresses, ""}) == Status::kBadOption);
  }
  std::string many = "127.0.0.1";
  for (int i = 0; i < 16; ++i) {
    many += ",127.0.0.1";
  }
  CHECK(status_of({many, ""}) == Status::kBadOption);
  CHECK(status_of({"", "loss=2"}) == Status::kBadOption);
  CHECK(status_of({.route_to = "elsewhere"}) == Status::kSystem);
  CHECK(status_of({.why_no_route = "h2: unknown"}) == Status::kSystem);
  options.datagram_bytes = 100;
  CHECK(status_of({}) == Status::kBadOption);
  options.datagram_bytes = 65'001;
  CHECK(status_of({}) == Status::kBadOption);
}

/// A killed process leaves the file as a reader found it at the moment of
/// death.
TEST_CASE("udp socket: a reader of the statistics sees whole files",
          "[udp][socket]") {
  std::string folder =
      (std::filesystem::temp_directory_path() / "stats.XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::atomic<bool> is_enough{false};
  std::thread writer([&] {
    SteadyClock clock;
    UdpOptions options;
    options.stats_file = folder + "/s";
    while (!is_enough &&
           UdpTransport::open(options, {"127.0.0.1", ""}, clock).ok()) {
    }
  });
  int whole = 0;
  int partial = 0;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (whole < 10'000 && std::chrono::steady_clock::now() < limit) {
    if (std::ifstream stream(folder + "/s.0"); stream) {
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      (text.starts_with('{') && text.ends_with("]}\n") ? whole : partial) += 1;
    }
  }
  is_enough = true;
  writer.join();
  std::filesystem::remove_all(folder);
  CHECK(whole == 10'000);
  CHECK(partial == 0);
}

// The signal of too large a file would end the program without a word.
TEST_CASE("udp socket: statistics beyond the limit of file sizes are a warning",
          "[udp][socket]") {
  std::string folder =
      (std::filesystem::temp_directory_path() / "stats.XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  SteadyClock clock;
  UdpOptions options;
  options.stats_file = folder + "/s";
  auto transport = UdpTransport::open(options, {"127.0.0.1", ""}, clock);
  REQUIRE(transport.ok());
  set_log_level(LogLevel::kWarning);
  spmd::StderrCapture capture;  // into a file, which has room for the line
  {
    const spmd::FileSizeLimit limit(300);
    transport->reset();
  }
  const std::string line = capture.stop();
  set_log_level(LogLevel::kError);
  const bool is_empty = std::filesystem::is_empty(folder);
  std::filesystem::remove_all(folder);
  INFO(line);
  CHECK(line.find("ACP_STATS: " + folder + "/s.0: File too large") !=
        std::string::npos);
  CHECK(is_empty);
}

// The address card of rank 0 is altered or kept, and rank 1 opens with other
// settings. Most errors have to name both.
TEST_CASE("udp socket: ranks with different settings are told so",
          "[udp][socket]") {
  SteadyClock clock;
  UdpOptions options;
  options.procs = 2;
  auto one = UdpTransport::open(options, {"127.0.0.1,::1", ""}, clock);
  REQUIRE(one.ok());
  std::vector<std::byte> card((*one)->card().begin(), (*one)->card().end());
  options.me = 1;
  options.card_of = [&](transport::ProcId) {
    return std::span<const std::byte>(card);
  };
  const auto error_with = [&](const std::string& interfaces) {
    auto two = UdpTransport::open(options, {interfaces, ""}, clock);
    REQUIRE(two.ok());
    spmd::StderrCapture capture;
    CHECK((*two)->endpoint(0, 0).status() == Status::kBadOption);
    return capture.stop();
  };
  SECTION("another number of colors, in each color") {
    CHECK_THAT(error_with("127.0.0.1,::1,::1"),
               Catch::Contains("rank 0 has 2 colors, this one has 3"));
    CHECK_THAT(error_with("127.0.0.1"),
               Catch::Contains("rank 0 has 2 colors, this one has 1"));
  }
  SECTION("another IP version in a color that is not in use") {
    CHECK_THAT(error_with("127.0.0.1,127.0.0.2"),
               Catch::Contains("is at [::1]:") &&
                   Catch::Contains("in color 1, this one at 127.0.0.2:"));
  }
  SECTION("an address of the network beside loopback") {
    udp::AddressCard outside = udp::decode_card(card).value();
    outside.addresses[0].bytes[0] = 10;
    outside.security = udp::Security::kAuth;
    std::array<std::byte, udp::kMaxCardBytes> bytes{};
    card.resize(udp::encode_card(outside, bytes));
    std::copy_n(bytes.begin(), card.size(), card.begin());
    CHECK_THAT(error_with("127.0.0.1,::1"),
               Catch::Contains("is at 10.0.0.1:") &&
                   Catch::Contains("in color 0, this one at 127.0.0.1:") &&
                   Catch::Contains("ACP_UDP_INTERFACES"));
  }
  SECTION("other datagrams: both use the smaller ones") {
    options.datagram_bytes = 1400;
    auto two = UdpTransport::open(options, {"127.0.0.1,::1", ""}, clock);
    REQUIRE(two.ok());
    const auto endpoint = (*two)->endpoint(0, 0);
    REQUIRE(endpoint.ok());
    CHECK(endpoint.value()->good_message() == 1400 - 90);
  }
  SECTION("no card") {
    card.clear();
    auto two = UdpTransport::open(options, {"127.0.0.1", ""}, clock);
    REQUIRE(two.ok());
    CHECK((*two)->endpoint(0, 0).status() == Status::kProtocol);
  }
}

}  // namespace acp::test
