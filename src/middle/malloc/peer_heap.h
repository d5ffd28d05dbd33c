// One rank's heap as seen from this rank: spans and runs of it, and a cache of
// free blocks for each class. It makes what acp_malloc and acp_free do for one
// target.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/spin_lock.h"
#include "middle/malloc/spans.h"

namespace acp::middle {

/// Result of freeing an address of the heap.
enum class FreeResult : std::uint8_t {
  kDone,
  kWrong,   ///< No block begins there, or the block is free already.
  kFailed,  ///< A flight failed, because the job is ending.
};

/// Called by all threads. Waits for the network only where the heap is not
/// mapped here, and then holds `turn`.
///
/// 1. A cached block is taken in its span's bits; only this rank knows that it
///    is free.
/// 2. turn_ is taken before lock_. lock_ is never held over a flight.
/// 3. On a mapped heap turn_ is never held over a wait, so progress steps may
///    allocate there.
class PeerHeap {
 public:
  /// `turn` is the mutex of the scratch and must outlive this object; null: use
  /// a mutex of its own. `cache_bytes` limits the blocks kept in the caches
  /// together; 0 keeps none.
  PeerHeap(const HeapMemory& memory,
           const HeapLayout& layout,
           std::uint64_t cache_bytes,
           std::mutex* turn);

  /// Sets `offset` to a block of `size` bytes or more.
  Outcome allocate(std::uint64_t size, std::uint64_t& offset) noexcept;

  /// Frees a block by the offset that allocate() gave. If may_free_now() is
  /// false, the block stays pending until the next call on this heap that
  /// waits.
  FreeResult free(std::uint64_t offset) noexcept;

  /// Whether the caller may do flights on this heap. A progress step may not
  /// wait, so it may do them only on a mapped heap. Leaves acp_errno alone.
  bool may_free_now() const noexcept;

  /// Returns all cached blocks to the heap. kDone or kFailed.
  Outcome trim() noexcept;

  /// Addresses that turned out to be no block only after their free() had
  /// returned.
  std::uint64_t wrong_frees() const noexcept {
    return wrong_frees_.load(std::memory_order_relaxed);
  }

  /// The mutex to hold for other flights on this heap.
  std::mutex& turn() noexcept { return turn_; }

  /// Reads the info of the page at an offset, and the page's number. Call with
  /// turn() held.
  Outcome info_at(std::uint64_t offset, PageNumber& page, std::uint64_t& info);

  const HeapMemory& memory() const noexcept { return memory_; }

  const HeapLayout& layout() const noexcept { return layout_; }

 private:
  /// A free block: {page of the span's head | number of the block:6}.
  using Entry = std::uint64_t;

  /// The free blocks of one class, the newest last.
  struct Cache {
    // Guarded by lock_.
    std::uint32_t count = 0;           ///< Entries in use.
    std::uint32_t room = 0;            ///< Entries that there are.
    std::unique_ptr<Entry[]> entries;  ///< Made by make_room().
  };

  enum class Put : std::uint8_t { kDone, kNoRoom, kTooMuch, kIsThere };

  /// Frees on an unmapped heap that are looked up together.
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
  FreeResult free_one(std::uint64_t offset);
  Outcome free_each(const std::vector<std::uint64_t>& offsets);
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
  std::mutex own_turn_;             ///< turn_ of a heap that is mapped here.
  std::mutex& turn_;                ///< Guards spans_ and flights.
  Spans spans_;                     ///< Guarded by turn_.
  SpinLock lock_;                   ///< Guards the members up to pending_.
  std::uint64_t cached_bytes_ = 0;  ///< Sum over all caches.
  std::array<Cache, kClasses> caches_;
  std::vector<std::uint64_t> pending_;  ///< Offsets to be looked up.
  /// Counted up by the thread that looks frees up, read by any. Relaxed.
  std::atomic<std::uint64_t> wrong_frees_{0};
};

}  // namespace acp::middle
