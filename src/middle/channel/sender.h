// The sending end of a channel: it moves messages into the receiver's ring.
// docs/channels.md has the states and the flows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/channel/ended_keys.h"
#include "middle/channel/granted_puts.h"
#include "middle/channel/piece_copier.h"
#include "middle/channel/requests.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// A sending end. Guarded by the lock of its end. Nothing here waits.
///
/// 1. produced_ - consumed_ + kRecordUnit never exceeds the ring: 16 bytes stay
///    free for the 0 behind the newest record.
/// 2. A record takes at most a quarter of the ring. The receiver returns credit
///    for each quarter, so the sender always gets enough room in the end.
/// 3. The end record is written after everything that was posted.
/// 4. While records are gathered, a pass of progress comes that puts them: the
///    end is listed, and acpx_hurry_progress was called after the newest one.
class Sender {
 public:
  /// `block` is a SenderBlock in this rank's heap. The mirror of the ring
  /// follows it when `has_mirror`.
  Sender(Site& site, int receiver, acp_ga_t block, bool has_mirror);

  static std::size_t block_bytes(const Site& site, bool has_mirror) {
    return sizeof(SenderBlock) + (has_mirror ? site.ring_bytes : 0);
  }

  acp_ga_t block() const { return block_; }

  int receiver() const { return receiver_; }

  /// Completes the connect request with the request that it met in the list.
  /// The receiver can read the block from now on.
  void set_older_request(std::uint64_t older_request) {
    store(mine_->next, older_request);
  }

  void post(Request& request);

  /// Does what can be done without waiting. True: something was done.
  bool advance();

  /// Wakes a receiver that sleeps for a record. Called before a thread sleeps
  /// or leaves the library.
  void wake_receiver() {
    if (load(mine_->wants_doorbell) != 0) [[unlikely]] {
      ring_doorbell();
    }
  }

  /// Called before no thread looks at this end for a while. If the ring is
  /// full, asks the receiver to take something out and to ring. True: look
  /// again.
  bool ask_for_credit();

  /// Ends the channel after what was posted.
  void close() { is_closing_ = true; }

  bool is_closing() const { return is_closing_; }

  /// All posted sends are complete.
  bool is_done() const { return queue_.is_empty() && offers_.is_empty(); }

  /// Records lie in the mirror that were not put yet.
  bool is_gathering() const { return direct_ == nullptr && put_ != produced_; }

  /// Nothing can be done before something is posted or arrives.
  bool is_idle() const;
  /// Freed, and neither side touches the other's block any more.
  bool is_gone() const;

 private:
  enum class Phase : std::uint8_t { kConnecting, kOpen, kReleasing, kReleased };
  enum class Wrote : std::uint8_t { kNothing, kMessage, kOffer };

  void open();
  bool write_message(Request& request);
  bool write_offer(const Request& request);
  Wrote write_next(Request& request);
  bool has_room(std::uint64_t bytes);
  bool skip_to_start(std::uint64_t next_length);
  bool write(Record record, const void* bytes, std::uint64_t size);
  bool put_gathered();
  bool write_end();
  bool finish_offers();
  int take_failure(std::uint64_t number);
  bool help();
  void drop_all();
  bool release();
  void ring_doorbell();

  std::uint64_t position() const { return produced_ & (ring_bytes_ - 1); }

  Site& site_;
  const int receiver_;
  const acp_ga_t block_;
  SenderBlock* const mine_;
  /// Copy of the ring from which records are put; null: the ring is mapped
  /// here.
  std::byte* const mirror_;
  const acp_ga_t receiver_rank_block_;

  // The lock of the end guards all fields, and this class alone writes them.
  Phase phase_ = Phase::kConnecting;
  bool is_closing_ = false;  ///< Set by close().
  bool is_end_written_ = false;
  /// Records were written since the last doorbell.
  bool owes_doorbell_ = false;
  ReceiverBlock* direct_ = nullptr;
  /// Where records are written: the ring or the mirror.
  std::byte* ring_ = nullptr;
  acp_ga_t receiver_block_ = ACP_GA_NULL;
  std::uint64_t ring_bytes_ = 0;
  /// Bytes written to the ring, or to the mirror, since the start.
  std::uint64_t produced_ = 0;
  /// Over a network: bytes of records that were put since the start.
  std::uint64_t put_ = 0;
  /// Over a network: the value of `produced_` at the last byte of the newest
  /// record, whose padding is not put.
  std::uint64_t newest_end_ = 0;
  /// Over a network: chains since a pass of progress found nothing gathered.
  int chains_ = 0;
  std::uint64_t consumed_ = 0;  ///< Value of mine_->consumed when last read.
  std::uint64_t sent_ = 0;      ///< Messages written or offered.
  /// Over a network: the last offered message that is complete was put into
  /// granted memory. The next one most likely will be.
  bool expects_grants_ = false;
  /// Offers known to be fetched.
  std::uint64_t finished_ = 0;
  /// Value of mine_->failures but for offers not known to be fetched.
  std::uint64_t failures_ = 0;
  /// Newest operation on the receiver's block.
  acp_handle_t last_ = ACP_HANDLE_NULL;
  RequestQueue queue_;   ///< Sends that are not, or not wholly, written.
  RequestQueue offers_;  ///< Sends that are offered and not complete.
  EndedKeys ended_keys_;
  PieceCopier copier_;
  GrantedPuts granted_puts_;
};

}  // namespace acp::middle::channel
