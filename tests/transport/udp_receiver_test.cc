// Receiver alone, without sockets: which fragments it delivers, holds, drops
// and acknowledges.
#include <vector>

#include <catch2/catch.hpp>

#include "udp/receiver.h"

namespace acp::udp {

namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using Verdict = Receiver::Verdict;

constexpr std::size_t kHeldDatagram = 1400;

StreamLimits receiver_limits(std::uint64_t first_seq) {
  StreamLimits limits;
  limits.max_held_fragments = 4;
  limits.first_seq = first_seq;
  return limits;
}

/// Handles each fragment like Endpoint, and records the order of delivery.
struct ReceiverBench {
  explicit ReceiverBench(std::uint64_t first_seq = 0)
      : limits(receiver_limits(first_seq)) {}

  Verdict arrive(std::uint64_t seq, std::uint8_t flags = 0) {
    PacketHeader header;
    header.seq = static_cast<std::uint32_t>(seq);
    header.flags = flags;
    header.txno = ++txno;
    const Verdict verdict = receiver.judge(header);
    receiver.on_arrival(header, verdict, now, now);
    if (verdict == Verdict::kEarly) {
      receiver.keep_early(header, pool.acquire());
    } else if (verdict == Verdict::kDeliver) {
      delivered.push_back(seq);
      receiver.mark_delivered(header);
      while (const Fragment* fragment = receiver.ready()) {
        delivered.push_back(fragment->seq);
        receiver.finish_held();
      }
    }
    return verdict;
  }

  PacketHeader fill() {
    PacketHeader header;
    sack = {};
    receiver.fill(header, sack, now);
    return header;
  }

  StreamLimits limits;
  FragmentPool pool{kHeldDatagram, 64};
  Receiver receiver{pool, limits};
  TimePoint now{seconds(100)};
  std::uint64_t txno = 0;
  std::vector<std::uint64_t> delivered;
  SackBitmap sack{};
};

using Seqs = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("udp receiver: each fragment once", "[udp][receiver]") {
  ReceiverBench bench;
  CHECK(bench.arrive(0) == Verdict::kDeliver);
  CHECK(bench.arrive(0) == Verdict::kDuplicate);
  CHECK(bench.arrive(2) == Verdict::kDeliver);
  CHECK(bench.arrive(2) == Verdict::kDuplicate);
  CHECK(bench.arrive(1) == Verdict::kDeliver);
  CHECK(bench.receiver.base() == 3);
  CHECK(bench.delivered == Seqs{0, 2, 1});
}

TEST_CASE("udp receiver: an ordered fragment waits for all before it",
          "[udp][receiver]") {
  ReceiverBench bench;
  CHECK(bench.arrive(1, kFlagOrdered) == Verdict::kEarly);
  CHECK(bench.arrive(3, kFlagOrdered) == Verdict::kEarly);
  CHECK(bench.arrive(2) == Verdict::kDeliver);
  CHECK(bench.arrive(1, kFlagOrdered) == Verdict::kDuplicate);
  CHECK(bench.delivered == Seqs{2});
  CHECK(bench.arrive(0) == Verdict::kDeliver);
  CHECK(bench.delivered == Seqs{2, 0, 1, 3});
  CHECK(bench.receiver.base() == 4);
  CHECK(bench.pool.in_use() == 0);
}

TEST_CASE("udp receiver: holds a bounded number", "[udp][receiver]") {
  ReceiverBench bench;
  for (std::uint64_t seq = 1; seq <= 4; ++seq) {
    CHECK(bench.arrive(seq, kFlagOrdered) == Verdict::kEarly);
  }
  CHECK(bench.arrive(5, kFlagOrdered) == Verdict::kDrop);
  CHECK(bench.arrive(6) == Verdict::kDeliver);
  CHECK(bench.arrive(0) == Verdict::kDeliver);
  CHECK(bench.arrive(5, kFlagOrdered) == Verdict::kDeliver);
  CHECK(bench.delivered == Seqs{6, 0, 1, 2, 3, 4, 5});
  CHECK(bench.receiver.base() == 7);
}

TEST_CASE("udp receiver: the window's last fragment is taken, the next is not",
          "[udp][receiver]") {
  ReceiverBench bench;
  CHECK(bench.arrive(kWindowFragments) == Verdict::kDrop);
  for (std::uint64_t seq = kWindowFragments - 1; seq > 0; --seq) {
    CHECK(bench.arrive(seq) == Verdict::kDeliver);
  }
  CHECK(bench.arrive(0) == Verdict::kDeliver);
  CHECK(bench.receiver.base() == kWindowFragments);
}

TEST_CASE("udp receiver: numbers pass 32 bits", "[udp][receiver]") {
  const std::uint64_t first = 0xFFFFFFFE;
  ReceiverBench bench(first);
  CHECK(bench.arrive(first + 3) == Verdict::kDeliver);
  CHECK(bench.arrive(first + 1) == Verdict::kDeliver);
  CHECK(bench.arrive(first - 1) == Verdict::kDuplicate);
  CHECK(bench.arrive(first) == Verdict::kDeliver);
  CHECK(bench.arrive(first + 2, kFlagOrdered) == Verdict::kDeliver);
  CHECK(bench.receiver.base() == first + 4);
}

TEST_CASE("udp receiver: acks tell what was delivered and what is held",
          "[udp][receiver][ack]") {
  ReceiverBench bench;
  bench.arrive(0);
  CHECK((bench.fill().flags & kFlagSack) == 0);
  bench.arrive(2);
  bench.arrive(4, kFlagOrdered);
  bench.arrive(200);
  bench.now += microseconds(7);
  const PacketHeader header = bench.fill();
  CHECK(header.ack == 1);
  CHECK(header.echo == 4);
  CHECK(header.held_us == 7);
  CHECK((header.flags & kFlagSack) != 0);
  CHECK(bench.sack[0] == 0b1010);
  CHECK(bench.sack[3] == std::uint64_t{1} << (199 - 192));
}

TEST_CASE("udp receiver: a dropped fragment is not echoed",
          "[udp][receiver][ack]") {
  ReceiverBench bench;
  bench.arrive(0);
  bench.arrive(1000);
  CHECK(bench.fill().echo == 1);
}

TEST_CASE("udp receiver: acks wait for batching, but not for long",
          "[udp][receiver][ack]") {
  ReceiverBench bench;
  CHECK(bench.receiver.deadline() == TimePoint::max());
  bench.arrive(0);
  CHECK_FALSE(bench.receiver.owes_ack_now(bench.now));
  CHECK(bench.receiver.deadline() == bench.now + kAckDelay);
  CHECK(bench.receiver.owes_ack_now(bench.now + kAckDelay));
  bench.receiver.on_ack_sent();
  CHECK(bench.receiver.deadline() == TimePoint::max());
  for (std::uint64_t seq = 1; seq < kAckEvery; ++seq) {
    bench.arrive(seq);
    CHECK_FALSE(bench.receiver.owes_ack_now(bench.now));
  }
  bench.arrive(kAckEvery);
  CHECK(bench.receiver.owes_ack_now(bench.now));
}

TEST_CASE("udp receiver: gaps, duplicates and requests are answered at once",
          "[udp][receiver][ack]") {
  ReceiverBench bench;
  bench.arrive(0, kFlagAckRequest);
  CHECK(bench.receiver.owes_ack_now(bench.now));
  bench.receiver.on_ack_sent();
  bench.arrive(0);
  CHECK(bench.receiver.owes_ack_now(bench.now));
  bench.receiver.on_ack_sent();
  bench.arrive(2);
  CHECK(bench.receiver.owes_ack_now(bench.now));
  bench.receiver.on_ack_sent();
  bench.arrive(1);
  CHECK(bench.receiver.owes_ack_now(bench.now));
  bench.receiver.on_ack_sent();
  bench.arrive(3);
  CHECK_FALSE(bench.receiver.owes_ack_now(bench.now));
}

}  // namespace acp::udp
