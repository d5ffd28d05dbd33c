// Clears a receiving end's ring, and returns credit to the sender. Called by
// Receiver with the end's lock held. A refused post changes nothing.
#include "middle/channel/ring_reader.h"

#include <algorithm>
#include <array>

namespace acp::middle::channel {

/// All of it over a network, only the first header on one host.
void RingReader::connect(acp_ga_t sender_block,
                         SenderBlock* direct,
                         std::uint64_t limit) {
  sender_block_ = sender_block;
  direct_ = direct;
  bytes_ = std::min(bytes_, limit);
  std::memset(ring_, 0, direct_ == nullptr ? bytes_ : kHeaderBytes);
}

/// Whether the program has sent as many records as this end has taken since the
/// last credit. Then it most likely answers the newest one as well. The sender
/// of a message in parts may already wait for the credit.
bool RingReader::is_answered() const {
  return !has_parts_ &&
         site_.records_sent.load(std::memory_order_relaxed) - sent_before_ >=
             taken_;
}

/// On one host a store and, if the sender waits for room, a doorbell. Over a
/// network an addition of the difference: additions commute, so the order in
/// which they arrive does not matter. It leaves with the program's answer, if
/// the program answers. A datagram of its own, and the one with its reply, take
/// longer than a message's bytes.
void RingReader::return_credit(acp_handle_t& newest) {
  if (direct_ != nullptr) {
    store(direct_->consumed, consumed_);
    returned_ = consumed_;
    fence();  // pairs with the fence in Sender::ask_for_credit
    if (load(mine_.wants_credit) != 0) {
      store(mine_.wants_credit, 0);
      const std::array ops = {
          add8(sender_rank_block_ + offsetof(RankBlock, doorbell), 1, true)};
      (void)channel::post(ops);  // to memory that is mapped here: never refused
    }
    return;
  }
  const acpx_op_t credit = add8(sender_block_ + offsetof(SenderBlock, consumed),
                                consumed_ - returned_, true);
  const std::array ops = {is_answered() ? leaves_later(credit) : credit};
  const acp_handle_t handle = channel::post(ops);
  if (handle != ACP_HANDLE_NULL) {
    newest = handle;
    returned_ = consumed_;
    taken_ = 0;
    has_parts_ = false;
    sent_before_ = site_.records_sent.load(std::memory_order_relaxed);
  }
}

}  // namespace acp::middle::channel
