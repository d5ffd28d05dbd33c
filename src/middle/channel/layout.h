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

/// Messages of this size and more are offered, not written to the ring. The
/// value is measured: docs/channels.md.
inline constexpr std::uint64_t kOfferFrom = std::uint64_t{64} << 10;

/// Grants of one channel at the same time.
inline constexpr std::size_t kGrants = 4;

/// Messages of one channel that are fetched at the same time.
inline constexpr std::size_t kFetches = 8;

/// The bit of SenderBlock::failures that belongs to fetched message `number`,
/// counted from the start of the channel.
constexpr std::uint64_t failure_bit(std::uint64_t number) {
  return std::uint64_t{1} << number % 64;
}

/// Index of what belongs to message or receive `number`, in arrays of kGrants.
constexpr std::size_t index_of_grant(std::uint64_t number) {
  return number % kGrants;
}

/// Memory into which the sender may put one large message. The receiver of
/// another host writes it, `number` last.
struct Grant {
  std::uint64_t number;  ///< Number of the message, + 1.
  acp_ga_t address;
  std::uint64_t size;  ///< Bytes. The rest of a longer message is dropped.
};

/// A block in the sender's heap. Its first line is the sender's connect
/// request. The receiver alone writes the other lines, but for `shared`, for
/// wants_doorbell, which the sender clears, and for `results`.
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
  std::uint64_t
      finished;  ///< Offers fetched since the start; puts not counted.
  /// The receiver changes failure_bit() of each message that it could not
  /// fetch, before it counts that message in `finished`.
  std::uint64_t failures;
  /// A thread of the receiver sleeps until a record comes.
  std::uint64_t wants_doorbell;

  SharedCopy shared;

  /// Grant of message k at k modulo kGrants.
  alignas(64) Grant grants[kGrants];
  /// Where the results of this end's own puts into granted memory arrive.
  std::uint64_t results[kGrants];
};

static_assert(sizeof(SenderBlock) == 448);

/// A block in the receiver's heap, in front of the ring. The sender alone
/// writes the first line, but for wants_credit, which the receiver clears. The
/// receiver alone writes the other lines.
struct ReceiverBlock {
  /// The sender waits for room in the ring.
  alignas(64) std::uint64_t wants_credit;
  std::uint64_t is_released;  ///< The sender touches this block no more.
  /// make_arrived() of the newest message that was put into granted memory, by
  /// number modulo kGrants.
  std::uint64_t arrived[kGrants];

  /// By number of the offer modulo kFetches: 1 when the newest copy of the
  /// fetch was executed. This end's own operations write it.
  alignas(64) std::uint64_t fetched[kFetches];

  /// Buffer for offers when there is no key.
  alignas(64) std::byte bounce[4096];
};

static_assert(sizeof(ReceiverBlock) == 64 + 64 + 4096);

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
  kOffer = 3,    ///< An Offer: a message that is fetched, or put when granted.
  kSkip = 4,     ///< Nothing follows up to the end of the ring.
  kEnd = 5,      ///< The sender has freed its end.
};

/// A value of ReceiverBlock::arrived: the message with this number, + 1, was
/// put (code 0), or its put has failed.
constexpr std::uint64_t make_arrived(std::uint64_t number, int code) {
  return number | static_cast<std::uint64_t>(code) << 56;
}

constexpr std::uint64_t number_of(std::uint64_t arrived) {
  return arrived & ((std::uint64_t{1} << 56) - 1);
}

constexpr int code_of(std::uint64_t arrived) {
  return static_cast<int>(arrived >> 56);
}

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
