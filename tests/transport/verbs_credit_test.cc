// The credit of verbs connections: single rules, and two ends in random order
// against a model of their receive buffers.
#include <array>
#include <deque>
#include <random>

#include <catch2/catch.hpp>

#include "verbs/credit.h"

namespace acp::verbs {

namespace {

struct Packet {
  std::uint32_t bits = 0;
  Load load = Load::kNone;
};

/// One end with its receive buffers, as an owner of a Credit has them.
struct End {
  Credit credit;
  std::deque<Packet> arriving;  ///< Packets under way to this end.
  std::uint32_t posted = kIdleWindow + kEmptyPackets;
  std::uint64_t sent = 0;
  std::uint64_t consumed = 0;
  std::uint32_t largest = kIdleWindow;  ///< Largest window so far.

  /// Unread packets that only return credit.
  std::uint32_t empty_packets() const {
    std::uint32_t count = 0;
    for (const Packet& each : arriving) {
      const bool is_return = each.load == Load::kNone &&
                             !decode_credit(each.bits).value().gives_up;
      count += is_return ? 1 : 0;
    }
    return count;
  }
};

void transmit(End& to, Packet packet) {
  to.arriving.push_back(packet);
  // The packet finds a receive buffer.
  REQUIRE(to.arriving.size() <= to.posted);
}

bool send(End& from, End& to) {
  if (!from.credit.may_send()) {
    from.credit.want_more();
    return false;
  }
  transmit(to, {from.credit.on_send(Load::kFrames), Load::kFrames});
  ++from.sent;
  return true;
}

void flush(End& from, End& to) {
  if (from.credit.is_due()) {
    transmit(to, {from.credit.on_send(Load::kNone), Load::kNone});
    REQUIRE(to.empty_packets() <= kEmptyPackets);
  }
}

bool give_up(End& from, End& to) {
  if (!from.credit.has_spare()) {
    return false;
  }
  transmit(to, {from.credit.give_up(), Load::kNone});
  return true;
}

/// Takes up to `most` packets, as one poll does. All arrive before one of them
/// counts as consumed, and their buffers are posted again in between. `grows`
/// false: there are no more receive buffers.
void poll(End& end, std::size_t most, bool grows = true) {
  std::uint32_t frames = 0;
  std::uint32_t taken = 0;
  for (; taken < most && !end.arriving.empty(); ++taken) {
    const Packet packet = end.arriving.front();
    end.arriving.pop_front();
    REQUIRE(end.credit.on_arrival(packet.bits, packet.load));
    frames += packet.load == Load::kFrames ? 1 : 0;
  }
  end.posted -= taken;
  for (; taken != 0 && end.posted < end.credit.window() + kEmptyPackets;
       --taken) {
    ++end.posted;
  }
  for (; frames != 0; --frames) {
    end.credit.on_consumed();
    ++end.consumed;
    if (end.credit.needs_growth() && grows) {
      end.credit.grow();
      const std::uint32_t wanted = end.credit.window() + kEmptyPackets;
      end.posted = std::max(end.posted, wanted);
    }
  }
  end.largest = std::max(end.largest, end.credit.window());
}

/// Lets everything arrive, with all credit that is due.
void settle(std::array<End, 2>& ends) {
  do {
    for (std::size_t i = 0; i < 2; ++i) {
      poll(ends[i], 16);
      flush(ends[i], ends[1 - i]);
    }
  } while (!ends[0].arriving.empty() || !ends[1].arriving.empty());
}

}  // namespace

TEST_CASE("verbs credit: a note survives encoding", "[verbs][credit]") {
  const CreditNote note{.consumed = 0xfedc,
                        .window = 16,
                        .is_short = true,
                        .gives_up = false,
                        .given_up = 255};
  CHECK(decode_credit(encode_credit(note)) == note);
  const CreditNote other{.window = 1, .gives_up = true, .given_up = 1};
  CHECK(decode_credit(encode_credit(other)) == other);
  const CreditNote last{.consumed = 7, .window = 2, .moves = true};
  CHECK(decode_credit(encode_credit(last)) == last);
  CHECK_FALSE(decode_credit((kWindow + kIdleWindow + 1) << 16));
}

TEST_CASE("verbs credit: one exchange needs one receive buffer for its packet",
          "[verbs][credit]") {
  std::array<End, 2> ends;
  auto& near = ends[0];
  auto& far = ends[1];
  REQUIRE(send(near, far));
  CHECK_FALSE(near.credit.may_send());
  poll(far, 16);
  REQUIRE(send(far, near));  // the reply returns the credit
  CHECK_FALSE(far.credit.is_due());
  poll(near, 16);
  CHECK(near.credit.may_send());
  settle(ends);
  for (const End& end : ends) {
    CHECK(end.credit.may_send());
    CHECK(end.credit.window() == kIdleWindow);
    CHECK_FALSE(end.credit.has_spare());
  }
}

TEST_CASE("verbs credit: a stream soon has the largest window",
          "[verbs][credit]") {
  std::array<End, 2> ends;
  auto& near = ends[0];
  auto& far = ends[1];
  for (int trip = 0; trip < 6; ++trip) {
    while (send(near, far)) {
    }
    settle(ends);
  }
  CHECK(far.credit.window() == kWindow);
  CHECK(near.credit.window() == kIdleWindow);
}

// The first exchanges enlarge the window from one packet to two. From then on
// each packet carries the credit for the one before.
TEST_CASE("verbs credit: requests and replies soon need no empty packets",
          "[verbs][credit]") {
  std::array<End, 2> ends;
  auto& near = ends[0];
  auto& far = ends[1];
  const auto exchange = [&](End& from, End& to) {
    REQUIRE(send(from, to));
    poll(to, 16);
  };
  for (int i = 0; i < 10; ++i) {
    exchange(near, far);
    exchange(far, near);
    flush(near, far);
    poll(far, 16);
  }
  CHECK(near.credit.window() == 2);
  for (int i = 0; i < 100; ++i) {
    exchange(near, far);
    exchange(far, near);
    REQUIRE_FALSE(near.credit.is_due());
    REQUIRE_FALSE(far.credit.is_due());
  }
}

TEST_CASE("verbs credit: spare credit is given up, and grants on their way",
          "[verbs][credit]") {
  std::array<End, 2> ends;
  auto& near = ends[0];
  auto& far = ends[1];
  for (int trip = 0; trip < 6; ++trip) {
    while (send(near, far)) {
    }
    settle(ends);
  }
  REQUIRE(near.credit.has_spare());
  REQUIRE(send(near, far));
  poll(far, 1);
  REQUIRE(send(far, near));  // grants more before it reads the rest
  REQUIRE(give_up(near, far));
  CHECK_FALSE(near.credit.has_spare());
  poll(near, 1);
  CHECK_FALSE(near.credit.has_spare());
  settle(ends);
  CHECK(far.credit.window() == kIdleWindow);
  CHECK_FALSE(near.credit.has_spare());
  REQUIRE(send(near, far));
  CHECK_FALSE(near.credit.may_send());
  settle(ends);
  CHECK(near.credit.may_send());
}

TEST_CASE("verbs credit: what no end would send is refused",
          "[verbs][credit]") {
  Credit credit;
  const auto refuses = [&credit](const CreditNote& note, Load load) {
    Credit copy = credit;
    return !copy.on_arrival(encode_credit(note), load);
  };
  const CreditNote good{.window = 1};
  CHECK_FALSE(refuses(good, Load::kNone));
  CHECK(refuses({.consumed = 1, .window = 1}, Load::kNone));
  CHECK(refuses({.consumed = 0xffff, .window = 2}, Load::kNone));
  CHECK(refuses({.window = 0}, Load::kNone));  // takes credit back
  CHECK(refuses({.window = 18}, Load::kNone));
  CHECK(refuses({.window = 1, .given_up = 1}, Load::kNone));
  CHECK(refuses({.window = 1, .gives_up = true}, Load::kNone));
  REQUIRE(credit.on_arrival(encode_credit(good), Load::kFrames));
  CHECK(refuses(good, Load::kFrames));  // a packet without credit
  static_cast<void>(credit.on_send(Load::kFrames));
  CHECK_FALSE(refuses({.consumed = 1, .window = 0}, Load::kNone));
  CHECK(refuses({.consumed = 2, .window = 0}, Load::kNone));
  CHECK_FALSE(refuses({.consumed = 1, .window = 16}, Load::kNone));
  REQUIRE(credit.on_arrival(encode_credit({.consumed = 1, .window = 16}),
                            Load::kNone));
  static_cast<void>(credit.give_up());
  CHECK_FALSE(refuses({.consumed = 1, .window = 16}, Load::kNone));
  CHECK(refuses({.consumed = 1, .window = 16, .given_up = 2}, Load::kNone));
  CHECK(refuses({.consumed = 1, .window = 0, .given_up = 1}, Load::kNone));
}

// Each step is one of: send, poll some packets, flush, give up. Sometimes there
// are no buffers for a larger window. Then everything settles, and both ends
// must be able to send.
TEST_CASE("verbs credit: two ends in random order never overrun nor lock",
          "[verbs][credit]") {
  std::mt19937 random(20'240);
  const auto pick = [&random](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  for (int round = 0; round < 200; ++round) {
    std::array<End, 2> ends;
    // Ends that send much or little, and poll often or seldom.
    const std::uint32_t sends = pick(8) + 1;
    const std::uint32_t polls = pick(8) + 1;
    const std::uint32_t give_ups = pick(2);
    const bool can_grow = pick(4) != 0;
    for (int step = 0; step < 1000; ++step) {
      const std::size_t i = pick(2);
      End& end = ends[i];
      End& other = ends[1 - i];
      const std::uint32_t choice = pick(sends + polls + give_ups + 2);
      if (choice < sends) {
        send(end, other);
      } else if (choice < sends + polls) {
        poll(end, pick(16) + 1, can_grow || pick(8) == 0);
      } else if (choice < sends + polls + give_ups) {
        give_up(end, other);
      } else {
        flush(end, other);
      }
    }
    settle(ends);
    for (std::size_t i = 0; i < 2; ++i) {
      INFO(ends[i].credit.describe());
      CHECK(ends[i].credit.may_send());
      CHECK(ends[i].consumed == ends[1 - i].sent);
      CHECK(ends[i].largest <= kWindow);
      give_up(ends[i], ends[1 - i]);
    }
    settle(ends);
    for (End& end : ends) {
      CHECK_FALSE(end.credit.has_spare());
      CHECK(end.credit.may_send());
    }
    CHECK(send(ends[0], ends[1]));
  }
}

}  // namespace acp::verbs
