// Matches the messages of one communicator with its receives, by MPI's rules,
// for senders on this host. Each process has a Matching for each known
// communicator, and gives messages to it in the order in which it drained them.
//
// Rules:
//  1. A message matches the oldest receive of its source or of any source,
//     whose tag is equal or any.
//  2. A receive from a source matches the oldest message of that source with
//     its tag. A receive from any source takes the message that was
//     drained first.
//  3. A message is never listed while a receive matches it, nor a receive while
//     a message does. So the order of post() and arrive() decides all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hmpi/intrusive_list.h"

namespace hmpi {

/// A process of this host, counted from 0.
using Peer = std::uint32_t;

inline constexpr Peer kAnyPeer = UINT32_MAX;
inline constexpr std::int32_t kAnyTag = -1;

/// A receive that waits for its message. The owner makes it and keeps it in
/// place while it is listed; an owner derives from it.
struct PostedReceive : ListNode {
  Peer peer = kAnyPeer;
  std::int32_t tag = kAnyTag;
  /// Tells which receive of two lists is older. post() writes it.
  std::uint64_t number = 0;
};

/// A message that waits for its receive. Its owner does as PostedReceive says.
struct UnexpectedMessage : ListNode {
  Peer peer = 0;
  std::int32_t tag = 0;
  /// Tells which of two peers' messages was drained first. keep() writes it.
  std::uint64_t number = 0;
};

/// One thread at a time. Owns no receive and no message.
class Matching {
 public:
  explicit Matching(std::size_t peers) : from_(peers) {}

  /// The message for a receive, out of the list; else null, and the receive is
  /// listed.
  UnexpectedMessage* post(PostedReceive& receive) noexcept;

  /// The receive for a drained message, out of its list; null: none, and the
  /// caller keeps the message before it drains another one of this
  /// communicator.
  PostedReceive* arrive(Peer peer, std::int32_t tag) noexcept;

  /// The receive that arrive() would answer, still listed.
  PostedReceive* expecting(Peer peer, std::int32_t tag) noexcept;

  /// Lists a message for which arrive() has found no receive.
  void keep(UnexpectedMessage& message) noexcept;

  /// The message that a receive posted now would get, still listed; or null.
  UnexpectedMessage* probe(Peer peer, std::int32_t tag) noexcept;

  /// Takes a message that probe() has shown out of the list, for MPI_Mprobe.
  void take(UnexpectedMessage& message) noexcept;

  /// Takes a listed receive out.
  void withdraw(PostedReceive& receive) noexcept;

  /// Whether a receive is listed: then local messages matter to this process.
  bool has_receives() const noexcept { return receives_ != 0; }

 private:
  /// The lists of one peer. They have the oldest entry in front.
  struct From {
    List<PostedReceive> expected;
    List<UnexpectedMessage> unexpected;
  };

  List<PostedReceive>& list_of(const PostedReceive& receive) noexcept {
    return receive.peer == kAnyPeer ? expected_any_
                                    : from_[receive.peer].expected;
  }

  std::vector<From> from_;
  List<PostedReceive> expected_any_;
  std::uint64_t next_number_ = 0;
  std::size_t receives_ = 0;  ///< In all lists.
};

}  // namespace hmpi
