// The ring of a receiving end: where its next record is, and how much of it the
// sender may fill again (credit). docs/channels.md has the flows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Used by Receiver. Guarded by the lock of its end. Nothing here waits.
///
/// 1. Credit goes back at each quarter of the ring. When a post is refused, it
///    is owed until the next return_credit().
/// 2. Over a network, the bytes in front of the sender are 0.
class RingReader {
 public:
  /// The ring lies behind `mine`. `head` tells other threads where the next
  /// header is, from show_head() to hide_head().
  RingReader(Site& site,
             ReceiverBlock& mine,
             acp_ga_t sender_rank_block,
             std::atomic<const std::uint64_t*>& head)
      : site_(site),
        mine_(mine),
        ring_(reinterpret_cast<std::byte*>(&mine + 1)),
        sender_rank_block_(sender_rank_block),
        bytes_(site.ring_bytes),
        head_(head) {}

  /// Clears the ring, before the sender learns where it is. `direct` is the
  /// sender's block where memory maps it here, or null. `limit`: the longest
  /// ring that the sender can fill, a power of 2.
  void connect(acp_ga_t sender_block, SenderBlock* direct, std::uint64_t limit);

  /// Bytes of the ring, a power of 2.
  std::uint64_t size() const { return bytes_; }

  /// The header of the next record. 0: it has not come.
  std::uint64_t header() const {
    return load(*reinterpret_cast<const std::uint64_t*>(ring_ + position()));
  }

  /// The bytes behind that header.
  const std::byte* body() const { return ring_ + position() + kHeaderBytes; }

  /// Called for each message and part, before consume().
  void note(Record record) {
    ++taken_;
    has_parts_ = has_parts_ || record == Record::kPart;
  }

  /// Takes the record whose body has so many bytes. `newest` becomes the newest
  /// operation on the sender's block.
  void consume(std::uint64_t body_bytes, acp_handle_t& newest) {
    const std::uint64_t length = footprint(body_bytes);
    if (direct_ == nullptr) {
      // The sender's chains come in any order, so no old byte may look like a
      // header.
      std::memset(ring_ + position(), 0, length);
    }
    consumed_ += length;
    if (owes_credit()) {
      return_credit(newest);
    }
  }

  /// A sender that waits for room has at least a quarter to wait for.
  bool owes_credit() const { return consumed_ - returned_ >= bytes_ / 4; }

  /// Tells the sender of the room, unless the post is refused. `newest` as for
  /// consume().
  void return_credit(acp_handle_t& newest);

  /// Shows other threads the next header.
  void show_head() {
    head_.store(reinterpret_cast<const std::uint64_t*>(ring_ + position()),
                std::memory_order_release);
  }

  void hide_head() { head_.store(nullptr, std::memory_order_relaxed); }

 private:
  bool is_answered() const;

  std::uint64_t position() const { return consumed_ & (bytes_ - 1); }

  Site& site_;
  ReceiverBlock& mine_;
  std::byte* const ring_;
  const acp_ga_t sender_rank_block_;

  // The lock of the end guards all fields, and this class alone writes them.
  // Other threads read head_ without the lock.
  std::uint64_t bytes_;
  acp_ga_t sender_block_ = ACP_GA_NULL;
  SenderBlock* direct_ = nullptr;
  /// Bytes taken out of the ring since the start.
  std::uint64_t consumed_ = 0;
  std::uint64_t returned_ = 0;  ///< Value of consumed_ that the sender knows.
  /// Calls of note() since return_credit() returned credit, and whether one of
  /// them was for a part.
  std::uint64_t taken_ = 0;
  bool has_parts_ = false;
  /// Site::records_sent when credit was returned.
  std::uint64_t sent_before_ = 0;
  /// Address of the next header; see End::head.
  std::atomic<const std::uint64_t*>& head_;
};

}  // namespace acp::middle::channel
