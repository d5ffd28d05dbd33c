// The table of ends. Called with the list's lock of Channels held. Its blocks
// are never freed, because a handle may be looked up at any time.
#include "middle/channel/end.h"

namespace acp::middle::channel {

End& EndTable::at_or_new(std::uint32_t index) {
  std::atomic<Block*>& entry = blocks_[index / kBlock];
  Block* block = entry.load(std::memory_order_acquire);
  if (block == nullptr) {
    block = new Block;  // It lives as long as the process.
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      (*block)[i].index = index / kBlock * kBlock + i;
    }
    entry.store(block, std::memory_order_release);
  }
  return (*block)[index % kBlock];
}

}  // namespace acp::middle::channel
