// The layout of the memory that nodes write into for each other. It is the
// halves of a channel, the box of a pair, and the inbox of a rank. All words
// are 8 bytes in the byte order of the host. docs/qmp.md has the protocol.
//
//   receiver's half   offset        sender's half    offset
//     entry[16]       0               grant[16]      0
//     area[16]        1024            consumed       1024
//     end_mark        66560           end_mark       1032
//   size              66624                          1088
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

/// Entries of a half, and messages that a sender may be ahead. Each takes 4 KiB
/// of the receiver. docs/qmp.md has the layout and the invariants; the mask of
/// consumed messages has 32 bits.
inline constexpr std::size_t kEntries = 16;

/// The index of the entry of message `number`, and of its grant.
constexpr std::size_t entry_of(std::uint64_t number) {
  return static_cast<std::size_t>(number % kEntries);
}

/// Messages of up to kEagerBytes are sent eagerly. The bytes of up to
/// kInlineBytes lie in the line, beside the word.
inline constexpr std::size_t kEagerBytes = 4096;
inline constexpr std::size_t kInlineBytes = 56;

/// A word, and bytes that its writer stores before it; one cache line.
struct alignas(64) Line {
  std::uint64_t word;
  std::byte bytes[kInlineBytes];
};

static_assert(sizeof(Line) == 64 && offsetof(Line, bytes) == 8);

/// The peer writes an end mark once, when it leaves: how many transfers it has
/// started on its half in all, + 1. 0: it has not left.
struct ReceiverHalf {
  Line entry[kEntries];
  std::byte area[kEntries][kEagerBytes];
  alignas(64) std::uint64_t end_mark;
};

static_assert(offsetof(ReceiverHalf, area) == 1024);
static_assert(offsetof(ReceiverHalf, end_mark) == 66560);
static_assert(sizeof(ReceiverHalf) == 66624);

struct SenderHalf {
  Line grant[kEntries];
  alignas(64) std::uint64_t consumed;
  std::uint64_t end_mark;
};

static_assert(offsetof(SenderHalf, consumed) == 1024);
static_assert(offsetof(SenderHalf, end_mark) == 1032);
static_assert(sizeof(SenderHalf) == 1088);

/// The offset of the end mark in a half.
constexpr std::size_t end_mark_offset(bool is_receiver) {
  return is_receiver ? offsetof(ReceiverHalf, end_mark)
                     : offsetof(SenderHalf, end_mark);
}

/// The answer of a receive to its sender: the message may be put into `count`
/// blocks, block i at address + i * stride. A grant with address 0 has no
/// memory; it only serves to refuse messages longer than `capacity`.
struct Grant {
  std::uint64_t address;
  std::uint64_t capacity;
  std::uint64_t block;
  std::int64_t stride;
  std::uint64_t count;
};

static_assert(sizeof(Grant) == 40 && sizeof(Grant) <= kInlineBytes);

/// How a message came; a part of the word of its entry.
enum class Kind : std::uint64_t {
  kEager = 1,   ///< Eagerly: the bytes are in the line or the area.
  kDirect = 2,  ///< The bytes are in the memory of the grant.
  /// Not sent: `size` exceeds the capacity of the grant, or the sender has
  /// failed.
  kUnsent = 3,
};

/// The word of an entry: number + 1 (20 bits) | kind (4) | size (40).
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

/// Names one global operation of a communicator. The messages of one operation
/// carry equal tags and equal numbers of bytes on all nodes. Where they differ,
/// the calls of the nodes do not agree.
struct Tag {
  std::uint64_t number = 0;  ///< How many operations came before, + 1.
  std::uint8_t kind = 0;  ///< One of the constants below, or Operator::kind().

  bool operator==(const Tag&) const = default;
};

inline constexpr std::uint8_t kHandshake = 0;
inline constexpr std::uint8_t kBroadcast = 1;
inline constexpr std::uint8_t kBarrier = 2;
inline constexpr std::uint8_t kAllToAll = 3;
/// QMP_barrier of the whole job: an acp_sync, without messages.
inline constexpr std::uint8_t kJobBarrier = 4;

/// A call of a global operation, as one node has made it.
struct Call {
  Tag tag;
  std::uint64_t bytes = 0;
};

/// The eager message that begins each message of a global operation in a
/// channel of class collective. More than kEnvelopeBytes bytes follow as a
/// second message.
inline constexpr std::size_t kEnvelopeBytes = kEagerBytes - 24;

struct EnvelopeHead {
  std::uint64_t number;
  std::uint64_t kind;
  std::uint64_t bytes;  ///< Length of the message, in both parts together.
};

struct Envelope {
  EnvelopeHead head;
  std::byte payload[kEnvelopeBytes];
};

static_assert(sizeof(Envelope) == kEagerBytes &&
              offsetof(Envelope, payload) == 24);

/// The box of a node, into which its partner in a pair writes. Message k of the
/// partner has entry k mod 2; up to kInlineBytes of it lie in the line.
inline constexpr std::size_t kPairEntries = 2;
inline constexpr std::size_t kPairBytes = 16384;

/// Replaces the size in an entry word of a box: number of the
/// operation (17 bits) | kind (8) | size (15).
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

/// A message of one rank to another, through the inbox. `channel` is the class
/// of a channel, kRevocation, kMet or kCall.
///
///   channel      meaning                             half    detail amount
///   class        the sender made its half of this    address is_receiver 0
///                channel
///   kRevocation  operations from this number on      number  rank that status
///   |
///                fail; the sender puts nothing more          failed    cause
///                for them                                    first     << 32
///   kMet         one of the two calls that did not   number  rank << 8 bytes
///                agree; two come before the                  | kind
///                revocation that tells of them
///   kCall        the sender waits for the receiver   number  kind        bytes
///                in this operation
struct InboxMessage {
  std::uint64_t half;
  std::uint32_t comm;  ///< Number of the communicator.
  std::uint32_t channel;
  std::uint32_t from;  ///< Rank of the sender.
  std::uint32_t detail;
  std::uint64_t amount;
};

static_assert(sizeof(InboxMessage) == 32 &&
              sizeof(InboxMessage) <= inbox::kMessageBytes);

inline constexpr std::uint32_t kRevocation = 0xfffffffe;
inline constexpr std::uint32_t kCall = 0xfffffffd;
inline constexpr std::uint32_t kMet = 0xfffffffc;

/// Why a global operation has failed, for nodes that are told of it.
enum class Cause : std::uint32_t {
  kOther = 0,        ///< The status says it.
  kLeft = 1,         ///< The rank has left instead of calling it.
  kNoMemory = 2,     ///< The rank had no memory for it.
  kDisagreement = 3  ///< Two calls did not agree; kMet has them.
};

/// Values of Presence::stage, in the order in which a rank has them.
enum class Stage : std::uint64_t {
  kHere = 0,
  kLeft = 1,  ///< All messages of its global operations have arrived.
  kOver =
      2,  ///< It makes no progress any more, and all its words have arrived.
};

/// The state of a rank for ranks that wait for it. Only the rank itself writes
/// it; others read it at any time.
struct Presence {
  std::uint64_t stage;     ///< A Stage.
  std::uint64_t barriers;  ///< Barriers of the whole job begun.
  char host[96];
};

static_assert(sizeof(Presence) == 112);

struct Inbox {
  alignas(64) std::uint64_t tickets;  ///< The ticket counter; see inbox.h.
  /// Written by the previous rank when it leaves: the number of its barriers of
  /// the whole job, + 1. 0: it has not left.
  std::uint64_t leaving;
  Presence presence;
  inbox::Cell cell[inbox::kCells];
};

static_assert(offsetof(Inbox, presence) == 16 && offsetof(Inbox, cell) == 128);

}  // namespace qmp
