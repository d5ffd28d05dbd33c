// The receiving end's part in granting: it tells the sender of another host
// where the next large messages may be put.
#pragma once

#include <array>
#include <cstdint>

#include "middle/channel/ended_keys.h"
#include "middle/channel/requests.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Grants receives, and takes note of the messages that were put into their
/// buffers. Guarded by the lock of its end. Nothing here waits.
///
/// 1. Receive k is granted before the offer of message k was read, or never.
///    So the sender puts message k, or the receiver fetches it, and not both.
/// 2. A grant's buffer is registered until the put is complete, or until it is
///    certain that no put will come.
/// 3. Grant k is written when receive k - kGrants is complete and the write of
///    that grant as well. So the sender never reads a mixture of two.
class Granter {
 public:
  /// `ended` takes the keys of complete receives.
  Granter(Site& site, ReceiverBlock& mine, EndedKeys& ended)
      : site_(site), mine_(mine), ended_(ended) {}

  /// The sender's block is known from now on, and no memory maps it here.
  void connect(int sender, acp_ga_t sender_block) {
    sender_ = sender;
    sender_block_ = sender_block;
  }

  /// Called for each receive that is posted, in order. Gives it its number.
  void add(Request& request);

  /// Called before the oldest posted receive leaves the queue.
  void pass(const Request& request) {
    if (next_ == &request) {
      next_ = request.next;
    }
  }

  /// Grants receives in order, as far as entries and keys allow. `newest`
  /// becomes the newest operation on the sender's block. True: the next receive
  /// is another one.
  bool advance(acp_handle_t& newest);

  /// Whether the message has been put into the buffer of a granted receive.
  /// `error` becomes 0 or the code of the sender's failure.
  bool is_put(const Request& request, int& error) const;

  /// Ends the grant of a receive. `is_large`: its message had kOfferFrom bytes
  /// or more.
  void finish(Request& request, bool is_large);

  /// Learns from a message that no grant was given for.
  void learn(const Request& request, bool is_large) {
    if (request.size >= kOfferFrom) {
      expects_large_ = is_large;
    }
  }

 private:
  /// A grant that was written, by number modulo kGrants.
  struct Written {
    const Request* request = nullptr;  ///< Null: the receive is complete.
    acp_handle_t handle = ACP_HANDLE_NULL;
  };

  bool grant(Request& request, acp_handle_t& newest);

  Site& site_;
  const ReceiverBlock& mine_;
  EndedKeys& ended_;
  // The lock of the end guards these fields. connect() writes the first two.
  int sender_ = -1;  ///< Rank. Set with sender_block_.
  acp_ga_t sender_block_ = ACP_GA_NULL;
  /// The newest message for a receive of kOfferFrom bytes or more had as many
  /// itself. So a program whose large receives get small messages pays for no
  /// grant.
  bool expects_large_ = false;
  std::uint64_t posted_ = 0;  ///< Receives posted since the start.
  /// Oldest posted receive that was not looked at yet.
  Request* next_ = nullptr;
  std::array<Written, kGrants> written_{};
};

}  // namespace acp::middle::channel
