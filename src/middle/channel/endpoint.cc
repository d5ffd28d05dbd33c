#include "middle/channel/endpoint.h"

namespace acp::middle::channel {

Endpoint& EndpointTable::place(std::uint32_t index) {
  std::atomic<Block*>& slot = blocks_[index / kBlock];
  Block* block = slot.load(std::memory_order_acquire);
  if (block == nullptr) {
    block = new Block;  // for the life of the process
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      (*block)[i].index = index / kBlock * kBlock + i;
    }
    slot.store(block, std::memory_order_release);
  }
  return (*block)[index % kBlock];
}

}  // namespace acp::middle::channel
