// Attackers on the network of a job. Their packets change neither the memory
// nor the streams of the job, and the counters tell of them.
#include <array>
#include <chrono>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "support/aes_libraries.h"
#include "support/fake_network.h"
#include "udp/packet.h"
#include "udp/packet_guard.h"

namespace acp::test {

namespace {

using transport::Ordering;
using udp::Security;

/// Process 0 sends numbered messages to process 1, which checks each.
class NumberedStream {
 public:
  explicit NumberedStream(FakeJob& job) : job_(job) {
    job.sink(1).message = [this](auto, auto, auto bytes) {
      std::uint32_t number = 0;
      REQUIRE(bytes.size() == sizeof number);
      std::memcpy(&number, bytes.data(), sizeof number);
      REQUIRE(number == arrived_);
      ++arrived_;
    };
  }

  void send() {
    const std::array parts = {std::as_bytes(std::span(&sent_, 1))};
    if (job_.endpoint(0, 1).send(parts, Ordering::kOrdered) == Status::kOk) {
      ++sent_;
    }
    job_.transport(0).flush();
  }

  bool is_complete() const { return arrived_ == sent_; }

  std::uint32_t arrived() const { return arrived_; }

 private:
  FakeJob& job_;
  std::uint32_t sent_ = 0;
  std::uint32_t arrived_ = 0;
};

/// `libraries` is 0 to 3: all pairs of two libraries for the tags of the two
/// processes.
FakeJobPlan plan_with(Security security, std::uint64_t libraries) {
  FakeJobPlan plan;
  plan.security = security;
  plan.aes = {aes_of_process(libraries, 0), aes_of_process(libraries, 1)};
  return plan;
}

/// All datagrams that were sent, with their addresses.
struct Recorder {
  struct Datagram {
    udp::Address from;
    udp::Address to;
    std::vector<std::byte> bytes;
  };

  explicit Recorder(FakeJob& job) {
    job.network().observe([this](const FakeNetwork::Event& event) {
      datagrams.push_back(
          {event.from, event.to, {event.bytes.begin(), event.bytes.end()}});
    });
  }

  std::vector<Datagram> datagrams;
};

}  // namespace

// The network damages packets too, and damaged ones have to be counted.
TEST_CASE("udp security: a job works with each protection over a bad network",
          "[udp][security]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  for (const Security security :
       {Security::kOff, Security::kAuth, Security::kEncrypt}) {
    FakeJobPlan plan = plan_with(security, libraries);
    plan.network.faults = {.loss = 0.1,
                           .duplicate = 0.1,
                           .reorder = 0.1,
                           .corrupt = 0.05,
                           .seed = 3};
    FakeJob job(plan);
    NumberedStream stream(job);
    for (int i = 0; i < 2000; ++i) {
      stream.send();
      job.run_for(std::chrono::microseconds(20));
    }
    REQUIRE(job.run_until([&] { return stream.is_complete(); }));
    CHECK(job.transport(1).counters().corrupt +
              job.transport(1).counters().malformed +
              job.transport(1).counters().strays >
          0);
  }
}

// All datagrams of a conversation are sent once more, in both directions. Each
// has to be counted as replayed, and none may be answered.
TEST_CASE("udp security: a recorded packet is not taken again",
          "[udp][security]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  for (const Security security : {Security::kAuth, Security::kEncrypt}) {
    FakeJob job(plan_with(security, libraries));
    NumberedStream stream(job);
    Recorder recorder(job);
    for (int i = 0; i < 500; ++i) {
      stream.send();
      job.step();
    }
    REQUIRE(job.run_until_idle());
    REQUIRE(stream.is_complete());
    const std::uint32_t arrived = stream.arrived();
    const auto recorded = recorder.datagrams;
    const std::uint64_t acks = job.transport(1).counters().pure_acks;
    for (const auto& datagram : recorded) {
      job.network().inject(datagram.from, datagram.to, datagram.bytes);
    }
    REQUIRE(job.run_until_idle());
    CHECK(stream.arrived() == arrived);
    CHECK(job.transport(0).counters().replayed +
              job.transport(1).counters().replayed ==
          recorded.size());
    CHECK(job.transport(1).counters().pure_acks == acks);
    stream.send();
    REQUIRE(job.run_until([&] { return stream.is_complete(); }));
  }
}

// The peer is disconnected, and an attacker goes on sending its old packets.
// The peer has to fail nevertheless.
TEST_CASE("udp security: replays do not keep a dead peer alive",
          "[udp][security][death]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  FakeJob job(plan_with(Security::kAuth, libraries));
  NumberedStream stream(job);
  Recorder recorder(job);
  for (int i = 0; i < 100; ++i) {
    stream.send();
    job.step();
  }
  REQUIRE(job.run_until_idle());
  bool has_failed = false;
  job.sink(0).failed = [&](auto, auto) {
    has_failed = true;
  };
  const auto recorded = recorder.datagrams;
  job.network().disconnect(1);
  stream.send();
  for (int i = 0; i < 200 && !has_failed; ++i) {
    for (const auto& datagram : recorded) {
      if (datagram.to == job.address(0, 0)) {
        job.network().inject(datagram.from, datagram.to, datagram.bytes);
      }
    }
    job.run_for(std::chrono::milliseconds(100));
  }
  CHECK(has_failed);
}

TEST_CASE("udp security: each address card is asked for once",
          "[udp][security]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  for (const Security security :
       {Security::kOff, Security::kAuth, Security::kEncrypt}) {
    FakeJobPlan plan = plan_with(security, libraries);
    plan.fetches_cards = true;
    plan.network.faults = {
        .loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .seed = 4};
    FakeJob job(plan);
    NumberedStream stream(job);
    for (int i = 0; i < 500; ++i) {
      stream.send();
      job.run_for(std::chrono::microseconds(20));
    }
    REQUIRE(job.run_until([&] { return stream.is_complete(); }));
    CHECK(job.card_reads(0) == 1);
    CHECK(job.card_reads(1) == 1);
  }
}

/// Each packet with another key seems to be the first one of process 0, which
/// process 1 does not know yet.
TEST_CASE("udp security: without the secret nothing is taken or asked for",
          "[udp][security]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  FakeJobPlan plan = plan_with(Security::kAuth, libraries);
  plan.fetches_cards = true;
  FakeJob job(plan);
  NumberedStream stream(job);
  static constexpr udp::PacketGuard::Secret kOtherSecret{9, 9, 9};
  udp::PacketGuard forger(Security::kAuth, &kOtherSecret, 1);
  std::mt19937 random(1);
  for (std::uint64_t txno = 1; txno <= 10'000; ++txno) {
    std::vector<std::byte> storage(udp::kHeadroomBytes + 6, std::byte{0});
    storage[udp::kHeadroomBytes] = std::byte{4};
    udp::PacketHeader header;
    header.epoch = FakeJob::kEpoch;
    header.source = 0;
    header.destination = 1;
    header.txno = txno;
    header.seq = random() % 4;
    const auto head = udp::encode_packet(
        header, {}, std::span(storage).subspan(udp::kHeadroomBytes));
    const auto cipher =
        txno % 2 == 0 ? udp::Cipher::kChecksum : forger.cipher_with(true);
    const auto sealed = forger.seal(cipher, 0, header, head, {});
    job.network().inject(job.address(0, 0), job.address(1, 0), sealed.head);
    job.run_for(std::chrono::microseconds(20));
  }
  CHECK(job.transport(1).counters().corrupt == 10'000);
  CHECK(job.transport(1).counters().delivered == 0);
  CHECK(job.card_reads(1) == 0);
  stream.send();
  REQUIRE(job.run_until([&] { return stream.is_complete(); }));
}

TEST_CASE("udp security: every changed bit of an authentic packet is noticed",
          "[udp][security]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  FakeJob job(plan_with(Security::kAuth, libraries));
  NumberedStream stream(job);
  Recorder recorder(job);
  job.network().disconnect(1);
  stream.send();
  job.step();
  job.network().reconnect(1);
  REQUIRE_FALSE(recorder.datagrams.empty());
  const Recorder::Datagram original = recorder.datagrams.front();
  for (std::size_t bit = 0; bit < original.bytes.size() * 8; ++bit) {
    auto bytes = original.bytes;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    job.network().inject(original.from, original.to, bytes);
    job.transport(1).poll(job.sink(1));
  }
  for (std::size_t size = 0; size < original.bytes.size(); ++size) {
    job.network().inject(original.from, original.to,
                         std::span(original.bytes).first(size));
  }
  // The sender's own time-out brings the message once.
  REQUIRE(job.run_until_idle());
  CHECK(stream.arrived() == 1);
}

TEST_CASE("udp security: processes with different protections are told so",
          "[udp][security]") {
  const auto libraries = GENERATE(range(0U, 4U));
  CAPTURE(libraries);
  FakeJob job(plan_with(Security::kAuth, libraries));
  VirtualClock clock;
  udp::UdpOptions options;
  options.me = 0;
  options.procs = 2;
  options.datagram_bytes = 1400;
  options.card_of = [&](transport::ProcId) {
    return job.transport(1).card();
  };
  udp::UdpTransport other(options, job.network().make_socket(0, 1), clock);
  CHECK(other.endpoint(1, 0).status() == Status::kBadOption);
}

}  // namespace acp::test
