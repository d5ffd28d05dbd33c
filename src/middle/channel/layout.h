// Layout of what the two ends of a channel write into each other's memory, and
// how a sender finds the receiver. docs/channels.md, "Memory", has the same
// tables.
//
// All words are 8 bytes, aligned, and touched as atomics. A rank that shares
// memory with the other one stores there itself, any other one posts.
//
// 1. A word has one writer, with two exceptions. One side sets wants_doorbell
//    and wants_credit, and the other side clears them. `claim`, `copied` and
//    the words of a RankBlock are changed by atomics.
// 2. A header in the ring is believed when it is not 0. On one host the sender
//    writes a 0 in front of its next record. Over a network the receiver clears
//    what it has taken before it returns the credit.
// 3. `consumed` and `finished` only grow. The sender writes to the ring only as
//    far as `consumed` allows.
// 4. After answer = kClosed the receiver touches the sender's block no more.
//    After is_released = 1 the sender touches the receiver's block no more.
//    Each word is ordered after all other operations of its writer, and the
//    owner frees its block only then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acp/global_memory.h"

namespace acp::middle::channel {

/// Values of SenderBlock::answer.
enum Answer : std::uint64_t {
  kNoAnswer = 0,
  kAccepted = 1,  ///< The sender may write to the ring.
  /// The receiver touches this block no more, and waits for is_released.
  kClosed = 2,
};

/// Value of SenderBlock::next until the sender knows the next block. No address
/// is odd.
inline constexpr std::uint64_t kNotKnown = 1;

/// An offered message that both ends copy piece by piece, because they are on
/// one host. The receiver writes all words, `claim` last. Then both ends change
/// `claim` and `copied` by atomics.
struct SharedCopy {
  alignas(
      64) std::uint64_t claim;  ///< {number of the offer:32 | pieces left:32}.
  acp_ga_t to;                  ///< The receiver's buffer.
  std::uint64_t size;
  /// Code of a piece that could not be copied, or 0. Written by either end.
  std::uint64_t error;

  alignas(64) std::uint64_t copied;  ///< Pieces that are copied.
};

/// A block in the sender's heap. Its first line is the sender's connect
/// request. The receiver alone writes the other lines, but for `shared` and for
/// wants_doorbell, which the sender clears.
struct SenderBlock {
  /// The connect request before this one, or 0.
  alignas(64) std::uint64_t next;
  std::uint64_t sender;      ///< The sender's rank.
  std::uint64_t ring_limit;  ///< Longest ring that the sender can fill.

  alignas(64) std::uint64_t answer;
  std::uint64_t receiver_block;  ///< Address; 0: there is no block to release.
  std::uint64_t ring_bytes;

  /// Bytes taken out of the ring since the start.
  alignas(64) std::uint64_t consumed;
  std::uint64_t finished;  ///< Offers fetched since the start.
  /// A thread of the receiver sleeps until a record comes.
  std::uint64_t wants_doorbell;

  SharedCopy shared;
};

static_assert(sizeof(SenderBlock) == 320);

/// A block in the receiver's heap, in front of the ring. The sender alone
/// writes the first line, but for wants_credit, which the receiver clears.
struct ReceiverBlock {
  /// The sender waits for room in the ring.
  alignas(64) std::uint64_t wants_credit;
  std::uint64_t is_released;  ///< The sender touches this block no more.

  /// Buffer for offers when there is no key.
  alignas(64) std::byte bounce[4096];
};

static_assert(sizeof(ReceiverBlock) == 64 + 4096);

/// A rank's module memory: what senders and receivers of other ranks tell it.
struct RankBlock {
  alignas(64) std::uint64_t
      /// Newest connect request, or 0. Senders swap their block's address in.
      connect_requests;
  /// Count of ends that the other side has closed. When it changes, the rank
  /// looks at all its ends.
  alignas(64) std::uint64_t closed_ends;
  /// Counted up with a signal, only to wake the rank's sleeping threads.
  std::uint64_t doorbell;
  /// Not 0: the rank is in acp_finalize or acp_reset, and all connect requests
  /// that it will ever post have taken effect. The rank itself writes it.
  std::uint64_t has_left;
  /// Results of the rank's own operations. Only one of each is under way.
  alignas(64) std::uint64_t older_request;
  std::uint64_t taken_requests;
  /// First line of the SenderBlock that is being read.
  std::uint64_t connect_request[3];
  std::uint64_t has_sender_left;  ///< has_left of another rank.
};

static_assert(sizeof(RankBlock) == 192);

/// A record in a ring: a header word, then its bytes; together a multiple of
/// kRecordUnit. A header is never 0.
enum class Record : std::uint8_t {
  kMessage = 1,  ///< A message, or the last part of one.
  kPart = 2,     ///< A part of a message; more follow.
  kOffer = 3,    ///< An Offer: a message that the receiver fetches.
  kSkip = 4,     ///< Nothing follows up to the end of the ring.
  kEnd = 5,      ///< The sender has freed its end.
};

struct Offer {
  acp_ga_t address;
  std::uint64_t size;
};

inline constexpr std::uint64_t kRecordUnit = 16;
inline constexpr std::uint64_t kHeaderBytes = 8;

constexpr std::uint64_t make_header(Record record, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(record) | bytes << 8;
}

constexpr Record record_of(std::uint64_t header) {
  return static_cast<Record>(header & 0xff);
}

constexpr std::uint64_t bytes_of(std::uint64_t header) {
  return header >> 8;
}

/// Bytes of the ring that a record of `bytes` bytes takes.
constexpr std::uint64_t footprint(std::uint64_t bytes) {
  return (kHeaderBytes + bytes + kRecordUnit - 1) / kRecordUnit * kRecordUnit;
}

inline std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref(const_cast<std::uint64_t&>(word))
      .load(std::memory_order_acquire);
}

inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace acp::middle::channel
