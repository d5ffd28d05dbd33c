// Bytes that two nodes agree on: the halves of a channel, the box of a pair,
// the inbox. All words are 8 bytes in the byte order of the host. docs/qmp.md
// has the protocol.
//
//   receiver's half   offset        sender's half    offset
//     slot[16]        0               credit[16]     0
//     area[16]        1024            consumed       1024
//   size              66560                          1088
//
//   box of a pair     offset
//     line[2]         0
//     area[2]         128
//   size              32896
#pragma once

#include <cstddef>
#include <cstdint>

namespace qmp {

inline constexpr std::size_t kSlots = 16;
/// Messages up to this size go eagerly; those up to kInlineBytes in the line.
inline constexpr std::size_t kEagerBytes = 4096;
inline constexpr std::size_t kInlineBytes = 56;

/// A word and what belongs to it, in one cache line.
struct alignas(64) Line {
  std::uint64_t word;
  std::byte bytes[kInlineBytes];
};

static_assert(sizeof(Line) == 64 && offsetof(Line, bytes) == 8);

struct ReceiverHalf {
  Line slot[kSlots];
  std::byte area[kSlots][kEagerBytes];
};

static_assert(offsetof(ReceiverHalf, area) == 1024);
static_assert(sizeof(ReceiverHalf) == 66560);

struct SenderHalf {
  Line credit[kSlots];
  alignas(64) std::uint64_t consumed;
};

static_assert(offsetof(SenderHalf, consumed) == 1024);
static_assert(sizeof(SenderHalf) == 1088);

/// Where a message may be put: `count` blocks, block i at address + i * stride.
/// Address 0: nowhere; only messages that are too long ever ask.
struct Credit {
  std::uint64_t address;
  std::uint64_t capacity;
  std::uint64_t block;
  std::int64_t stride;
  std::uint64_t count;
};

static_assert(sizeof(Credit) == 40 && sizeof(Credit) <= kInlineBytes);

/// What a slot's word says.
enum class Kind : std::uint64_t {
  kEager = 1,    ///< The bytes are in the line or in the area.
  kDirect = 2,   ///< The bytes are where the credit said.
  kTooLong = 3,  ///< Not sent: the message has this size, the credit less.
};

/// number + 1 (20 bits) | kind (4) | size (40).
inline constexpr std::uint64_t kMaxMessage = (std::uint64_t{1} << 40) - 1;

constexpr std::uint64_t slot_word(std::uint64_t number,
                                  Kind kind,
                                  std::uint64_t size) {
  return ((number + 1) & 0xfffff) << 44 |
         static_cast<std::uint64_t>(kind) << 40 | size;
}

constexpr bool is_for(std::uint64_t word, std::uint64_t number) {
  return word >> 44 == ((number + 1) & 0xfffff) && (word >> 40 & 0xf) != 0;
}

constexpr Kind kind_of(std::uint64_t word) {
  return static_cast<Kind>(word >> 40 & 0xf);
}

constexpr std::uint64_t size_of(std::uint64_t word) {
  return word & kMaxMessage;
}

/// Two nodes that reduce together: message k of each has place
/// k mod 2 of the other's box; up to kInlineBytes in the line.
inline constexpr std::size_t kPlaces = 2;
inline constexpr std::size_t kPairBytes = 16384;

struct PairBox {
  Line line[kPlaces];
  std::byte area[kPlaces][kPairBytes];
};

static_assert(offsetof(PairBox, area) == 128);
static_assert(sizeof(PairBox) == 32896);

/// "Here is my half of a channel between us."
struct Announcement {
  std::uint64_t half;         ///< Global address.
  std::uint32_t comm;         ///< Communicator's number.
  std::uint32_t channel;      ///< Class.
  std::uint32_t from;         ///< Rank.
  std::uint32_t is_receiver;  ///< Whose half: the receiver's or the sender's.
};

static_assert(sizeof(Announcement) == 24 &&
              sizeof(Announcement) <= kInlineBytes);

/// Cell i of lap l is free with word 2 l, and full with 2 l + 1.
inline constexpr std::uint64_t kCells = 256;

struct Inbox {
  alignas(64) std::uint64_t tail;  ///< Tickets given out.
  /// From the rank before, when it leaves: its barriers of the whole job, + 1.
  std::uint64_t leaving;
  Line cell[kCells];
};

static_assert(offsetof(Inbox, cell) == 64);

}  // namespace qmp
