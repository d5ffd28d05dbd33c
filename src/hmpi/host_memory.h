// The heaps of all processes of this host, as this process sees them: where
// malloc, MPI_Alloc_mem, OPI_Alloc and the engine take memory that the other
// processes can read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hmpi/heap.h"

namespace hmpi {

/// The number of a process among those of its host.
using Owner = std::uint16_t;

/// Thread-safe after add_heaps(). It is never destroyed: memory of the program
/// may be freed as late as the process ends.
class HostMemory {
 public:
  /// The heap of one process, in addresses of this one.
  struct Extent {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    /// Added to an address in the owner's process, gives the address here.
    std::uint64_t shift = 0;
  };

  constexpr HostMemory() = default;

  /// Opens the heap of this process in zeroed memory. Its last `reserved` bytes
  /// are kept for take_reserved().
  void open(void* memory,
            std::size_t bytes,
            std::size_t reserved,
            Owner me) noexcept;

  std::size_t heap_bytes() const noexcept { return own_bytes_; }

  /// Heap::set_on_return(), before the heap is used.
  void set_on_return(Heap::OnReturn call) noexcept {
    heap_.set_on_return(call);
  }

  /// Tells the heaps of all processes of the host, by their numbers.
  void add_heaps(std::vector<Extent> heaps);

  /// Whether an address may be one of a heap. False before add_heaps().
  bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) -
               begin_.load(std::memory_order_relaxed) <
           bytes_.load(std::memory_order_relaxed);
  }

  /// A block of this process's heap, which begins on a cache line; null: the
  /// heap is full. The bytes are not zero.
  void* take(std::size_t bytes,
             std::size_t alignment = Block::kUnit,
             Block::Use use = Block::Use::kTaken) noexcept;

  /// Answers as take() does, for rings and records: messages go on when the
  /// program has filled the heap. No other process gives such a block back.
  void* take_reserved(std::size_t bytes) noexcept;

  /// `memory` came from take() in this process or in another one; null is
  /// nothing. No process uses it any more.
  void give_back(void* memory) noexcept;

  /// Gives a block more bytes where it lies. False: it is another process's, or
  /// has a taken one behind it.
  bool grow(Block& block, std::size_t bytes) noexcept;

  /// The block that begins at an address; null: none does.
  Block* block_at(void* address) const noexcept;

  /// Whether a block is of this process's heap.
  bool is_own(const Block& block) const noexcept { return block.owner == me_; }

  /// In a child made by fork(), which has a copy of the heap: nothing is taken
  /// and nothing given back any more.
  void close() noexcept { is_closed_.store(true, std::memory_order_relaxed); }

  bool is_closed() const noexcept {
    return is_closed_.load(std::memory_order_relaxed);
  }

 private:
  Heap heap_;
  Heap reserve_;
  std::uintptr_t reserve_begin_ = UINTPTR_MAX;
  Owner me_ = 0;
  std::size_t own_bytes_ = 0;
  std::atomic<bool> is_closed_ = true;
  std::atomic<std::uintptr_t> begin_ = 0;  ///< The range that all heaps are in.
  std::atomic<std::size_t> bytes_ = 0;
  std::vector<Extent>* heaps_ = nullptr;
};

/// The memory of this process's host.
extern HostMemory g_host_memory;

}  // namespace hmpi
