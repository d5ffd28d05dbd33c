// The sending end's part in granting: it puts offered messages into the memory
// that the receiver of another host has granted.
#pragma once

#include <array>
#include <cstdint>

#include "middle/channel/requests.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Puts offered messages whose grants have come. Guarded by the lock of its
/// end. Nothing here waits.
///
/// 1. A message is put once: when its offer was written and its grant is here.
/// 2. The receiver is told of every put, also of a failed put.
/// 3. A result word is used again when the put before it is complete.
class GrantedPuts {
 public:
  /// `block` is the address of `mine`.
  GrantedPuts(SenderBlock& mine, acp_ga_t block) : mine_(mine), block_(block) {}

  /// The receiver's block is known from now on.
  void connect(acp_ga_t receiver_block) { receiver_block_ = receiver_block; }

  /// Puts each message of `offers` whose grant has come. Messages below `sent`
  /// were offered or written. `newest` becomes the newest operation on the
  /// receiver's block. True: a message was put.
  bool advance(const RequestQueue& offers,
               std::uint64_t sent,
               acp_handle_t& newest);

  /// Whether the put of a message is complete, and the receiver knows of a
  /// failure, whose code is request.error then.
  bool is_done(Request& request, acp_handle_t& newest);

 private:
  bool put(Request& request, acp_handle_t& newest);
  bool tell_failure(Request& request, acp_handle_t& newest);
  acp_ga_t arrived_at(const Request& request) const;

  SenderBlock& mine_;
  const acp_ga_t block_;
  // The lock of the end guards these fields. connect() writes
  // receiver_block_. advance() and is_done() write the arrays.
  acp_ga_t receiver_block_ = ACP_GA_NULL;
  /// Number of the newest grant that needs no look any more, as in the grant.
  std::array<std::uint64_t, kGrants> seen_{};
  /// The message that is being put, by number modulo kGrants.
  std::array<const Request*, kGrants> puts_{};
  /// Values of ReceiverBlock::arrived that this end has written.
  std::array<std::uint64_t, kGrants> arrived_{};
};

}  // namespace acp::middle::channel
