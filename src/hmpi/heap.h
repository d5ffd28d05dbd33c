// A heap in library memory: blocks that all processes of the host can read, and
// that another process may give back. docs/hmpi.md describes it.
//
// The memory has a root, and then blocks without gaps. A block is a header of
// 16 bytes in front of its bytes, which begin on a cache line. Free blocks are
// in lists by size, two-level segregated fit: a block is found, divided and
// merged in constant time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hmpi/lock.h"

namespace hmpi {

/// Stands in front of a block's bytes. The process that has the block writes
/// it.
struct Block {
  enum class Use : std::uint8_t {
    kFree = 0,
    kTaken = 1,   ///< By the program, the engine, or MPI_Alloc_mem.
    kBuffer = 2,  ///< By OPI_Alloc.
    kPooled = 3,  ///< Freed by OPI_Free, and kept for OPI_Alloc.
    kEnd = 4,     ///< Behind the last block of the heap.
  };

  std::uint32_t units = 0;   ///< Bytes with the header, by kUnit.
  std::uint32_t before = 0;  ///< Units of the block in front; 0: the first.
  std::uint32_t check = 0;   ///< Tells a header from other bytes.
  std::uint16_t owner = 0;   ///< The process whose heap this is.
  /// Relaxed. The owner reads it when it merges a neighbour, which another
  /// process may have. Only the owner frees a block, under its lock, so it sees
  /// kFree exactly where the block is free.
  std::atomic<Use> use = Use::kFree;
  std::uint8_t is_given = 0;  ///< On the way to another process.

  static constexpr std::size_t kUnit = 64;

  void* bytes() noexcept { return this + 1; }

  std::size_t capacity() const noexcept {
    return units * kUnit - sizeof(Block);
  }

  /// The block whose bytes begin there, which has to be readable in front; null
  /// if there is none.
  static Block* at(void* bytes) noexcept;
  /// Writes `check`.
  void seal() noexcept;
};

static_assert(sizeof(Block) == 16);

/// The root of a heap, where other processes give blocks back.
struct alignas(64) HeapRoot {
  /// The last block that came back, by its address in the owner; 0: none. The
  /// first 8 bytes of each lead to the next one.
  std::atomic<std::uint64_t> returned = 0;
};

/// The heap of one process. Thread-safe; no function waits for another process.
class Heap {
 public:
  /// `memory` is zero, and begins on a cache line.
  void open(void* memory, std::size_t bytes, std::uint16_t owner) noexcept;

  /// A block of at least this many bytes, whose address is a multiple of
  /// `alignment`, a power of two; null: there is none. New memory is zero,
  /// memory that was used before is not.
  void* take(std::size_t bytes, std::size_t alignment, Block::Use use) noexcept;

  /// The bytes of a block of this heap are free again.
  void give_back(Block& block) noexcept;

  /// Gives a block of this heap more bytes where it lies. False: it has as many
  /// as before.
  bool grow(Block& block, std::size_t bytes) noexcept;

  /// Gives a block back to its owner, in another process. `root` is the
  /// owner's; `shift`, added to an address there, gives the address here.
  static void return_to(HeapRoot& root,
                        Block& block,
                        std::uint64_t shift) noexcept;

  /// Called for a block that comes back, before the heap touches it.
  using OnReturn = void (*)(void* bytes, std::size_t capacity);

  void set_on_return(OnReturn call) noexcept { on_return_ = call; }

  /// The bytes of blocks that are taken.
  std::size_t taken() const noexcept {
    return taken_units_.load(std::memory_order_relaxed) * Block::kUnit;
  }

 private:
  struct Links;

  static constexpr unsigned kSteps = 16;  ///< Lists for each power of two.
  static constexpr unsigned kPowers = 29;

  static unsigned list_of(std::uint32_t units) noexcept;
  static unsigned list_from(std::uint32_t units) noexcept;
  static Block& behind(Block& block) noexcept;
  static Links& links(Block& block) noexcept;
  void insert(Block& block) noexcept;
  void remove(Block& block) noexcept;
  Block* find(std::uint32_t units) noexcept;
  void divide(Block& block, std::uint32_t units) noexcept;
  void merge(Block& block) noexcept;
  void take_returned() noexcept;

  Lock lock_;
  HeapRoot* root_ = nullptr;
  std::uint16_t owner_ = 0;
  OnReturn on_return_ = nullptr;
  std::atomic<std::uint32_t> taken_units_ = 0;
  /// Which lists have a block: a bit for each power of two, and for each list.
  std::uint32_t powers_ = 0;
  std::array<std::uint16_t, kPowers> steps_{};
  std::array<Block*, kPowers * kSteps> lists_{};
};

}  // namespace hmpi
