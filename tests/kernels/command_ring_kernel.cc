// The command ring of a slice under all schedules: two ranks push, the owner
// takes. transport/shm/command_ring.h has the invariants.
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/kernel_memory.h"
#include "kernels/program.h"
#include "transport/shm/command_ring.h"

namespace kernels {

namespace {

using acp::Status;
using acp::protocol::kRingEntries;
using acp::shm::CommandRing;
using acp::shm::RingMessage;

/// Two words that complement each other show a message of two senders.
struct Letter {
  std::uint64_t number;
  std::uint64_t complement;
};

constexpr std::size_t kOwner = 0;

/// Thread 0 owns the ring and takes messages. Each other thread pushes some.
class Senders : public Program {
 public:
  /// `before` messages have gone through the ring, and `full` are in it.
  Senders(std::size_t senders, std::uint64_t each, std::uint64_t full)
      : segment_(new_segment(3)),
        ring_(segment_.slice(0), segment_.header()),
        senders_(senders),
        each_(each),
        in_ring_(full) {
    for (std::uint64_t i = 0; i < full; ++i) {
      (void)push(0, i);
    }
  }

  std::size_t threads() const override { return 1 + senders_; }

  void run(std::size_t thread) override {
    if (thread == kOwner) {
      take_all();
      return;
    }
    for (std::uint64_t i = 1; i <= each_; ++i) {
      while (push(thread, i) == Status::kAgain) {
        // The ring is full until the owner takes a message.
      }
    }
  }

  void check() override {
    expect(ring_.is_empty(), "invariant 2: the owner has taken each message");
  }

 protected:
  Status push(std::uint64_t sender, std::uint64_t number) {
    const Letter letter{sender << 32 | number, ~(sender << 32 | number)};
    const std::array<std::span<const std::byte>, 1> parts = {
        std::as_bytes(std::span(&letter, 1))};
    return ring_.push(static_cast<std::uint32_t>(sender), 0, parts);
  }

  /// Takes a message if there is one.
  bool take() {
    RingMessage message;
    if (!ring_.front(message)) {
      return false;
    }
    const auto* letter = reinterpret_cast<const Letter*>(message.bytes.data());
    expect(message.bytes.size() == sizeof *letter &&
               letter->complement == ~letter->number &&
               letter->number >> 32 == message.from,
           "invariant 2: a full entry has one whole message");
    const std::uint64_t number = letter->number & UINT32_MAX;
    if (message.from == 0) {
      expect(number == old_++, "messages come in the order of the tickets");
    } else {
      expect(number == ++newest_[message.from],
             "invariant 1: each message of a sender comes once, in order");
    }
    ring_.release();
    return true;
  }

  void take_all() {
    for (std::uint64_t left = in_ring_ + senders_ * each_; left != 0;) {
      left -= take() ? 1 : 0;
    }
  }

 private:
  const acp::protocol::HostSegment& segment_;
  CommandRing ring_;
  const std::size_t senders_;
  const std::uint64_t each_;
  const std::uint64_t in_ring_;
  std::uint64_t old_ = 0;                  ///< The owner's.
  std::array<std::uint64_t, 3> newest_{};  ///< The owner's, by sender.
};

/// The owner takes one message of a full ring. One of two pushes has room.
class Full : public Senders {
 public:
  Full() : Senders(2, 1, kRingEntries) {}

  void run(std::size_t thread) override {
    if (thread == kOwner) {
      expect(take(), "invariant 2: the oldest entry of a full ring is full");
    } else {
      has_room_[thread] = push(thread, 1) == Status::kOk;
    }
  }

  void check() override {
    expect(!has_room_[1] || !has_room_[2],
           "invariant 1: only a free entry takes a message");
    for (std::uint64_t i = 1; i < kRingEntries; ++i) {
      expect(take(), "invariant 1: a full ring keeps its messages");
    }
    expect(take() == (has_room_[1] || has_room_[2]),
           "invariant 1: a push that succeeds is in the ring");
  }

 private:
  std::array<bool, 3> has_room_{};
};

}  // namespace

std::vector<Case> all_cases() {
  return {
      make_case<Senders>("one_sender", 4, 1U, 2U, 0U),
      make_case<Senders>("two_senders", 3, 2U, 1U, 0U),
      make_case<Senders>("refill", 3, 1U, 1U, kRingEntries),
      make_case<Full>("full", 3),
  };
}

}  // namespace kernels
