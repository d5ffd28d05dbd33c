// Connected sockets of the udp transport: when they are opened, and which
// endpoints have them. No stream may depend on them.
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"

namespace acp::test {

namespace {

using transport::Color;
using transport::Ordering;
using transport::ProcId;

/// Checks that connected sockets carry only fragments, and each fragment once.
class Witness {
 public:
  void on_datagram(const FakeNetwork::Event& event) {
    const auto packet = udp::decode_packet(event.bytes);
    REQUIRE(packet.has_value());
    const udp::PacketHeader& header = packet->header;
    const bool is_data = header.type == udp::PacketType::kData;
    const bool is_new = is_data && seen_
                                       .insert({event.to.port, header.source,
                                                header.destination, header.seq})
                                       .second;
    if (is_connected(event.from)) {
      REQUIRE(is_new);
    }
  }

 private:
  std::set<std::tuple<std::uint16_t, ProcId, ProcId, std::uint32_t>> seen_;
};

ProcId packet_to(const FakeNetwork::Event& event) {
  return udp::decode_packet(event.bytes)->header.destination;
}

/// Process 0 sends requests, which all other processes answer. Counts datagrams
/// of connected sockets, and datagrams of listening sockets.
class Exchanges {
 public:
  /// The network's observer sees each datagram before the faults, so lost
  /// datagrams count too.
  explicit Exchanges(FakeJob& job, std::uint32_t procs = 2) : job_(job) {
    for (ProcId proc = 1; proc < procs; ++proc) {
      job.sink(proc).message = [this, proc](auto, Color color, auto) {
        send(proc, 0, color);
      };
    }
    job.sink(0).message = [this](auto, auto, auto) {
      ++answers_;
    };
    job.network().observe([this](const FakeNetwork::Event& event) {
      witness_.on_datagram(event);
      if (is_connected(event.from)) {
        ++connected_;
        ++by_peer_[packet_to(event)];
      } else {
        ++plain_;
      }
    });
  }

  void run(int rounds, ProcId with = 1, Color color = 0) {
    for (int i = 0; i < rounds; ++i) {
      const std::uint64_t before = answers_;
      send(0, with, color);
      REQUIRE(job_.run_until([&] { return answers_ > before; }));
    }
    CHECK(answers_ == (asked_ += static_cast<std::uint64_t>(rounds)));
  }

  /// Sends one message in a datagram of its own.
  Status offer(ProcId from, ProcId to, Color color = 0) {
    return offer_bytes(message_, from, to, color);
  }

  Status offer_bytes(std::span<const std::byte> message,
                     ProcId from,
                     ProcId to,
                     Color color = 0) {
    const std::array<std::span<const std::byte>, 1> parts = {message};
    return job_.endpoint(from, to, color).send(parts, Ordering::kOrdered);
  }

  /// Tells run() to expect an answer more than it asks for.
  void expect_one() { ++asked_; }

  std::uint64_t answers() const { return answers_; }

  std::uint64_t connected() const { return connected_; }

  std::uint64_t plain() const { return plain_; }

  /// Number of datagrams that connected sockets sent to this process.
  std::uint64_t to(ProcId peer) { return by_peer_[peer]; }

 private:
  void send(ProcId from, ProcId to, Color color) {
    REQUIRE(offer(from, to, color) == Status::kOk);
  }

  FakeJob& job_;
  Witness witness_;
  std::vector<std::byte> message_ = std::vector<std::byte>(56);
  std::uint64_t asked_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t connected_ = 0;
  std::uint64_t plain_ = 0;
  std::map<ProcId, std::uint64_t> by_peer_;
};

constexpr int kMany = 1000;

}  // namespace

TEST_CASE("udp connection: much is sent by a connected socket",
          "[udp][connection]") {
  FakeJobPlan plan;
  plan.colors = 2;
  FakeJob job(plan);
  Exchanges exchanges(job);
  exchanges.run(60);
  CHECK(exchanges.connected() == 0);
  exchanges.run(kMany);
  // Both processes have a connected socket, and send by no other.
  CHECK(exchanges.plain() < 150);
  CHECK(exchanges.connected() > 2 * (kMany - 100));
  for (const ProcId proc : {0, 1}) {
    const udp::Counters& counters = job.transport(proc).counters();
    CHECK(counters.unknown == 0);
    CHECK(counters.sent_again == 0);
    CHECK(counters.connected > kMany - 100);
  }
}

TEST_CASE("udp connection: in a stream, and to oneself", "[udp][connection]") {
  const ProcId to = GENERATE(0, 1);
  FakeJob job(FakeJobPlan{});
  Exchanges exchanges(job);  // its witness checks every datagram
  int arrived = 0;
  job.sink(to).message = [&](auto, auto, auto) {
    ++arrived;
  };
  for (int i = 0; i < kMany; ++i) {
    while (exchanges.offer(0, to) != Status::kOk) {
      job.run_for(std::chrono::microseconds(1));
    }
    job.transport(0).flush();
    job.run_for(std::chrono::microseconds(1));  // a tenth of the way
  }
  REQUIRE(job.run_until_idle());
  CHECK(arrived == kMany);
  CHECK(exchanges.connected() > kMany - 100);
  CHECK(job.transport(to).counters().unknown == 0);
}

TEST_CASE("udp connection: a firewall that knows one port only is no obstacle",
          "[udp][connection][firewall]") {
  FakeJobPlan plan;
  plan.network.blocks_connected = true;
  FakeJob job(plan);
  Exchanges exchanges(job);
  SECTION("requests and replies") {
    exchanges.run(20'000);
  }
  SECTION("and acks") {
    exchanges.run(70);
    int arrived = 0;
    job.sink(0).message = [&](auto, auto, auto) {
      ++arrived;
    };
    job.sink(0).failed = [](auto, auto) {
      FAIL("it was alive");
    };
    for (int i = 0; i < 20'000; ++i) {
      while (exchanges.offer(1, 0) != Status::kOk) {
        job.run_for(std::chrono::microseconds(10));
      }
      job.transport(1).flush();
    }
    REQUIRE(job.run_until([&] { return arrived == 20'000; }));
  }
  // Each loss makes the next attempt twice as rare. An attempt costs a window
  // at most.
  constexpr std::uint64_t kAttempts = 9;  // 64 + 128 + ... < 20,000
  CHECK(exchanges.connected() > 0);
  CHECK(exchanges.connected() <= kAttempts * udp::kWindowFragments);
}

TEST_CASE("udp connection: a firewall that is set up later is no obstacle",
          "[udp][connection][firewall]") {
  FakeJob job(FakeJobPlan{});
  Exchanges exchanges(job);
  exchanges.run(kMany);
  const std::uint64_t before = exchanges.connected();
  job.network().plan().blocks_connected = true;
  exchanges.run(20'000);
  CHECK(exchanges.connected() > before);
  CHECK(exchanges.connected() <= before + 20);
}

// Fragments above the path's size leave by the listening port, so their acks
// say nothing about the connected socket.
TEST_CASE("udp connection: a fragment above the path's size proves nothing",
          "[udp][connection][firewall]") {
  FakeJobPlan plan;
  plan.network.has_hosts = true;
  plan.network.mtu = udp::PathMtu::kBase;
  plan.network.blocks_connected = true;
  FakeJob job(plan);
  Exchanges exchanges(job);
  const std::vector<std::byte> large(udp::PathMtu::kBase + 100);
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t before = exchanges.answers();
    REQUIRE(exchanges.offer(0, 1) == Status::kOk);
    job.transport(0).flush();
    REQUIRE(exchanges.offer_bytes(large, 0, 1) == Status::kOk);
    job.transport(0).flush();
    REQUIRE(job.run_until([&] { return exchanges.answers() == before + 2; }));
  }
  // Each attempt ends with the large fragment behind it, and makes the next
  // one twice as rare.
  constexpr std::uint64_t kAttempts = 5;  // 64 + 128 + ... < 2,000
  CHECK(exchanges.to(1) > 0);
  CHECK(exchanges.to(1) <= kAttempts);
}

TEST_CASE("udp connection: losses do not wear it out", "[udp][connection]") {
  FakeJobPlan plan;
  plan.network.faults.loss = 0.01;
  plan.network.faults.duplicate = 0.01;
  plan.network.faults.reorder = 0.05;
  plan.network.faults.corrupt = 0.005;
  std::uint64_t connected = 0;
  std::uint64_t plain = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    plan.network.faults.seed = seed;
    FakeJob job(plan);
    Exchanges exchanges(job);
    exchanges.run(5000);
    connected += exchanges.connected();
    plain += exchanges.plain();
  }
  CHECK(connected > plain);
}

TEST_CASE("udp connection: pauses of the peer do not wear it out",
          "[udp][connection]") {
  FakeJob job(FakeJobPlan{});
  Exchanges exchanges(job);
  for (int round = 0; round < 100; ++round) {
    exchanges.run(100);
    // Process 0 sends a request that arrives late, so it probes.
    const std::uint64_t before = exchanges.answers();
    REQUIRE(exchanges.offer(0, 1) == Status::kOk);
    job.transport(0).flush();
    for (int i = 0; i < 30; ++i) {
      job.network().clock().advance(std::chrono::microseconds(100));
      job.transport(0).poll(job.sink(0));
      job.transport(0).flush();
    }
    exchanges.expect_one();
    REQUIRE(job.run_until([&] { return exchanges.answers() > before; }));
  }
  CHECK(job.transport(0).counters().sent_again >= 100);
  CHECK(exchanges.plain() < exchanges.connected() / 10);
}

TEST_CASE("udp connection: the peers that most is sent to have them",
          "[udp][connection]") {
  constexpr std::uint32_t kProcs = 2 + udp::kConnections;
  FakeJobPlan plan;
  plan.procs = kProcs;
  FakeJob job(plan);
  Exchanges exchanges(job, kProcs);
  // All endpoints are used alike, and there is one connection too few.
  for (int round = 0; round < 200; ++round) {
    for (ProcId peer = 1; peer < kProcs; ++peer) {
      exchanges.run(1, peer);
    }
  }
  std::vector<ProcId> without;
  for (ProcId peer = 1; peer < kProcs; ++peer) {
    if (exchanges.to(peer) == 0) {
      without.push_back(peer);
    }
  }
  REQUIRE(without.size() == 1);
  // This endpoint gets a connection when all other endpoints have long been
  // idle.
  exchanges.run(6000, without[0]);
  const std::uint64_t before = exchanges.to(without[0]);
  CHECK(before > 0);
  exchanges.run(100, without[0]);
  CHECK(exchanges.to(without[0]) == before + 100);
  // The endpoint that lost its connection goes on sending.
  for (ProcId peer = 1; peer < kProcs; ++peer) {
    exchanges.run(100, peer);
  }
  for (ProcId proc = 0; proc < kProcs; ++proc) {
    CHECK(job.transport(proc).counters().unknown == 0);
    CHECK(job.transport(proc).counters().sent_again == 0);
  }
}

TEST_CASE("udp connection: where there is none, or it does not work",
          "[udp][connection]") {
  FakeJobPlan plan;
  plan.network.has_connected = GENERATE(false, true);
  plan.network.refuses_connected = plan.network.has_connected;
  FakeJob job(plan);
  Exchanges exchanges(job);
  exchanges.run(kMany);
  CHECK(exchanges.connected() == 0);
  CHECK(job.transport(0).counters().connected == 0);
  CHECK(job.transport(0).counters().sent_again == 0);
  CHECK(exchanges.plain() == 2 * kMany);
}

TEST_CASE("udp connection: the dead get nothing more, and keep no socket",
          "[udp][connection]") {
  FakeJobPlan plan;
  plan.colors = 2;
  FakeJob job(plan);
  Exchanges exchanges(job);
  exchanges.run(kMany, 1, 1);  // the connection of color 1 is idle from now on
  exchanges.run(kMany);
  REQUIRE(job.network().open_connections(0) == 2);
  bool has_failed = false;
  job.sink(0).failed = [&](auto, auto) {
    has_failed = true;
  };
  job.network().disconnect(1);
  REQUIRE(exchanges.offer(0, 1) == Status::kOk);
  REQUIRE(job.run_until([&] { return has_failed; }, std::chrono::minutes(1)));
  CHECK(job.network().open_connections(0) == 0);
  const std::uint64_t before = exchanges.connected();
  job.run_for(std::chrono::seconds(20));
  CHECK(exchanges.connected() == before);
}

}  // namespace acp::test
