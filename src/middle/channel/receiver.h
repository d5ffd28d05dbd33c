// The receiving end of a channel: it takes records out of the ring and fetches
// offered messages. docs/channels.md has the states and the flows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "middle/channel/ended_keys.h"
#include "middle/channel/granter.h"
#include "middle/channel/piece_copier.h"
#include "middle/channel/proven_copy.h"
#include "middle/channel/requests.h"
#include "middle/channel/ring_reader.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// A receiving end. Guarded by the lock of its end. Nothing here waits.
///
/// 1. Records are taken in order, and only when a receive is posted for them.
/// 2. Offered messages complete in order, and `finished` counts those that were
///    fetched when all before them are complete.
/// 3. kClosed goes to the sender when all other operations on its block are
///    complete.
class Receiver {
 public:
  /// `block` is a ReceiverBlock in this rank's heap, followed by the ring.
  /// `head` tells other threads where the next header is.
  Receiver(Site& site,
           int sender,
           acp_ga_t block,
           std::atomic<const std::uint64_t*>& head);

  static std::size_t block_bytes(const Site& site) {
    return sizeof(ReceiverBlock) + site.ring_bytes;
  }

  acp_ga_t block() const { return block_; }

  int sender() const { return sender_; }

  /// Connects the end: `sender_block` is the sender's block, `ring_limit` the
  /// longest ring that it can fill.
  void accept(acp_ga_t sender_block, std::uint64_t ring_limit);

  void post(Request& request);

  /// Does what can be done without waiting. True: something was done.
  bool advance();

  /// Called before a thread sleeps: asks the sender for a doorbell. True: look
  /// again.
  bool arm();

  /// The sender copies the rest of a message, and rings only when asked to.
  bool awaits_piece() const {
    return !fetches_.empty() && fetches_.front().is_shared;
  }

  /// Ends the channel after the receives that were posted.
  void close() { is_closing_ = true; }

  bool is_closing() const { return is_closing_; }

  /// The end is freed, and no sender has been told of its block, which can be
  /// freed at once. The end stays until its sender has connected and been told.
  bool has_useless_block() const {
    return phase_ == Phase::kWaiting && is_closing_ && is_done() &&
           block_ != ACP_GA_NULL;
  }

  void forget_block() { block_ = ACP_GA_NULL; }

  /// No connect request has come.
  bool is_waiting() const { return phase_ == Phase::kWaiting; }

  /// Called while is_waiting(), when no connect request can come any more.
  /// Fails all receives.
  void lose_sender();

  /// All posted receives are complete.
  bool is_done() const { return posted_.is_empty() && fetches_.empty(); }

  /// Nothing can be done before something is posted or arrives.
  bool is_idle() const;
  /// Freed, and neither side touches the other's block any more.
  bool is_gone() const;

 private:
  enum class Phase : std::uint8_t {
    kWaiting,    ///< No connect request has come.
    kLost,       ///< No connect request will come.
    kAccepting,  ///< The answer was not posted yet.
    kOpen,
    kClosing,  ///< Nothing more is taken; the sender is not told yet.
    kClosed    ///< The sender has been told.
  };

  /// An offered message that is being fetched, or put by the sender when its
  /// receive is granted.
  struct Fetch {
    Request* request = nullptr;
    acp_ga_t from = ACP_GA_NULL;
    std::uint64_t size = 0;
    ProvenCopy copy;  ///< The copy of the message, or of a piece.
    /// There is no key: goes piece by piece through the block.
    bool is_bounced = false;
    bool is_shared = false;  ///< Both ends copy it; one message at a time.
  };

  ProvenCopy proven_copy(std::uint64_t number);
  void give_answer();
  bool take_records();
  bool take_record(std::uint64_t header);
  bool start_fetch(const Offer& offer);
  bool begin_fetch(Fetch& fetch);
  bool fetch_piece(Fetch& fetch);
  bool go_on(Fetch& fetch, bool& has_worked);
  void take_bounced(Fetch& fetch);
  bool finish_fetches();
  void drop_key(Request& request);
  void take_posted();
  void end_grant(Request& request, bool is_large);
  void tell_of_cut(const Request& request);

  void tell_finished();
  void fail_posted();
  bool tell_closed();

  Site& site_;
  const int sender_;
  acp_ga_t block_;
  ReceiverBlock* const mine_;
  const acp_ga_t sender_rank_block_;

  // The lock of the end guards all fields, and this class alone writes them.
  RingReader ring_;
  Phase phase_ = Phase::kWaiting;
  bool is_closing_ = false;        ///< Set by close().
  bool is_short_of_keys_ = false;  ///< The last fetch got no key.
  bool has_ended_ = false;         ///< The end record was taken.
  bool is_cut_told_ = false;       ///< A message was longer than its receive.
  acp_ga_t sender_block_ = ACP_GA_NULL;
  SenderBlock* direct_ = nullptr;
  std::uint64_t fetched_ = 0;   ///< Fetches that have ended since the start.
  std::uint64_t finished_ = 0;  ///< Fetches that the sender was not told of.
  /// failure_bit() of each that has failed among those.
  std::uint64_t failures_ = 0;
  /// Newest operation that told the sender of failures.
  acp_handle_t failures_told_ = ACP_HANDLE_NULL;
  /// Newest operation on the sender's block.
  acp_handle_t last_ = ACP_HANDLE_NULL;
  RequestQueue posted_;
  std::deque<Fetch> fetches_;
  std::uint64_t offers_ = 0;  ///< Offers taken since the start.
  PieceCopier copier_;
  EndedKeys ended_keys_;
  Granter granter_;
};

}  // namespace acp::middle::channel
