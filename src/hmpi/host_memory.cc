// Finds the heap that a block belongs to; see host_memory.h.
#include "hmpi/host_memory.h"

#include <algorithm>

#include "hmpi/pages.h"

namespace hmpi {

constinit HostMemory g_host_memory;

void HostMemory::open(void* memory,
                      std::size_t bytes,
                      std::size_t reserved,
                      Owner me) noexcept {
  reserved = reserved / kPageBytes * kPageBytes;
  heap_.open(memory, bytes - reserved, me);
  if (reserved != 0) {
    std::byte* reserve = static_cast<std::byte*>(memory) + (bytes - reserved);
    reserve_.open(reserve, reserved, me);
    reserve_begin_ = reinterpret_cast<std::uintptr_t>(reserve);
  }
  me_ = me;
  own_bytes_ = bytes;
  is_closed_.store(false, std::memory_order_release);
}

/// The range of addresses comes last: from then on free() asks here.
void HostMemory::add_heaps(std::vector<Extent> heaps) {
  heaps_ = new std::vector<Extent>(std::move(heaps));
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (const Extent& heap : *heaps_) {
    begin = std::min(begin, heap.begin);
    end = std::max(end, heap.begin + heap.bytes);
  }
  begin_.store(begin, std::memory_order_relaxed);
  bytes_.store(end - begin, std::memory_order_release);
}

void* HostMemory::take(std::size_t bytes,
                       std::size_t alignment,
                       Block::Use use) noexcept {
  return is_closed_.load(std::memory_order_relaxed)
             ? nullptr
             : heap_.take(bytes, alignment, use);
}

void* HostMemory::take_reserved(std::size_t bytes) noexcept {
  if (is_closed_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  void* block = reserve_begin_ == UINTPTR_MAX
                    ? nullptr
                    : reserve_.take(bytes, Block::kUnit, Block::Use::kTaken);
  return block != nullptr ? block : take(bytes);
}

void HostMemory::give_back(void* memory) noexcept {
  if (memory == nullptr || is_closed_.load(std::memory_order_relaxed)) {
    return;
  }
  Block& block = *(static_cast<Block*>(memory) - 1);
  if (is_own(block)) {
    // The reserve is the end of the heap.
    const bool is_reserved =
        reinterpret_cast<std::uintptr_t>(memory) >= reserve_begin_;
    (is_reserved ? reserve_ : heap_).give_back(block);
    return;
  }
  const Extent& heap = (*heaps_)[block.owner];
  Heap::return_to(*reinterpret_cast<HeapRoot*>(heap.begin), block, heap.shift);
}

bool HostMemory::grow(Block& block, std::size_t bytes) noexcept {
  return !is_closed_.load(std::memory_order_relaxed) && is_own(block) &&
         heap_.grow(block, bytes);
}

/// The header of a block that begins where its heap does would lie in front of
/// the heap. So the owner that it names has to be the one whose heap it is in.
Block* HostMemory::block_at(void* address) const noexcept {
  if (!contains(address)) {
    return nullptr;
  }
  Block* block = Block::at(address);
  if (block == nullptr || block->owner >= heaps_->size()) {
    return nullptr;
  }
  const Extent& heap = (*heaps_)[block->owner];
  return reinterpret_cast<std::uintptr_t>(address) - heap.begin < heap.bytes
             ? block
             : nullptr;
}

}  // namespace hmpi
