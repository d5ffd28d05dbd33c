// The heaps of a job as one process knows them, between init and fini of the
// module. It knows its own heap, and each other heap from its first use on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "acp/extension.h"
#include "middle/malloc/peer_heap.h"

namespace acp::middle {

class DebugBlocks;
class Heaps;

/// The process's heaps; null outside of init .. fini.
extern std::atomic<Heaps*> g_heaps;

/// Called by all threads. init() and fini() are called by acp_init, acp_reset
/// and acp_finalize, thus by one thread.
class Heaps {
 public:
  /// The process's heaps; null outside of init .. fini.
  static Heaps* current() noexcept {
    return g_heaps.load(std::memory_order_acquire);  // pairs with init()
  }

  /// The code for acp_errno when there are no heaps: ACPX_NOT_INITIALIZED or
  /// ACPX_FINALIZED.
  static int reason_for_none() noexcept;

  /// Adds the module, as middle/modules.cc wants it.
  static int add_module(int (*add)(const acpx_module_t*));

  /// The part of middle::leave_job() that is this module's.
  static void leave_job() noexcept;

  Heaps(const Heaps&) = delete;
  Heaps& operator=(const Heaps&) = delete;
  ~Heaps();

  /// The bodies of the public functions. `site` is the return address of the
  /// program's call.
  acp_ga_t allocate(std::size_t size,
                    int rank,
                    const void* site,
                    const char* function) noexcept;
  void free(acp_ga_t ga, const void* site) noexcept;
  int trim() noexcept;

  /// Returns the heap of a rank; it becomes known at first use.
  PeerHeap& of(std::uint32_t rank);
  /// Returns the heap that has `ga` and sets `offset`; null when none has.
  PeerHeap* that_has(acp_ga_t ga, std::uint64_t& offset);

 private:
  struct Known {
    std::uint32_t rank;
    PeerHeap heap;

    Known(std::uint32_t rank_of,
          const HeapMemory& memory,
          const HeapLayout& layout,
          std::uint64_t cache_bytes,
          std::mutex* turn)
        : rank(rank_of), heap(memory, layout, cache_bytes, turn) {}
  };

  /// A hash table with open addressing, at most half full. Readers take no
  /// lock: entries are only added, and every table lives as long as this
  /// object.
  struct Table {
    explicit Table(std::size_t entries)
        : mask(entries - 1),
          at(std::make_unique<std::atomic<Known*>[]>(entries)) {}

    std::size_t mask;
    std::unique_ptr<std::atomic<Known*>[]> at;
  };

  Heaps();
  static int init(void* arg);
  static int fini(void* arg);

  PeerHeap* find(std::uint32_t rank) const noexcept;
  PeerHeap& make_known(std::uint32_t rank);
  static void insert(Table& table, Known* known) noexcept;
  HeapMemory memory_of(std::uint32_t rank) const;
  void end_debug();
  void free_debug(PeerHeap* heap,
                  acp_ga_t ga,
                  std::uint64_t offset,
                  const void* site);
  acp_ga_t refuse(const char* function,
                  std::size_t size,
                  int rank,
                  Outcome outcome) const;
  std::uint64_t count_wrong() const;

  // The constructor alone writes the fields that name no guard.
  const int my_rank_;
  const int procs_;
  const HeapLayout layout_;
  std::uint64_t cache_bytes_;  ///< Most bytes that the cache of one heap keeps.
  acp_ga_t my_base_;
  HeapMemory scratch_;  ///< Only its scratch members are set.
  PeerHeap* mine_ = nullptr;
  std::mutex remote_turn_;    ///< Guards the scratch.
  mutable std::mutex mutex_;  ///< Guards making heaps known.
  /// Written under mutex_ with release order, when the table is filled; the
  /// acquire in find() pairs with it. find() takes no lock.
  std::atomic<Table*> table_{nullptr};
  std::vector<std::unique_ptr<Table>> tables_;  ///< Guarded by mutex_.
  std::vector<std::unique_ptr<Known>> known_;   ///< Guarded by mutex_.
  /// Counted up by free() in any thread, read by fini() for its report.
  /// Relaxed.
  std::atomic<std::uint64_t> wrong_frees_{0};
  std::unique_ptr<DebugBlocks> debug_;  ///< Set with ACP_MALLOC_DEBUG.
};

}  // namespace acp::middle
