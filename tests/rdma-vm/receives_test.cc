// Tests of the receive buffers that connections promise: few for connections
// that are not used, more for streams, and few again afterwards.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

std::uint32_t promised(const End& end) {
  return end.transport->receives(0).promised();
}

/// One of several transports of this process that meet.
class Guest final : public transport::MessageSink {
 public:
  Guest(transport::ProcId me, const std::vector<std::unique_ptr<Guest>>& all) {
    VerbsOptions options;
    options.me = me;
    options.procs = kGuests;
    options.card_of = [&all](transport::ProcId other) {
      return all[other]->transport->card();
    };
    const char* devices = std::getenv("ACP_VERBS_DEVICES");
    options.devices = devices == nullptr ? "" : devices;
    auto opened = VerbsTransport::open(options);
    REQUIRE(opened.ok());
    transport = std::move(*opened);
  }

  static constexpr transport::ProcId kGuests = 8;

  bool send_to(transport::ProcId peer) {
    const std::array<std::byte, 3> message{};
    const std::span<const std::byte> part = message;
    return transport->endpoint(peer, 0).value()->send(
               {&part, 1}, transport::Ordering::kFree) == Status::kOk;
  }

  void on_message(transport::ProcId,
                  transport::Color,
                  std::span<const std::byte>) override {
    ++messages;
  }

  void on_peer_failed(transport::ProcId, std::string_view why) override {
    FAIL(std::string(why));
  }

  std::unique_ptr<VerbsTransport> transport;
  std::array<bool, kGuests> has_sent{};
  std::uint32_t messages = 0;
};

}  // namespace

// Each guest sends one message to every other. The registered buffers must
// still be those of the start.
TEST_CASE("verbs receives: many ranks that talk once need one buffer for each",
          "[verbs][memory]") {
  std::vector<std::unique_ptr<Guest>> guests;
  for (transport::ProcId me = 0; me < Guest::kGuests; ++me) {
    guests.push_back(std::make_unique<Guest>(me, guests));
  }
  constexpr std::uint32_t kPeers = Guest::kGuests - 1;
  REQUIRE(test::eventually([&] {
    for (transport::ProcId me = 0; me < Guest::kGuests; ++me) {
      Guest& guest = *guests[me];
      for (transport::ProcId peer = 0; peer < Guest::kGuests; ++peer) {
        guest.has_sent[peer] =
            guest.has_sent[peer] || peer == me || guest.send_to(peer);
      }
      guest.transport->poll(guest);
      guest.transport->flush();
    }
    return std::ranges::all_of(
        guests, [](const auto& guest) { return guest->messages == kPeers; });
  }));
  for (const auto& guest : guests) {
    const Receives& receives = guest->transport->receives(0);
    CHECK(receives.promised() == kPeers * kIdleWindow);
    CHECK(receives.posted() <= kPeers * (kIdleWindow + kEmptyPackets));
    CHECK(receives.registered() == kReceivesAtStart);
  }
}

TEST_CASE("verbs receives: a connection that is hardly used has one buffer",
          "[verbs][memory]") {
  Pair pair;
  for (End& end : pair.ends) {
    REQUIRE(pair.until([&] { return end.send_one() == Status::kOk; }));
  }
  REQUIRE(pair.until([&] {
    return pair.ends[0].messages == 1 && pair.ends[1].messages == 2;
  }));
  for (const End& end : pair.ends) {
    CHECK(promised(end) == kIdleWindow);
    CHECK(end.transport->receives(0).posted() == kIdleWindow + kEmptyPackets);
  }
}

TEST_CASE("verbs receives: a stream gets all buffers, and gives them back",
          "[verbs][memory]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  for (int round = 0; round < 3; ++round) {
    INFO(round);
    pair.stream(0);
    CHECK(promised(far) == kWindow);
    CHECK(far.transport->receives(0).posted() == kWindow + kEmptyPackets);
    CHECK(promised(near) == kIdleWindow);
    REQUIRE(pair.until([&] { return promised(far) == kIdleWindow; }));
    CHECK(near.transport->counters().given_up ==
          static_cast<std::uint64_t>(round) + 1);
  }
  CHECK(near.failures + far.failures == 0);
}

// The sleeper is this test: it is about to sleep, and polls once when the
// deadline is over.
TEST_CASE("verbs receives: a sleeper gives credit up in a few wakes",
          "[verbs][memory]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  pair.stream(0);
  const auto& given_up = near.transport->counters().given_up;
  const SteadyClock clock;
  Pauses pauses;
  for (int wakes = 0; given_up == 0; ++wakes) {
    REQUIRE(wakes < 4);
    REQUIRE(test::eventually([&] {
      pauses.after_round(0);
      return given_up != 0 || near.transport->next_deadline() <= clock.now();
    }));
    near.transport->arm();
    near.transport->disarm();
    near.transport->poll(near);
    near.transport->flush();
  }
  CHECK(near.transport->next_deadline() == TimePoint::max());
  REQUIRE(pair.until([&] { return promised(far) == kIdleWindow; }));
}

TEST_CASE("verbs receives: a window grows only while there are buffers",
          "[verbs][memory]") {
  constexpr std::uint32_t kFewReceives = 8;
  Pair pair(Executor::kAgent, kFewReceives);
  const auto& near = pair.ends[0];
  const auto& far = pair.ends[1];
  pair.stream(0);
  CHECK(promised(far) == 4);  // 8 and the empty packets would be too many
  CHECK(far.transport->receives(0).posted() <= kFewReceives);
  CHECK(near.transport->counters().no_credit != 0);
  CHECK(near.failures + far.failures == 0);
}

}  // namespace acp::verbs
