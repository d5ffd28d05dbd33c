// A rank's heap with what this rank keeps of it at hand: a cache of free
// blocks for each class. What acp_malloc and acp_free do for one target.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "middle/malloc/spans.h"
#include "middle/spin_lock.h"

namespace acp::middle {

/// What an address of the heap turned out to be.
enum class FreeResult : std::uint8_t {
  kDone,
  kWrong,   ///< No block begins there, or it is free.
  kFailed,  ///< A flight failed: the job is ending.
};

/// All threads. Waits for the network only where the heap is not mapped here,
/// and then holds `turn`, the lock of the scratch.
class PeerHeap {
 public:
  /// `turn` must outlive this; null: a lock of its own.
  /// `cache_bytes`: blocks kept at hand, together; 0 keeps none.
  PeerHeap(const HeapMemory& memory,
           const HeapLayout& layout,
           std::uint64_t cache_bytes,
           std::mutex* turn);

  /// The offset of a block of `size` bytes or more.
  Outcome allocate(std::uint64_t size, std::uint64_t& offset) noexcept;

  /// `offset` as allocate() gave it.
  FreeResult free(std::uint64_t offset) noexcept;

  /// Gives back what is kept here. kDone or kFailed.
  Outcome trim() noexcept;

  /// Addresses that were no block, found later than in their free().
  std::uint64_t wrong_frees() const noexcept {
    return wrong_frees_.load(std::memory_order_relaxed);
  }

  /// Held for flights of others than this on its memory.
  std::mutex& turn() noexcept { return turn_; }

  /// The info of the page at an offset, with the page; in turn.
  Outcome info_at(std::uint64_t offset, PageNumber& page, std::uint64_t& info);

  const HeapMemory& memory() const noexcept { return memory_; }

  const HeapLayout& layout() const noexcept { return layout_; }

 private:
  /// A free block: {head page | block:6}.
  using Entry = std::uint64_t;

  /// Free blocks of one class, the newest on top.
  struct Cache {
    std::uint32_t count = 0;
    std::uint32_t room = 0;
    std::unique_ptr<Entry[]> entries;
  };

  enum class Put : std::uint8_t { kDone, kNoRoom, kTooMuch, kIsThere };

  /// Frees on a heap that is not mapped here, still to be looked up.
  static constexpr std::size_t kPendingAtMost = Flight::kMaxSteps;

  bool take_cached(SizeClass size_class, std::uint64_t& offset) noexcept;
  Put put_cached(SizeClass size_class, Entry entry) noexcept;
  void make_room(SizeClass size_class);
  void cache(const Blocks& blocks, std::vector<Entry>& overflow);
  std::uint64_t offset_of(SizeClass size_class, Entry entry) const noexcept;
  Outcome allocate_small(SizeClass size_class, std::uint64_t& offset);
  Outcome refill(SizeClass size_class, std::uint64_t& offset);
  Outcome allocate_run(std::uint64_t size, std::uint64_t& offset);
  template <typename Try>
  Outcome persist(const Try& attempt);
  FreeResult free_known(std::uint64_t offset, std::uint64_t info);
  FreeResult free_run(PageNumber page, std::uint64_t info);
  FreeResult free_far(std::uint64_t offset);
  FreeResult free_uncached(std::uint64_t offset);
  bool block_of(std::uint64_t offset,
                std::uint64_t info,
                SizeClass& size_class,
                Entry& entry) const noexcept;
  Outcome look_up_pending();
  Outcome flush_half(SizeClass size_class);
  Outcome give_back(SizeClass size_class, std::vector<Entry>& entries);
  Outcome trim_in_turn();
  Outcome trim_caches();
  bool may_wait() const noexcept;

  const HeapMemory memory_;
  const HeapLayout layout_;
  const std::uint64_t cache_bytes_;
  const Amount amount_;
  std::mutex own_turn_;
  std::mutex& turn_;  ///< Guards spans_ and flights.
  Spans spans_;
  SpinLock lock_;  ///< Guards the rest; never held over a flight.
  std::uint64_t cached_bytes_ = 0;
  std::array<Cache, kClasses> caches_;
  std::vector<std::uint64_t> pending_;
  std::atomic<std::uint64_t> wrong_frees_{0};
};

}  // namespace acp::middle
