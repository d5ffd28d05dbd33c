// What the two ends of a channel write into each other's memory, and how a
// sender finds the receiver. docs/channels.md, "Memory", has the same tables.
//
// All words are 8 bytes, aligned, and touched as atomics. A rank that shares
// memory with the other one stores there itself, any other one posts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acp/global_memory.h"

namespace acp::middle::channel {

/// SenderBlock::answer.
enum Answer : std::uint64_t {
  kNoAnswer = 0,
  kAccepted = 1,  ///< The ring is yours.
  kClosed = 2,    ///< I touch this block no more: release mine.
};

/// SenderBlock::next while it is not known yet. No address is odd.
inline constexpr std::uint64_t kNotKnown = 1;

/// An offered message that both ends copy, piece by piece: they are on one
/// host. The receiver fills it in, `claim` last; both claim and count.
struct SharedCopy {
  alignas(
      64) std::uint64_t claim;  ///< Offer's number, pieces left: 32 bits each.
  acp_ga_t to;                  ///< The receiver's buffer.
  std::uint64_t size;
  std::uint64_t error;  ///< Why a piece could not be copied, or 0.

  alignas(64) std::uint64_t copied;  ///< Pieces that are there.
};

/// In the sender's heap. The first line is its call; the others are written
/// by the receiver alone, but for `shared`.
struct SenderBlock {
  alignas(64) std::uint64_t next;  ///< Block that called there before, or 0.
  std::uint64_t sender;            ///< Its rank.
  std::uint64_t ring_limit;        ///< Longest ring that it can fill.

  alignas(64) std::uint64_t answer;
  std::uint64_t receiver_block;  ///< Address; 0: there is none to release.
  std::uint64_t ring_bytes;

  alignas(64) std::uint64_t consumed;  ///< Bytes of the ring, ever.
  std::uint64_t finished;              ///< Offers that were taken, ever.
  std::uint64_t wants_doorbell;        ///< A thread sleeps for a record.

  SharedCopy shared;
};

static_assert(sizeof(SenderBlock) == 320);

/// In the receiver's heap, in front of the ring. The first line is written by
/// the sender alone.
struct ReceiverBlock {
  alignas(64) std::uint64_t wants_credit;  ///< The sender is stuck.
  std::uint64_t is_released;               ///< The sender's last word.

  alignas(64) std::byte bounce[4096];  ///< For offers, when keys are short.
};

static_assert(sizeof(ReceiverBlock) == 64 + 4096);

/// A rank's module memory.
struct RankBlock {
  alignas(64) std::uint64_t
      connect_requests;  ///< Newest SenderBlock that calls, or 0.
  /// Channels that were closed by the other end, a count: look at all.
  alignas(64) std::uint64_t closed_ends;
  std::uint64_t doorbell;  ///< Rung for no other reason than to wake the rank.
  /// Results of the rank's own operations.
  alignas(64) std::uint64_t older_request;
  std::uint64_t taken_requests;
  std::uint64_t connect_request[3];  ///< First line of a SenderBlock.
};

static_assert(sizeof(RankBlock) == 192);

/// What lies in a ring: a header word, then its bytes; together a multiple of
/// kRecordUnit. A header is never 0.
enum class Record : std::uint8_t {
  kMessage = 1,  ///< A message, or the last part of one.
  kPart = 2,     ///< A part of a message; more follow.
  kOffer = 3,    ///< Offer: a message to be fetched.
  kSkip = 4,     ///< The rest of the ring is empty: go on at its start.
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

/// What a record of `bytes` takes in the ring.
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
