// The contract of the udp transport over a network without faults, with forged
// packets, and with peers that fall silent.
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"

namespace acp::test {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::Ordering;

Status send_bytes(transport::Endpoint& endpoint,
                  std::span<const std::byte> bytes,
                  Ordering ordering = Ordering::kFree) {
  const std::array parts = {bytes};
  return endpoint.send(parts, ordering);
}

/// A packet like the first packet from process 0 to process 1.
std::vector<std::byte> forged_packet(udp::PacketHeader header) {
  std::vector<std::byte> storage(udp::kHeadroomBytes + 3, std::byte{0});
  storage[udp::kHeadroomBytes] = std::byte{1};  // one message of one byte
  const auto packet = udp::encode_packet(
      header, {}, std::span(storage).subspan(udp::kHeadroomBytes));
  udp::PacketGuard guard(udp::Security::kOff, {}, 1);
  (void)guard.seal(udp::Cipher::kChecksum, 0, header, packet, {});
  return {packet.begin(), packet.end()};
}

udp::PacketHeader first_header() {
  udp::PacketHeader header;
  header.epoch = FakeJob::kEpoch;
  header.source = 0;
  header.destination = 1;
  header.txno = 1;
  return header;
}

/// Counts the messages that arrive at process 1, and keeps the last.
struct Arrivals {
  explicit Arrivals(FakeJob& job) {
    job.sink(1).message = [this](auto, auto, auto bytes) {
      ++count;
      last.assign(bytes.begin(), bytes.end());
    };
  }

  int count = 0;
  std::vector<std::byte> last;
};

}  // namespace

TEST_CASE("udp transport: says what it can do", "[udp][transport]") {
  FakeJobPlan plan;
  plan.colors = 3;
  FakeJob job(plan);
  const transport::Capabilities& can = job.transport(0).capabilities();
  CHECK(job.transport(0).name() == "udp");
  CHECK(can.max_message != 0);
  CHECK(can.colors == 3);
  CHECK(can.max_message == 1400 - 56 - 32 - 2);
}

TEST_CASE("udp transport: endpoints", "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  const auto endpoint = job.transport(0).endpoint(1, 0);
  REQUIRE(endpoint.ok());
  CHECK(endpoint.value() == job.transport(0).endpoint(1, 0).value());
  CHECK(job.transport(0).endpoint(1, 1).status() == Status::kBadColor);
  CHECK(job.transport(0).endpoint(2, 0).status() == Status::kBadRank);
}

TEST_CASE("udp transport: messages of every size", "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  Arrivals arrivals(job);
  const std::size_t largest = job.transport(0).capabilities().max_message;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, largest}) {
    const std::vector<std::byte> message(size, std::byte{0x5a});
    REQUIRE(send_bytes(job.endpoint(0, 1), message) == Status::kOk);
    REQUIRE(job.run_until_idle());
    CHECK(arrivals.last == message);
  }
  CHECK(arrivals.count == 3);
  const std::vector<std::byte> too_large(largest + 1);
  CHECK(send_bytes(job.endpoint(0, 1), too_large) == Status::kTooLarge);
}

TEST_CASE("udp transport: a message to oneself", "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  int count = 0;
  job.sink(0).message = [&](auto from, auto, auto) {
    CHECK(from == 0);
    ++count;
  };
  REQUIRE(send_bytes(job.endpoint(0, 0), {}) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(count == 1);
}

TEST_CASE("udp transport: the parts of a message are joined",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  Arrivals arrivals(job);
  const std::array<std::byte, 2> one = {std::byte{1}, std::byte{2}};
  const std::array<std::byte, 1> two = {std::byte{3}};
  const std::array<std::span<const std::byte>, 3> parts = {
      one, std::span<const std::byte>(), two};
  REQUIRE(job.endpoint(0, 1).send(parts, Ordering::kFree) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(arrivals.last ==
        std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{3}});
}

TEST_CASE("udp transport: kAgain when the window is full, kOk after the acks",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  const std::vector<std::byte> message(1000);
  int sent = 0;
  while (send_bytes(job.endpoint(0, 1), message) == Status::kOk) {
    ++sent;
  }
  CHECK(sent == udp::kWindowFragments);
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(1).counters().delivered == udp::kWindowFragments);
  CHECK(send_bytes(job.endpoint(0, 1), message) == Status::kOk);
}

TEST_CASE(
    "udp transport: a peer that does not fit ends the job at the next poll",
    "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  job.take_card(1);
  std::vector<transport::ProcId> lost;
  job.sink(0).failed = [&](auto peer, auto) {
    lost.push_back(peer);
  };
  CHECK(job.transport(0).endpoint(1, 0).status() == Status::kProtocol);
  CHECK(lost.empty());
  // A sleeper has to be woken for that poll, and nobody may fall asleep.
  CHECK(job.transport(0).next_deadline() <= job.network().clock().now());
  CHECK_FALSE(job.transport(0).arm());
  job.step();
  job.step();
  CHECK(lost == std::vector<transport::ProcId>{1});
  CHECK(job.transport(0).arm());
}

TEST_CASE("udp transport: what waits for a flush is no wait for a core",
          "[udp][transport]") {
  FakeJobPlan plan;
  plan.ranks_per_core = 8;
  plan.network.has_hosts = true;
  FakeJob job(plan);
  Arrivals arrivals(job);
  job.run_for(seconds(1000));  // a clock that has run for long
  const std::vector<std::byte> message(1000);
  for (int i = 0; i < 20; ++i) {
    // Timers run while the second message has not been given to the network.
    REQUIRE(send_bytes(job.endpoint(0, 1), message) == Status::kOk);
    job.transport(0).flush();
    job.network().clock().advance(milliseconds(500));
    REQUIRE(send_bytes(job.endpoint(0, 1), message) == Status::kOk);
    REQUIRE(send_bytes(job.endpoint(0, 1), message) == Status::kOk);
    REQUIRE(job.run_until_idle());
  }
  job.run_for(seconds(2));
  CHECK(arrivals.count == 60);
  CHECK(job.traffic(0)[protocol::TrafficCount::kLongestRtt] <
        std::uint64_t{1'000'000'000});
}

TEST_CASE("udp transport: messages wait for batching until flush",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  for (int i = 0; i < 10; ++i) {
    REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  }
  CHECK(job.transport(0).counters().sent == 0);
  CHECK(job.transport(0).next_deadline() <= job.network().clock().now());
  job.transport(0).flush();
  CHECK(job.transport(0).counters().sent == 1);
}

TEST_CASE("udp transport: blocks in flight fill a datagram",
          "[udp][transport]") {
  FakeJobPlan plan;
  plan.datagram_bytes = 60'000;
  FakeJob job(plan);
  const std::vector<std::byte> block(4096);
  for (int i = 0; i < 1 + 64; ++i) {
    REQUIRE(send_bytes(job.endpoint(0, 1), block) == Status::kOk);
    job.transport(0).flush_idle();
  }
  job.transport(0).flush();
  // The first message travels alone, since nothing is in flight; the datagrams
  // after it carry 32 KiB each.
  CHECK(job.transport(0).counters().sent <= 1 + 64 / 8);
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(1).counters().delivered == 1 + 64);
}

// The first message leaves at once, because no answer can come otherwise. The
// messages behind it wait, and each section ends the wait in another way.
TEST_CASE("udp transport: flush_idle lets messages wait for an answer",
          "[udp][transport]") {
  FakeJobPlan plan;
  plan.procs = 3;
  FakeJob job(plan);
  const udp::Counters& counters = job.transport(0).counters();
  const auto send_one = [&](std::size_t bytes) {
    REQUIRE(send_bytes(job.endpoint(0, 1), std::vector<std::byte>(bytes)) ==
            Status::kOk);
    job.transport(0).flush_idle();
  };
  send_one(8);
  CHECK(counters.sent == 1);
  for (int i = 0; i < 10; ++i) {
    send_one(8);
  }
  CHECK(counters.sent == 1);
  CHECK(job.transport(0).next_deadline() <= job.network().clock().now());
  SECTION("until flush") {
    job.transport(0).flush();
    CHECK(counters.sent == 2);
  }
  SECTION("until there is no room for more") {
    for (int i = 0; i < 100 && counters.sent == 1; ++i) {
      send_one(1000);
    }
    CHECK(counters.sent == 2);
  }
  SECTION("and no other peer's wait with them") {
    REQUIRE(send_bytes(job.endpoint(0, 2), {}) == Status::kOk);
    job.transport(0).flush_idle();
    CHECK(counters.sent == 2);
  }
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(0).next_deadline() == TimePoint::max());
}

// No ack comes while the messages are sent, since the clock stands still.
TEST_CASE("udp transport: each batch without an ack is twice the one before",
          "[udp][transport]") {
  FakeJobPlan plan;
  plan.datagram_bytes = 60'000;
  FakeJob job(plan);
  const auto send_more = [&](int messages) {
    for (int i = 0; i < messages; ++i) {
      REQUIRE(send_bytes(job.endpoint(0, 1), std::vector<std::byte>(8)) ==
              Status::kOk);
      job.transport(0).flush_idle();
    }
    return job.transport(0).counters().sent;
  };
  CHECK(send_more(1) == 1);
  CHECK(send_more(31) == 1);
  CHECK(send_more(1) == 2);
  CHECK(send_more(63) == 2);
  CHECK(send_more(1) == 3);
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(1).counters().delivered == 97);
}

TEST_CASE("udp transport: a request and its reply cost one datagram each",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  const std::vector<std::byte> message(56);
  job.sink(1).message = [&](auto from, auto color, auto) {
    REQUIRE(send_bytes(job.endpoint(1, from, color), message) == Status::kOk);
  };
  int replies = 0;
  job.sink(0).message = [&](auto, auto, auto) {
    ++replies;
  };
  constexpr int kRounds = 1000;
  for (int i = 1; i <= kRounds; ++i) {
    REQUIRE(send_bytes(job.endpoint(0, 1), message) == Status::kOk);
    job.transport(0).flush();
    REQUIRE(job.run_until([&] { return replies == i; }));
  }
  CHECK(job.transport(0).counters().sent == kRounds);
  CHECK(job.transport(1).counters().sent == kRounds);
  // The last reply is acknowledged when nothing follows it.
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(0).counters().pure_acks == 1);
  CHECK(job.transport(1).counters().pure_acks == 0);
}

TEST_CASE("udp transport: nothing is left to do after the last ack",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(job.transport(0).next_deadline() == TimePoint::max());
  CHECK(job.transport(1).next_deadline() == TimePoint::max());
  CHECK(job.transport(0).arm());
}

TEST_CASE("udp transport: packets of another job or place are dropped",
          "[udp][transport]") {
  FakeJob job(FakeJobPlan{});
  Arrivals arrivals(job);
  const udp::Address from = job.address(0, 0);
  const udp::Address to = job.address(1, 0);
  udp::PacketHeader header = first_header();
  const udp::Counters& counters = job.transport(1).counters();

  SECTION("a stale epoch") {
    header.epoch ^= 1;
    job.network().inject(from, to, forged_packet(header));
    job.run_for(milliseconds(1));
    CHECK(counters.strays == 1);
  }
  SECTION("another destination") {
    header.destination = 0;
    job.network().inject(from, to, forged_packet(header));
    job.run_for(milliseconds(1));
    CHECK(counters.strays == 1);
  }
  SECTION("a source that does not exist") {
    header.source = 2;
    job.network().inject(from, to, forged_packet(header));
    job.run_for(milliseconds(1));
    CHECK(counters.strays == 1);
  }
  SECTION("a source that lives elsewhere") {
    job.network().inject(job.address(1, 0), to, forged_packet(header));
    job.run_for(milliseconds(1));
    CHECK(counters.unknown == 1);
  }
  SECTION("a port that is not the source's") {
    udp::Address other = from;
    other.port = 4711;
    job.network().inject(other, to, forged_packet(header));
    job.run_for(milliseconds(1));
    CHECK(counters.unknown == 1);
  }
  SECTION("damaged") {
    auto packet = forged_packet(header);
    packet.back() ^= std::byte{1};
    job.network().inject(from, to, packet);
    job.run_for(milliseconds(1));
    CHECK(counters.corrupt == 1);
  }
  SECTION("no packet at all") {
    job.network().inject(from, to, {});
    job.network().inject(from, to, std::vector<std::byte>(60'000));
    job.run_for(milliseconds(1));
    CHECK(counters.malformed == 2);
  }
  CHECK(arrivals.count == 0);
  CHECK(counters.sent == 0);

  // The correct packet makes the endpoint and is delivered.
  job.network().inject(from, to, forged_packet(first_header()));
  job.run_for(milliseconds(1));
  CHECK(arrivals.count == 1);
}

// One peer is disconnected and another one lives. The report has to come once,
// for all colors, after ten seconds on the virtual clock.
TEST_CASE("udp transport: a silent peer is dead after ten seconds",
          "[udp][transport][death]") {
  FakeJobPlan plan;
  plan.procs = 3;
  plan.colors = 2;
  FakeJob job(plan);
  std::vector<transport::ProcId> failed;
  std::string why;
  job.sink(0).failed = [&](auto peer, auto text) {
    failed.push_back(peer);
    why = text;
  };
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  REQUIRE(job.run_until_idle());

  job.network().disconnect(1);
  const TimePoint start = job.network().clock().now();
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  REQUIRE(send_bytes(job.endpoint(0, 2), {}) == Status::kOk);
  REQUIRE(job.run_until([&] { return !failed.empty(); }, seconds(60)));
  CHECK(job.network().clock().now() - start == seconds(10));
  CHECK(failed == std::vector<transport::ProcId>{1});
  CHECK(why.find("it does not answer: 10.0 s") != std::string::npos);
  CHECK(why.find("127.0.0.1:1000") != std::string::npos);

  CHECK(send_bytes(job.endpoint(0, 1), {}) == Status::kPeerDead);
  CHECK(send_bytes(job.endpoint(0, 1, 1), {}) == Status::kPeerDead);
  CHECK(send_bytes(job.endpoint(0, 2), {}) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(failed.size() == 1);
}

TEST_CASE("udp transport: the dead stay dead", "[udp][transport][death]") {
  FakeJob job(FakeJobPlan{});
  bool has_failed = false;
  job.sink(0).failed = [&](auto, auto) {
    has_failed = true;
  };
  int messages = 0;
  job.sink(0).message = [&](auto, auto, auto) {
    ++messages;
  };
  job.network().disconnect(1);
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  REQUIRE(job.run_until([&] { return has_failed; }, seconds(60)));
  job.network().reconnect(1);
  REQUIRE(send_bytes(job.endpoint(1, 0), {}) == Status::kOk);
  job.run_for(milliseconds(500));
  CHECK(messages == 0);
}

// Color 0 finds the peer silent while color 1 searches for its path's size.
TEST_CASE("udp transport: nothing is sent to the dead, not even a size probe",
          "[udp][transport][death]") {
  FakeJobPlan plan;
  plan.colors = 2;
  plan.network.has_hosts = true;
  plan.datagram_bytes = 8'972;  // many sizes to try
  FakeJob job(plan);
  bool has_failed = false;
  job.sink(0).failed = [&](auto, auto) {
    has_failed = true;
  };
  int probes = 0;
  int after_failure = 0;
  job.network().observe([&](const FakeNetwork::Event& event) {
    const auto packet = udp::decode_packet(event.bytes);
    REQUIRE(packet.has_value());
    probes += packet->header.type == udp::PacketType::kSizeProbe ? 1 : 0;
    after_failure += has_failed ? 1 : 0;
  });
  job.network().disconnect(1);
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  job.run_for(milliseconds(9'900));
  REQUIRE_FALSE(has_failed);
  const std::vector<std::byte> large(1'000);
  REQUIRE(send_bytes(job.endpoint(0, 1, 1), large) == Status::kOk);
  REQUIRE(job.run_until([&] { return has_failed; }, seconds(5)));
  CHECK(probes != 0);
  CHECK(job.run_until_idle(seconds(60)));
  CHECK(after_failure == 0);
}

TEST_CASE("udp transport: a peer that comes back in time is not dead",
          "[udp][transport][death]") {
  FakeJob job(FakeJobPlan{});
  Arrivals arrivals(job);
  job.sink(0).failed = [](auto, auto) {
    FAIL("it was alive");
  };
  job.network().disconnect(1);
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  job.run_for(seconds(9));
  job.network().reconnect(1);
  REQUIRE(job.run_until_idle());
  CHECK(arrivals.count == 1);
}

TEST_CASE("udp transport: a silent peer is asked at least once a second",
          "[udp][transport][death]") {
  FakeJob job(FakeJobPlan{});
  job.network().disconnect(1);
  std::vector<TimePoint> asked;
  job.network().observe(
      [&](const FakeNetwork::Event& event) { asked.push_back(event.time); });
  REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
  job.run_for(seconds(9));
  REQUIRE(asked.size() > 9);
  for (std::size_t i = 1; i < asked.size(); ++i) {
    CHECK(asked[i] - asked[i - 1] <= seconds(1));
  }
}

TEST_CASE("udp transport: every transmission has its own number",
          "[udp][transport]") {
  FakeJobPlan plan;
  plan.colors = 2;
  plan.network.faults.loss = 0.2;
  FakeJob job(plan);
  std::array<std::uint64_t, 2> last{};  // by color
  job.network().observe([&](const FakeNetwork::Event& event) {
    const auto packet = udp::decode_packet(event.bytes);
    REQUIRE(packet.has_value());
    if (packet->header.source == 0) {
      std::uint64_t& before = last[event.to.port - kFirstPort];
      CHECK(packet->header.txno > before);
      before = packet->header.txno;
    }
  });
  for (int i = 0; i < 100; ++i) {
    REQUIRE(send_bytes(job.endpoint(0, 1), {}) == Status::kOk);
    REQUIRE(send_bytes(job.endpoint(0, 1, 1), {}) == Status::kOk);
    job.transport(0).flush();
  }
  REQUIRE(job.run_until_idle());
  CHECK(last[0] > 100);
  CHECK(last[1] > 100);
}

// The path carries an odd size, so the probe is known by its length. The reply
// must name the number of the probe.
TEST_CASE("udp transport: the reply to a size probe names the probe",
          "[udp][transport][mtu]") {
  constexpr std::size_t kOddBytes = 1'451;
  FakeJobPlan plan;
  plan.network.has_hosts = true;
  plan.network.mtu = kOddBytes;
  plan.datagram_bytes = kOddBytes;
  FakeJob job(plan);
  Arrivals arrivals(job);
  std::vector<std::uint64_t> probes;
  std::vector<std::uint64_t> replies;
  job.network().observe([&](const FakeNetwork::Event& event) {
    const auto packet = udp::decode_packet(event.bytes);
    REQUIRE(packet.has_value());
    if (packet->header.type == udp::PacketType::kSizeProbe) {
      CHECK(event.bytes.size() == kOddBytes);
      probes.push_back(packet->header.txno);
    } else if (packet->header.type == udp::PacketType::kProbeReply) {
      replies.push_back(packet->header.echo);
    }
  });
  const std::vector<std::byte> large(1'000);
  REQUIRE(send_bytes(job.endpoint(0, 1), large) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(probes.size() == 1);
  CHECK(replies == probes);
  CHECK(arrivals.count == 1);
  CHECK(job.endpoint(0, 1).good_message() > udp::PathMtu::kBase);
}

TEST_CASE("udp transport: idle peers hold no buffers", "[udp][transport]") {
  CHECK(sizeof(udp::Endpoint) <= 512);
}

TEST_CASE("udp transport: a lost ack of a held fragment is asked for again",
          "[udp][transport][death]") {
  FakeJob job(FakeJobPlan{});
  int arrivals = 0;
  bool has_failed = false;
  job.sink(0).failed = [&](auto, auto) {
    has_failed = true;
  };
  // Lost: the first transmission of fragment 0, and the first ack of both.
  int data_packets = 0;
  int final_acks = 0;
  job.network().observe([&](const FakeNetwork::Event& event) {
    const auto packet = udp::decode_packet(event.bytes);
    REQUIRE(packet);
    const bool is_data = packet->header.type == udp::PacketType::kData;
    data_packets += is_data && packet->header.source == 0 ? 1 : 0;
    const bool is_final = packet->header.source == 1 && packet->header.ack == 2;
    final_acks += is_final ? 1 : 0;
    const bool is_lost =
        (is_data && data_packets == 1) || (is_final && final_acks == 1);
    is_lost ? job.network().disconnect(1) : job.network().reconnect(1);
  });
  // Process 1 sends while it hands over the held fragment 1.
  job.sink(1).message = [&](auto, auto, auto) {
    if (++arrivals == 2) {
      REQUIRE(send_bytes(job.endpoint(1, 0), {}) == Status::kOk);
      job.transport(1).flush();
    }
  };
  for (int i = 0; i < 2; ++i) {
    REQUIRE(send_bytes(job.endpoint(0, 1), {}, Ordering::kOrdered) ==
            Status::kOk);
    job.transport(0).flush();
  }
  REQUIRE(job.run_until_idle());
  CHECK(arrivals == 2);
  CHECK(final_acks >= 2);
  CHECK_FALSE(has_failed);
}

}  // namespace acp::test
