// The receiving end of a channel: what takes records out of the ring and
// fetches offered messages. docs/channels.md has the states and the flows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "middle/channel/piece_copier.h"
#include "middle/channel/requests.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Guarded by the lock of its end. Nothing here waits.
class Receiver {
 public:
  /// `block` is a ReceiverBlock in own heap memory, followed by the ring.
  /// `head` is where other threads find the next header.
  Receiver(Site& site,
           int sender,
           acp_ga_t block,
           std::atomic<const std::uint64_t*>& head);

  static std::size_t block_bytes(const Site& site) {
    return sizeof(ReceiverBlock) + site.ring_bytes;
  }

  acp_ga_t block() const { return block_; }

  int sender() const { return sender_; }

  /// The sender that belongs to this end has called: its block, and the
  /// longest ring that it can fill.
  void accept(acp_ga_t sender_block, std::uint64_t ring_limit);

  void post(Request& request);

  /// Moves what can be moved; true when something did.
  bool advance();

  /// A thread is about to sleep: the sender has to ring. True: look again.
  bool arm();

  /// The sender copies the rest of a message, and rings only when armed.
  bool awaits_piece() const {
    return !fetches_.empty() && fetches_.front().is_shared;
  }

  /// Free: ends the channel after the receives that were posted.
  void close() { is_closing_ = true; }

  bool is_closing() const { return is_closing_; }

  /// Nobody knows of the block, and nobody will: it can go at once. The end
  /// stays until its sender has called and been told.
  bool has_useless_block() const {
    return phase_ == Phase::kWaiting && is_closing_ && is_done() &&
           block_ != ACP_GA_NULL;
  }

  void forget_block() { block_ = ACP_GA_NULL; }

  /// The sender has not called.
  bool is_waiting() const { return phase_ == Phase::kWaiting; }

  /// Nothing is posted that is not complete.
  bool is_done() const { return posted_.is_empty() && fetches_.empty(); }

  /// Nothing is to be done before something is posted or arrives.
  bool is_idle() const;
  /// Freed, and nobody will touch the other one's block any more.
  bool is_gone() const;

 private:
  enum class Phase : std::uint8_t {
    kWaiting,    ///< For the sender's call.
    kAccepting,  ///< The answer has to be given.
    kOpen,
    kClosing,  ///< Nothing more is taken; the sender has to be told.
    kClosed    ///< It has been.
  };

  /// An offered message under way.
  struct Fetch {
    Request* request;
    acp_ga_t from;
    std::uint64_t size;
    acp_handle_t handle;
    bool is_bounced;  ///< No key: piece by piece through the block.
    bool is_shared;   ///< The sender helps; one at a time.
  };

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
  void consume(std::uint64_t length);

  /// A sender that is stuck has at least a quarter of the ring to wait for.
  bool owes_credit() const { return consumed_ - returned_ >= ring_bytes_ / 4; }

  void return_credit();
  void tell_finished();
  void fail_posted();
  void tell_closed();
  void move_head();

  std::uint64_t position() const { return consumed_ & (ring_bytes_ - 1); }

  Site& site_;
  const int sender_;
  acp_ga_t block_;
  ReceiverBlock* const mine_;
  std::byte* const ring_;
  const acp_ga_t sender_rank_block_;

  Phase phase_ = Phase::kWaiting;
  bool is_closing_ = false;
  bool is_short_of_keys_ = false;
  bool has_ended_ = false;  ///< The sender has freed its end.
  std::uint64_t ring_bytes_;
  acp_ga_t sender_block_ = ACP_GA_NULL;
  SenderBlock* direct_ = nullptr;
  std::uint64_t consumed_ = 0;
  std::uint64_t returned_ = 0;  ///< As the sender knows it.
  std::uint64_t finished_ = 0;  ///< Fetches that the sender is not told of.
  acp_handle_t last_ = ACP_HANDLE_NULL;      ///< Newest operation on its block.
  std::atomic<const std::uint64_t*>& head_;  ///< Next header.
  RequestQueue posted_;
  std::deque<Fetch> fetches_;
  std::uint64_t offers_ = 0;  ///< Taken, ever.
  PieceCopier copier_;
};

}  // namespace acp::middle::channel
