// Sender alone, without sockets: fragments, acknowledgements, loss and
// time-outs. The test plays the receiver and moves the clock.
#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "udp/sender.h"

namespace acp::udp {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::Ordering;

constexpr std::size_t kDatagram = 1400;

StreamLimits sender_limits(std::uint64_t first_seq = 0) {
  StreamLimits limits;
  limits.fragment_bytes = kDatagram - kHeadroomBytes;
  limits.window_bytes = 1 << 20;
  limits.first_grant = limits.window_bytes;
  limits.first_seq = first_seq;
  return limits;
}

/// A Sender alone: each message travels in its own fragment.
struct SenderBench {
  explicit SenderBench(std::uint64_t first_seq = 0)
      : limits(sender_limits(first_seq)) {}

  Status append(std::size_t bytes, Ordering ordering = Ordering::kFree) {
    const std::vector<std::byte> message(bytes);
    const std::array parts = {std::span<const std::byte>(message)};
    return sender.append(parts, bytes, ordering);
  }

  /// Sends one message as a fragment of its own; returns its txno.
  std::uint64_t send_one(Ordering ordering = Ordering::kFree) {
    REQUIRE(append(8, ordering) == Status::kOk);
    sender.close();
    return transmit();
  }

  std::uint64_t transmit() {
    Fragment& fragment = sender.next_pending();
    last_seq = fragment.seq;
    last_flags = sender.flags_for(fragment);
    sender.on_transmitted(fragment, ++txno, now);
    return txno;
  }

  /// The sequence numbers that are sent now.
  std::vector<std::uint64_t> transmit_all() {
    std::vector<std::uint64_t> seqs;
    while (sender.has_pending()) {
      transmit();
      seqs.push_back(last_seq);
    }
    return seqs;
  }

  /// Returns how many fragments had been retransmitted needlessly.
  std::size_t ack(std::uint64_t next,
                  std::uint64_t echo,
                  std::uint64_t sack = 0,
                  std::uint16_t held_us = 0) {
    PacketView packet;
    packet.header.type = PacketType::kAck;
    packet.header.ack = static_cast<std::uint32_t>(next);
    packet.header.echo = echo;
    packet.header.held_us = held_us;
    packet.header.flags = sack != 0 ? kFlagSack : 0;
    packet.sack[0] = sack;
    sender.on_heard(now);
    return sender.on_ack(packet, now);
  }

  /// Jumps to the deadline and lets the timer act.
  Duration expire() {
    const TimePoint before = now;
    now = sender.deadline();
    sender.on_timer(now);
    return now - before;
  }

  StreamLimits limits;
  FragmentPool pool{kDatagram, 1024};
  Sender sender{pool, limits, Sender::Window::kFixed};
  TimePoint now{seconds(100)};
  std::uint64_t txno = 0;
  std::uint64_t last_seq = 0;
  std::uint8_t last_flags = 0;
};

}  // namespace

TEST_CASE("udp sender: small messages share a fragment", "[udp][sender]") {
  SenderBench bench;
  REQUIRE(bench.append(100) == Status::kOk);
  REQUIRE(bench.append(0) == Status::kOk);
  REQUIRE(bench.append(1100) == Status::kOk);
  CHECK(bench.append(200) == Status::kAgain);
  bench.sender.close();
  CHECK(bench.append(200) == Status::kOk);
  CHECK(bench.sender.fragments_in_window() == 2);
}

TEST_CASE("udp sender: one ordered message makes its fragment ordered",
          "[udp][sender]") {
  SenderBench bench;
  bench.send_one();
  CHECK((bench.last_flags & kFlagOrdered) == 0);
  REQUIRE(bench.append(8) == Status::kOk);
  bench.send_one(Ordering::kOrdered);
  CHECK((bench.last_flags & kFlagOrdered) != 0);
}

TEST_CASE("udp sender: a full window answers kAgain until an ack",
          "[udp][sender]") {
  SenderBench bench;
  for (std::uint64_t i = 0; i < kWindowFragments; ++i) {
    bench.send_one();
  }
  CHECK(bench.append(8) == Status::kAgain);
  bench.ack(1, bench.txno);
  CHECK(bench.append(8) == Status::kOk);
  bench.sender.close();
  CHECK(bench.append(8) == Status::kAgain);
}

TEST_CASE("udp sender: bytes under way are bounded", "[udp][sender]") {
  SenderBench bench;
  bench.limits.window_bytes = 3 * charge(1000);
  int sent = 0;
  while (bench.append(1000) == Status::kOk) {
    bench.sender.close();
    bench.transmit();
    ++sent;
  }
  CHECK(sent == 3);
}

TEST_CASE("udp sender: an exhausted pool answers kAgain", "[udp][sender]") {
  FragmentPool pool(kDatagram, 1);
  StreamLimits limits = sender_limits();
  Sender sender(pool, limits, Sender::Window::kFixed);
  Fragment* taken = pool.acquire();
  CHECK(sender.append({}, 0, Ordering::kFree) == Status::kAgain);
  pool.release(taken);
  CHECK(sender.append({}, 0, Ordering::kFree) == Status::kOk);
}

TEST_CASE("udp sender: buffers go back to the pool with the acks",
          "[udp][sender]") {
  SenderBench bench;
  for (int i = 0; i < 5; ++i) {
    bench.send_one();
  }
  CHECK(bench.pool.in_use() == 5);
  bench.ack(2, 2, 0b100);  // 0, 1 and 4
  CHECK(bench.pool.in_use() == 2);
  bench.ack(5, 5);
  CHECK(bench.pool.in_use() == 0);
  CHECK_FALSE(bench.sender.has_unacknowledged());
  CHECK(bench.sender.deadline() == TimePoint::max());
}

// A fragment is sent twice, 100 ms apart. The sections give acks that name one
// of the two transmissions, and hold times of the peer.
TEST_CASE("udp sender: the round trip is that of the echoed transmission",
          "[udp][sender][rtt]") {
  SenderBench bench;
  const std::uint64_t first = bench.send_one();
  bench.now += milliseconds(100);
  bench.sender.on_timer(bench.now);
  const std::uint64_t second = bench.transmit();
  CHECK(second != first);
  bench.now += milliseconds(3);

  SECTION("the second arrived") {
    bench.ack(1, second);
    CHECK(bench.sender.rtt().smoothed() == milliseconds(3));
  }
  SECTION("the time that an ack may wait at the peer does not count") {
    bench.ack(1, second, 0, 200);
    CHECK(bench.sender.rtt().smoothed() == microseconds(2800));
  }
  SECTION("what the peer held it beyond that does") {
    bench.ack(1, second, 0, 1000);
    CHECK(bench.sender.rtt().smoothed() == microseconds(2750));
  }
  SECTION("the first arrived") {
    CHECK(bench.ack(1, first) == 1);
    CHECK(bench.sender.rtt().smoothed() == milliseconds(103));
  }
}

TEST_CASE("udp sender: three later transmissions make a loss",
          "[udp][sender][loss]") {
  SenderBench bench;
  for (int i = 0; i < 4; ++i) {
    bench.send_one();
  }
  bench.ack(0, 2, 0b010);
  CHECK_FALSE(bench.sender.has_pending());
  bench.ack(0, 3, 0b110);
  CHECK_FALSE(bench.sender.has_pending());
  bench.ack(0, 4, 0b1110);
  CHECK(bench.transmit_all() == std::vector<std::uint64_t>{0});
  CHECK((bench.last_flags & kFlagAckRequest) != 0);
}

TEST_CASE("udp sender: one that is overtaken and late is a loss",
          "[udp][sender][loss]") {
  SenderBench bench;
  bench.send_one();
  bench.send_one();
  bench.now += microseconds(50);
  bench.ack(0, 2, 0b10);
  CHECK_FALSE(bench.sender.has_pending());
  CHECK(bench.expire() < milliseconds(1));
  CHECK(bench.transmit_all() == std::vector<std::uint64_t>{0});
}

TEST_CASE("udp sender: a retransmission does not condemn what it overtook",
          "[udp][sender][loss]") {
  SenderBench bench;
  bench.send_one();
  bench.now += milliseconds(30);
  bench.sender.on_timer(bench.now);
  for (int i = 0; i < 4; ++i) {
    bench.send_one();
  }
  bench.transmit_all();
  // The original of fragment 0 arrived, which tells nothing about 1 to 4.
  bench.ack(1, 1);
  CHECK_FALSE(bench.sender.has_pending());
}

// The probe sends the newest fragment, and all later time-outs the oldest. An
// ack with a sample begins anew with a probe.
TEST_CASE("udp sender: the first time-out probes, then the time-out doubles",
          "[udp][sender][rto]") {
  SenderBench bench;
  bench.send_one();
  bench.now += microseconds(4);
  bench.ack(1, 1);
  bench.send_one();
  bench.send_one();
  CHECK(bench.expire() == kMinRto / 4);
  CHECK(bench.transmit_all() == std::vector<std::uint64_t>{2});
  Duration expected = kMinRto + microseconds(4);
  for (int i = 0; i < 7; ++i) {
    CHECK(bench.expire() == expected);
    CHECK(bench.transmit_all() == std::vector<std::uint64_t>{1});
    expected = std::min(2 * expected, kMaxBackoff);
  }
  bench.now += microseconds(4);
  bench.ack(3, bench.txno);
  bench.send_one();
  CHECK(bench.expire() == kMinRto / 4);
}

TEST_CASE("udp sender: an oversubscribed host waits longer",
          "[udp][sender][rto]") {
  SenderBench bench;
  bench.limits.rto_floor = kMinRtoOversubscribed;
  bench.send_one();
  bench.now += microseconds(4);
  bench.ack(1, 1);
  bench.send_one();
  bench.expire();
  bench.transmit_all();
  CHECK(bench.expire() == kMinRtoOversubscribed + microseconds(4));
}

TEST_CASE("udp sender: without a sample the time-out doubles, progress or not",
          "[udp][sender][rto]") {
  SenderBench bench;
  bench.send_one();
  bench.send_one();
  CHECK(bench.expire() == kInitialRto);
  bench.transmit_all();
  CHECK(bench.expire() == 2 * kInitialRto);
  bench.transmit_all();
  bench.ack(1, 0);  // names nothing: no round trip is known
  CHECK_FALSE(bench.sender.rtt().has_sample());
  CHECK(bench.expire() == 4 * kInitialRto);
}

TEST_CASE("udp sender: an ack may name any transmission of a fragment",
          "[udp][sender][rtt]") {
  const auto named = GENERATE(1U, 2U, 3U, 4U, 5U, 6U);
  SenderBench bench;
  std::vector<TimePoint> sent = {bench.now};
  bench.send_one();
  while (sent.size() < 6) {
    bench.expire();
    sent.push_back(bench.now);
    bench.transmit_all();
  }
  bench.now += milliseconds(1);
  CHECK(bench.ack(1, named) == (named == 6 ? 0 : 1));
  const Duration round_trip = bench.now - sent[named - 1];
  CHECK(bench.sender.rtt().smoothed() == round_trip);
  // The time-out follows from the sample, and is not doubled any more.
  bench.send_one();
  CHECK(bench.expire() ==
        std::min<Duration>(2 * round_trip + kAckDelay, kMaxRto));
}

TEST_CASE("udp sender: a path that reorders is given more time",
          "[udp][sender][loss]") {
  SenderBench bench;
  for (int i = 0; i < 4; ++i) {
    bench.send_one();
  }
  bench.ack(0, 4, 0b1110);
  CHECK(bench.transmit_all() == std::vector<std::uint64_t>{0});
  CHECK(bench.ack(4, 1) == 1);  // it was on its way
  for (int i = 0; i < 4; ++i) {
    bench.send_one();
  }
  bench.ack(4, 9, 0b1110);
  CHECK_FALSE(bench.sender.has_pending());
}

TEST_CASE("udp sender: where cores are shared, one stream warns the others",
          "[udp][sender][rto]") {
  SenderBench bench;
  const bool is_core_bound = GENERATE(false, true);
  bench.limits.is_core_bound = is_core_bound;
  bench.send_one();
  bench.now += microseconds(4);
  bench.ack(1, 1);
  Sender other(bench.pool, bench.limits, Sender::Window::kFixed);
  bench.limits.longest_rtt.add_sample(milliseconds(400));
  bench.send_one();
  CHECK(bench.expire() ==
        (is_core_bound ? Duration(milliseconds(800)) : kMinRto / 4));
  // A stream without samples always takes the longest round trip of the
  // process.
  REQUIRE(other.append({}, 0, Ordering::kFree) == Status::kOk);
  other.close();
  other.on_transmitted(other.next_pending(), ++bench.txno, bench.now);
  CHECK(other.deadline() - bench.now == milliseconds(800));
  other.abandon();
}

TEST_CASE("udp sender: a lost window is repaired after one time-out",
          "[udp][sender][loss]") {
  SenderBench bench;
  for (int i = 0; i < 20; ++i) {
    bench.send_one();
  }
  bench.expire();
  CHECK(bench.transmit_all() == std::vector<std::uint64_t>{19});
  bench.now += microseconds(20);
  bench.ack(0, bench.txno, std::uint64_t{1} << 19);
  CHECK(bench.transmit_all().size() == 19);
}

TEST_CASE("udp sender: acks of what was never sent are ignored",
          "[udp][sender]") {
  SenderBench bench;
  bench.send_one();
  REQUIRE(bench.append(8) == Status::kOk);  // open, not sent
  bench.ack(2, 0);
  bench.ack(0, 0, ~std::uint64_t{0});
  bench.ack(0xFFFFFFFF, 0);
  CHECK(bench.sender.fragments_in_window() == 2);
  CHECK(bench.pool.in_use() == 2);
}

TEST_CASE("udp sender: a bitmap never takes the oldest away", "[udp][sender]") {
  SenderBench bench;
  bench.send_one();
  bench.send_one();
  bench.ack(0, 2, 0b11);
  CHECK(bench.pool.in_use() == 1);
  bench.expire();
  CHECK(bench.transmit_all() == std::vector<std::uint64_t>{0});
}

TEST_CASE("udp sender: asks by number when a SACK has released the window",
          "[udp][sender][death]") {
  SenderBench bench;
  bench.send_one();
  bench.send_one(Ordering::kOrdered);
  bench.ack(0, 2, 0b10);  // 1 is held
  CHECK(bench.pool.in_use() == 1);
  bench.ack(1, 1);  // sent while 1 was being handed over
  CHECK(bench.pool.in_use() == 0);
  CHECK(bench.sender.has_unacknowledged());
  // The next ack is lost. Each time-out asks once, by number 1 and no data.
  for (int i = 0; i < 4; ++i) {
    bench.expire();
    CHECK(bench.transmit_all() == std::vector<std::uint64_t>{1});
    CHECK((bench.last_flags & kFlagAckRequest) != 0);
    CHECK(bench.pool.in_use() == 1);
  }
  CHECK(bench.sender.fragments_in_window() == 1);

  SECTION("the answer ends it") {
    bench.now += microseconds(10);
    bench.ack(2, bench.txno);
    CHECK(bench.pool.in_use() == 0);
    CHECK(bench.sender.deadline() == TimePoint::max());
  }
  SECTION("new fragments go on beside it") {
    bench.send_one();
    CHECK(bench.last_seq == 2);
    bench.ack(3, bench.txno);
    CHECK_FALSE(bench.sender.has_unacknowledged());
  }
  SECTION("without an answer the peer is dead") {
    while (!bench.sender.is_peer_dead(bench.now)) {
      CHECK(bench.expire() <= kMaxRto);
      bench.transmit_all();
    }
    CHECK(bench.sender.silence(bench.now) == StreamLimits().silence);
  }
}

TEST_CASE("udp sender: numbers pass 32 bits", "[udp][sender]") {
  SenderBench bench(0xFFFFFFF0);
  for (int i = 0; i < 100; ++i) {
    bench.send_one();
    bench.send_one();
    bench.ack(bench.last_seq + 1, bench.txno);
  }
  CHECK_FALSE(bench.sender.has_unacknowledged());
  CHECK(bench.last_seq == 0xFFFFFFF0ULL + 199);
}

TEST_CASE("udp sender: silence is death only after unanswered transmissions",
          "[udp][sender][death]") {
  SenderBench bench;
  bench.send_one();
  // This process was stopped: it comes back late and asks before it judges.
  bench.now += seconds(60);
  bench.sender.on_timer(bench.now);
  bench.transmit_all();
  CHECK_FALSE(bench.sender.is_peer_dead(bench.now));

  SenderBench other;
  const TimePoint start = other.now;
  other.send_one();
  while (!other.sender.is_peer_dead(other.now)) {
    CHECK(other.expire() <= kMaxRto);
    other.transmit_all();
  }
  CHECK(other.now - start == StreamLimits().silence);
  CHECK(other.sender.silence(other.now) == StreamLimits().silence);
}

}  // namespace acp::udp
