// The pool of requests that each end has. Called by Channels, only with the
// end's lock held. Requests are not freed while the end exists, because their
// handles may be looked up at any time.
#include "middle/channel/requests.h"

namespace acp::middle::channel {

bool RequestPool::grow() {
  if (size_ == kMaxRequests) {
    return false;
  }
  blocks_.push_back(std::make_unique<Request[]>(kBlock));
  for (std::uint32_t i = kBlock; i-- > 0;) {
    Request& request = blocks_.back()[i];
    request.index = size_ + i;
    request.next = unused_;
    unused_ = &request;
  }
  size_ += kBlock;
  return true;
}

void RequestPool::clear() {
  for (const auto& block : blocks_) {
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      if (block[i].state != RequestState::kUnused) {
        give_back(block[i]);
      }
    }
  }
}

}  // namespace acp::middle::channel
