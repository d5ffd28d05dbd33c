// The datagrams of a barrier of several hosts (docs/barrier.md). In a round a
// process sends a message to one peer, and receives a message of a different
// peer. So most streams have no data in the other direction that carry acks.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "udp/packet.h"

namespace acp::test {

namespace {

using transport::Ordering;
using transport::ProcId;

constexpr std::size_t kRounds = 2;
constexpr ProcId kProcs = 4;

/// Four leaders. In round k a leader sends to the leader that is 2^k further.
class Leaders {
 public:
  Leaders() : job_(plan()) {
    for (ProcId proc = 0; proc < kProcs; ++proc) {
      job_.sink(proc).message = [this, proc](auto, auto, auto bytes) {
        ++heard_[proc].at(static_cast<std::size_t>(bytes[0]));
        has_signal_ = true;
      };
    }
    job_.network().observe([this](const FakeNetwork::Event& event) {
      const bool is_ack =
          event.bytes[0] ==
          static_cast<std::byte>(udp::kPacketVersion << 4 |
                                 static_cast<unsigned>(udp::PacketType::kAck));
      acks_ += is_ack ? 1 : 0;
      acks_of_flush_ += is_ack ? 1 : 0;
      acks_before_data_ += is_ack ? 0 : acks_of_flush_;
      acks_of_flush_ = is_ack ? acks_of_flush_ : 0;
    });
  }

  /// Pure acks, and pure acks in front of a message that left by their flush.
  int acks() const { return acks_; }

  int acks_before_data() const { return acks_before_data_; }

  /// Lets all leaders meet `barriers` times.
  void meet(std::uint64_t barriers) {
    last_ += barriers;
    for (ProcId proc = 0; proc < kProcs; ++proc) {
      go_on(proc);
    }
    while (std::ranges::any_of(positions_, [this](const Position& position) {
      return position.barrier <= last_;
    })) {
      pass();
    }
  }

 private:
  /// The round in which a leader is, and whether it has sent its message.
  struct Position {
    std::uint64_t barrier = 1;
    std::size_t round = 0;
    bool has_told = false;
  };

  static FakeJobPlan plan() {
    FakeJobPlan plan;
    plan.procs = kProcs;
    plan.datagram_bytes = 1'472;
    plan.first_grant = udp::kFirstGrant;
    plan.network.has_hosts = true;
    plan.network.mtu = 1'472;
    plan.network.delay = std::chrono::microseconds(4);
    return plan;
  }

  /// Makes a pass of each process. As in the engine, a pass that brings a
  /// message flushes only with the answer.
  void pass() {
    for (ProcId proc = 0; proc < kProcs; ++proc) {
      has_signal_ = false;
      job_.transport(proc).poll(job_.sink(proc));
      if (has_signal_) {
        go_on(proc);
      } else {
        flush(proc);
      }
    }
    job_.network().clock().advance(std::chrono::microseconds(1));
  }

  void go_on(ProcId proc) {
    Position& at = positions_[proc];
    while (at.barrier <= last_) {
      if (!at.has_told) {
        tell(proc, at.round);
        at.has_told = true;
      }
      if (heard_[proc][at.round] < at.barrier) {
        return;
      }
      at = at.round + 1 < kRounds ? Position{at.barrier, at.round + 1, false}
                                  : Position{at.barrier + 1, 0, false};
    }
  }

  void tell(ProcId proc, std::size_t round) {
    std::array<std::byte, 60> message{};
    message[0] = static_cast<std::byte>(round);
    const std::array parts = {std::span<const std::byte>(message)};
    const ProcId next = (proc + (ProcId{1} << round)) % kProcs;
    REQUIRE(job_.endpoint(proc, next).send(parts, Ordering::kFree) ==
            Status::kOk);
    flush(proc);
  }

  void flush(ProcId proc) {
    acks_of_flush_ = 0;
    job_.transport(proc).flush();
  }

  FakeJob job_;
  std::array<std::array<std::uint64_t, kRounds>, kProcs> heard_{};
  std::array<Position, kProcs> positions_{};
  std::uint64_t last_ = 0;   ///< The barrier after which they stop.
  bool has_signal_ = false;  ///< The pass has brought a message.
  int acks_ = 0;
  int acks_of_flush_ = 0;
  int acks_before_data_ = 0;
};

}  // namespace

TEST_CASE("udp rounds: a message leaves before the acks of other streams",
          "[udp][rounds]") {
  Leaders leaders;
  leaders.meet(1'000);
  CHECK(leaders.acks() > 0);
  CHECK(leaders.acks_before_data() == 0);
}

// A fifth of the messages of round 0 ask for an ack. Messages of round 1 need
// not, because the message of the peer acknowledges them.
TEST_CASE("udp rounds: a stream with few fragments under way asks for no ack",
          "[udp][rounds]") {
  Leaders leaders;
  leaders.meet(1'000);
  CHECK(leaders.acks() < 900);
}

}  // namespace acp::test
