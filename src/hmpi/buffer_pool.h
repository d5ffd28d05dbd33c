// The buffers of ownership passing that this process has freed, for its next
// OPI_Alloc. They may be of another process's heap: the receiver of a buffer
// keeps it, and so data and processor stay together.
#pragma once

#include <array>
#include <cstddef>

#include "hmpi/heap.h"
#include "hmpi/lock.h"

namespace hmpi {

/// Thread-safe. One for the process, never destroyed.
class BufferPool {
 public:
  constexpr BufferPool() = default;

  /// `most` bytes are kept; beyond them each buffer goes back to its owner's
  /// heap. With `is_paged` buffers have pages of their own, so that they can be
  /// protected.
  void open(std::size_t most, bool is_paged) noexcept;

  /// A buffer of at least this many bytes, of the pool or of the heap; null:
  /// the heap is full.
  void* take(std::size_t bytes) noexcept;

  /// The buffer or block is this process's, and nobody uses it any more.
  void give_back(Block& block) noexcept;

  /// Bytes that are kept.
  std::size_t kept() const noexcept { return kept_; }

 private:
  /// 16 sizes of 4 KiB, and then 8 sizes for each power of two up to 1 TiB.
  static constexpr unsigned kClasses = 16 + 8 * 24;

  /// The kept buffers of one size. The first ones are known without a look at
  /// their memory, which another processor may still have in its cache.
  struct Class {
    static constexpr std::size_t kMostRecent = 4;

    void put(Block& block) noexcept;
    Block* get() noexcept;

    std::array<Block*, kMostRecent> recent{};
    std::size_t recents = 0;
    void* further = nullptr;  ///< The bytes of each lead to the next.
  };

  static unsigned class_of(std::size_t bytes) noexcept;
  static std::size_t size_of(unsigned size_class) noexcept;

  Lock lock_;
  std::array<Class, kClasses> free_{};
  std::size_t kept_ = 0;
  std::size_t most_ = 0;
  bool is_paged_ = false;
};

extern BufferPool g_buffers;

}  // namespace hmpi
