// Keeps freed buffers by size; see buffer_pool.h.
#include "hmpi/buffer_pool.h"

#include <bit>
#include <cstring>
#include <mutex>

#include "hmpi/host_memory.h"
#include "hmpi/pages.h"

namespace hmpi {

constinit BufferPool g_buffers;

void BufferPool::open(std::size_t most, bool is_paged) noexcept {
  most_ = most;
  is_paged_ = is_paged;
}

void BufferPool::Class::put(Block& block) noexcept {
  if (recents < kMostRecent) {
    recent[recents++] = &block;
  } else {
    std::memcpy(block.bytes(), &further, sizeof further);
    further = block.bytes();
  }
}

/// The buffer that was put last, or about so; null: none is kept.
Block* BufferPool::Class::get() noexcept {
  if (recents != 0) {
    return recent[--recents];
  }
  if (further == nullptr) {
    return nullptr;
  }
  Block* block = static_cast<Block*>(further) - 1;
  std::memcpy(&further, block->bytes(), sizeof further);
  return block;
}

/// The first class whose size holds so many bytes.
unsigned BufferPool::class_of(std::size_t bytes) noexcept {
  const std::size_t pages =
      bytes == 0 ? 1 : (bytes + kPageBytes - 1) / kPageBytes;
  if (pages <= 16) {
    return static_cast<unsigned>(pages - 1);
  }
  const auto power = static_cast<unsigned>(std::bit_width(pages - 1)) - 1;
  const auto step = static_cast<unsigned>((pages - 1) >> (power - 3)) - 8;
  return 16 + (power - 4) * 8 + step;
}

std::size_t BufferPool::size_of(unsigned size_class) noexcept {
  if (size_class < 16) {
    return (size_class + 1) * kPageBytes;
  }
  const unsigned power = (size_class - 16) / 8 + 4;
  const unsigned step = (size_class - 16) % 8;
  return (std::size_t{9 + step} << (power - 3)) * kPageBytes;
}

void* BufferPool::take(std::size_t bytes) noexcept {
  const unsigned size_class = class_of(bytes);
  if (size_class < kClasses) {
    const std::lock_guard lock(lock_);
    if (Block* block = free_[size_class].get()) {
      kept_ -= block->units * Block::kUnit;
      block->use.store(Block::Use::kBuffer, std::memory_order_relaxed);
      return block->bytes();
    }
  }
  return size_class >= kClasses
             ? nullptr
             : g_host_memory.take(size_of(size_class),
                                  is_paged_ ? kPageBytes : Block::kUnit,
                                  Block::Use::kBuffer);
}

/// A block of malloc may be smaller than the size of its class, so only buffers
/// of OPI_Alloc are kept.
void BufferPool::give_back(Block& block) noexcept {
  const std::size_t bytes = block.units * Block::kUnit;
  if (block.use.load(std::memory_order_relaxed) == Block::Use::kBuffer) {
    const std::lock_guard lock(lock_);
    if (kept_ + bytes <= most_) {
      block.use.store(Block::Use::kPooled, std::memory_order_relaxed);
      // The buffer has the size of a class, and less than a unit more.
      free_[class_of(block.capacity() & ~(kPageBytes - 1))].put(block);
      kept_ += bytes;
      return;
    }
  }
  g_host_memory.give_back(block.bytes());
}

}  // namespace hmpi
