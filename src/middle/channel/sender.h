// The sending end of a channel: what moves its messages into the receiver's
// ring. docs/channels.md has the states and the flows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/channel/piece_copier.h"
#include "middle/channel/requests.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Guarded by the lock of its end. Nothing here waits.
class Sender {
 public:
  /// `block` is a SenderBlock in own heap memory, followed by the mirror of
  /// the ring when `has_mirror`.
  Sender(Site& site, int receiver, acp_ga_t block, bool has_mirror);

  static std::size_t block_bytes(const Site& site, bool has_mirror) {
    return sizeof(SenderBlock) + (has_mirror ? site.ring_bytes : 0);
  }

  acp_ga_t block() const { return block_; }

  int receiver() const { return receiver_; }

  /// The call was made: what it met. The receiver may read it from now on.
  void set_older_request(std::uint64_t older_request) {
    store(mine_->next, older_request);
  }

  void post(Request& request);

  /// Moves what can be moved; true when something did.
  bool advance();

  /// A thread is about to sleep, or leaves the library: whoever sleeps at the
  /// receiver for what was written here has to be woken.
  void wake_receiver() {
    if (load(mine_->wants_doorbell) != 0) [[unlikely]] {
      ring_doorbell();
    }
  }

  /// Nobody will look for a while: has the receiver take something out of a
  /// full ring, and say so. True: look again.
  bool ask_for_credit();

  /// Free: ends the channel after what was posted.
  void close() { is_closing_ = true; }

  bool is_closing() const { return is_closing_; }

  /// Nothing is posted that is not complete.
  bool is_done() const { return queue_.is_empty() && offers_.is_empty(); }

  /// Nothing is to be done before something is posted or arrives.
  bool is_idle() const;
  /// Freed, and nobody will touch the other one's block any more.
  bool is_gone() const;

 private:
  enum class Phase : std::uint8_t { kConnecting, kOpen, kReleasing, kReleased };
  enum class Wrote : std::uint8_t { kNothing, kMessage, kOffer };

  void open();
  bool write_message(Request& request);
  bool write_offer(const Request& request);
  Wrote write_next(Request& request);
  bool has_room(std::uint64_t bytes);
  bool skip_to_start();
  bool write(Record record, const void* bytes, std::uint64_t size);
  bool write_end();
  bool finish_offers();
  bool help();
  void drop_all();
  bool release();
  void ring_doorbell();

  std::uint64_t position() const { return produced_ & (ring_bytes_ - 1); }

  Site& site_;
  const int receiver_;
  const acp_ga_t block_;
  SenderBlock* const mine_;
  std::byte* const mirror_;  ///< Null: the ring is mapped here.
  const acp_ga_t receiver_rank_block_;

  Phase phase_ = Phase::kConnecting;
  bool is_closing_ = false;
  bool is_end_written_ = false;
  bool is_unannounced_ = false;  ///< Records since the last doorbell.
  ReceiverBlock* direct_ = nullptr;
  std::byte* ring_ = nullptr;  ///< Where I write: the ring or the mirror.
  acp_ga_t receiver_block_ = ACP_GA_NULL;
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t produced_ = 0;
  std::uint64_t consumed_ = 0;  ///< As last seen.
  std::uint64_t finished_ = 0;
  acp_handle_t last_ = ACP_HANDLE_NULL;  ///< Newest operation on the ring.
  RequestQueue queue_;                   ///< Not, or not all, written.
  RequestQueue offers_;                  ///< Offered, not fetched.
  PieceCopier copier_;
};

}  // namespace acp::middle::channel
