// Registered memory in buffers of one packet each. A device has one pool for
// sends; its receives and words have pools of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/log.h"
#include "status/result.h"
#include "verbs/packet.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// A buffer for one packet. Owned by its pool and lent.
struct Buffer {
  std::byte* data = nullptr;
  std::uint32_t lkey = 0;

  std::span<std::byte> bytes() const noexcept { return {data, kPacketBytes}; }
};

/// Grows by whole chunks and never shrinks. Guarded by the engine's mutex.
class BufferPool {
 public:
  explicit BufferPool(ibv_pd& domain) : domain_(domain) {}

  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// Adds at least `count` buffers. kNoMemory: logged with the remedy, at
  /// `level`.
  [[nodiscard]] Status grow(std::size_t count,
                            LogLevel level = LogLevel::kError);

  /// Lends a buffer; null when all are lent.
  Buffer* acquire() noexcept {
    if (free_.empty()) {
      return nullptr;
    }
    Buffer* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  void release(Buffer* buffer) noexcept { free_.push_back(buffer); }

  std::size_t size() const noexcept { return size_; }

  /// Whether less than half of the buffers are free.
  bool is_low() const noexcept { return free_.size() * 2 < size_; }

 private:
  /// Memory of one grow(), registered as a whole.
  struct Chunk {
    void* memory;
    std::size_t bytes;
    std::vector<Buffer> buffers;
    MemoryRegion region;
  };

  ibv_pd& domain_;
  // grow() adds to all three. acquire() and release() move buffers out of and
  // into the free ones.
  std::vector<Chunk> chunks_;
  std::vector<Buffer*> free_;  ///< Room for all, so release() never allocates.
  std::size_t size_ = 0;
};

}  // namespace acp::verbs
