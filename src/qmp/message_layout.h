// Bytes that two nodes agree on: the halves of a channel, the box of a pair,
// the inbox. All words are 8 bytes in the byte order of the host. docs/qmp.md
// has the protocol.
//
//   receiver's half   offset        sender's half    offset
//     entry[16]        0               grant[16]     0
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

#include "inbox/inbox.h"

namespace qmp {

inline constexpr std::size_t kEntries = 16;

/// The entry of message `number`, and the grant of its receive.
constexpr std::size_t entry_of(std::uint64_t number) {
  return static_cast<std::size_t>(number % kEntries);
}

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
  Line entry[kEntries];
  std::byte area[kEntries][kEagerBytes];
};

static_assert(offsetof(ReceiverHalf, area) == 1024);
static_assert(sizeof(ReceiverHalf) == 66560);

struct SenderHalf {
  Line grant[kEntries];
  alignas(64) std::uint64_t consumed;
};

static_assert(offsetof(SenderHalf, consumed) == 1024);
static_assert(sizeof(SenderHalf) == 1088);

/// Where a message may be put: `count` blocks, block i at address + i * stride.
/// Address 0: nowhere; only messages that are too long ever ask.
struct Grant {
  std::uint64_t address;
  std::uint64_t capacity;
  std::uint64_t block;
  std::int64_t stride;
  std::uint64_t count;
};

static_assert(sizeof(Grant) == 40 && sizeof(Grant) <= kInlineBytes);

/// What an entry's word says.
enum class Kind : std::uint64_t {
  kEager = 1,    ///< The bytes are in the line or in the area.
  kDirect = 2,   ///< The bytes are where the grant said.
  kTooLong = 3,  ///< Not sent: the message has this size, the grant less.
};

/// number + 1 (20 bits) | kind (4) | size (40).
inline constexpr std::uint64_t kMaxMessage = (std::uint64_t{1} << 40) - 1;

constexpr std::uint64_t entry_word(std::uint64_t number,
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

/// Which global operation a message belongs to. Messages of one operation have
/// equal tags on all nodes, and equal numbers of bytes, or the calls of the
/// nodes do not agree.
struct Tag {
  std::uint64_t number = 0;  ///< Operations on the communicator, from 1 on.
  std::uint8_t kind = 0;     ///< kMeeting, kBroadcast, kBarrier, or what an
                             ///< Operator is.

  bool operator==(const Tag&) const = default;
};

inline constexpr std::uint8_t kMeeting = 0;
inline constexpr std::uint8_t kBroadcast = 1;
inline constexpr std::uint8_t kBarrier = 2;

/// A global operation as a node has called it.
struct Call {
  Tag tag;
  std::uint64_t bytes = 0;
};

/// What a message of a global operation begins with in a channel of class
/// collective. More than kEnvelopeBytes follow as a second message.
inline constexpr std::size_t kEnvelopeBytes = kEagerBytes - 24;

struct EnvelopeHead {
  std::uint64_t number;
  std::uint64_t kind;
  std::uint64_t bytes;  ///< Of the message, wherever they are.
};

struct Envelope {
  EnvelopeHead head;
  std::byte payload[kEnvelopeBytes];
};

static_assert(sizeof(Envelope) == kEagerBytes &&
              offsetof(Envelope, payload) == 24);

/// Two nodes that reduce together: message k of each has place
/// k mod 2 of the other's box; up to kInlineBytes in the line.
inline constexpr std::size_t kPairEntries = 2;
inline constexpr std::size_t kPairBytes = 16384;

/// The size of an entry word, in the box of a pair: number (17 bits) and kind
/// (8) of the operation | size (15).
constexpr std::uint64_t tagged_size(const Tag& tag, std::uint64_t bytes) {
  return (tag.number & 0x1ffff) << 23 | std::uint64_t{tag.kind} << 15 | bytes;
}

static_assert(kPairBytes < 1 << 15);

struct PairBox {
  Line line[kPairEntries];
  std::byte area[kPairEntries][kPairBytes];
};

static_assert(offsetof(PairBox, area) == 128);
static_assert(sizeof(PairBox) == 32896);

/// What one rank tells another, in its inbox. `channel` is the class of a
/// channel, or one of those below.
///
///   channel      meaning                            half    detail amount a
///   class      here is my half of a channel       address is_receiver  0
///   kRevocation  global operations fail from this   number  rank that status
///                one on; I send nothing for them            failed first
///   kCall        I wait for you in this operation   number  kind         bytes
struct Announcement {
  std::uint64_t half;
  std::uint32_t comm;  ///< Communicator's number.
  std::uint32_t channel;
  std::uint32_t from;  ///< Rank.
  std::uint32_t detail;
  std::uint64_t amount;
};

static_assert(sizeof(Announcement) == 32 &&
              sizeof(Announcement) <= inbox::kMessageBytes);

inline constexpr std::uint32_t kRevocation = 0xfffffffe;
inline constexpr std::uint32_t kCall = 0xfffffffd;

/// How far a rank is, for whoever waits for it. Written by the rank alone.
struct Presence {
  std::uint64_t has_left;  ///< 1: sends nothing any more, all has arrived.
  std::uint64_t barriers;  ///< Of the whole job, begun.
  char host[96];
};

static_assert(sizeof(Presence) == 112);

struct Inbox {
  alignas(64) std::uint64_t tail;  ///< Tickets given out.
  /// From the rank before, when it leaves: its barriers of the whole job, + 1.
  std::uint64_t leaving;
  Presence presence;
  inbox::Cell cell[inbox::kCells];
};

static_assert(offsetof(Inbox, presence) == 16 && offsetof(Inbox, cell) == 128);

}  // namespace qmp
