// The module acp_malloc: which heaps this process knows, and allocation and
// freeing on them. Called by malloc_api.cc and allocate_for.cc. To find a heap
// that is known takes no lock.
#include "middle/malloc/heaps.h"

#include <algorithm>
#include <cstddef>

#include "acp/global_memory.h"
#include "acp/infrastructure.h"
#include "middle/leave_to_parent.h"
#include "middle/log.h"
#include "middle/malloc/debug_blocks.h"

namespace acp::middle {

std::atomic<Heaps*> g_heaps{nullptr};

namespace {

// Written by acp_init, acp_reset and acp_finalize, which one thread calls.
int g_module = -1;
std::uint64_t g_bytes = 0;
bool g_has_ended = false;

}  // namespace

int Heaps::add_module(int (*add)(const acpx_module_t*)) {
  if (acpx_setting("ACP_HEAP_SIZE", &g_bytes) != 0) {
    return -1;
  }
  acpx_module_t module{};
  module.name = "acp_malloc";
  module.bytes = g_bytes;
  module.init = init;
  module.fini = fini;
  g_module = add(&module);
  return g_module < 0 ? -1 : 0;
}

int Heaps::reason_for_none() noexcept {
  return g_has_ended ? ACPX_FINALIZED : ACPX_NOT_INITIALIZED;
}

void Heaps::leave_job() noexcept {
  leave_to_parent(g_heaps);
}

int Heaps::init(void*) {
  g_heaps.store(new Heaps, std::memory_order_release);
  g_has_ended = false;
  return 0;
}

int Heaps::fini(void*) {
  Heaps* heaps = g_heaps.load(std::memory_order_acquire);
  heaps->end_debug();
  const std::uint64_t wrong = heaps->count_wrong();
  if (wrong != 0 && heaps->debug_ == nullptr) {
    log_warning(
        "acp_free was given {} addresses that were no block in use; "
        "ACP_MALLOC_DEBUG=on says which",
        wrong);
  }
  g_heaps.store(nullptr, std::memory_order_release);
  g_has_ended = true;
  delete heaps;
  return 0;
}

namespace {

// Limits of a rank's cache for one heap; docs/malloc.md, "The cache". A larger
// cache saves round trips, and keeps blocks from other ranks. The smallest
// holds four spans of 16 KiB: with less it would only pass blocks on.
constexpr std::uint64_t kLargestCache = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallestCache = std::uint64_t{64} << 10;

/// The caches of all ranks together hold at most an eighth of a heap. If a
/// rank's part of that is less than a few spans, it has no cache.
std::uint64_t choose_cache_bytes(const HeapLayout& layout, int procs) {
  enum : std::uint64_t { kAuto, kOn, kOff };

  std::uint64_t choice = kAuto;
  acpx_setting("ACP_MALLOC_CACHE", &choice);
  const std::uint64_t share =
      (layout.end() - layout.begin()) / 8 / static_cast<std::uint64_t>(procs);
  if (choice == kOff || (choice == kAuto && share < kSmallestCache)) {
    return 0;
  }
  return std::clamp(share, kSmallestCache, kLargestCache);
}

}  // namespace

Heaps::Heaps()
    : my_rank_(acp_rank()),
      procs_(acp_procs()),
      layout_(g_bytes),
      cache_bytes_(choose_cache_bytes(layout_, procs_)),
      my_base_(acpx_module_ga(g_module, my_rank_)) {
  std::uint64_t is_debugging = 0;
  acpx_setting("ACP_MALLOC_DEBUG", &is_debugging);
  if (is_debugging != 0) {
    debug_ = std::make_unique<DebugBlocks>(my_rank_);
    cache_bytes_ = 0;
  }
  scratch_.scratch_ga = my_base_ + HeapLayout::scratch();
  scratch_.scratch =
      static_cast<std::byte*>(acp_query_address(scratch_.scratch_ga));
  tables_.push_back(std::make_unique<Table>(16));
  table_.store(tables_.back().get(), std::memory_order_release);
  mine_ = &of(static_cast<std::uint32_t>(my_rank_));
}

Heaps::~Heaps() = default;

/// Lists the leaks, after every rank has returned its quarantine.
void Heaps::end_debug() {
  if (debug_ != nullptr && debug_->release_all() == Outcome::kDone &&
      acp_sync() == 0) {
    debug_->list_leaks(*mine_);
  }
}

// ---- Who has which heap ---------------------------------------------------

/// A heap is used directly where it is mapped and the owner's atomics agree
/// with those of this CPU.
HeapMemory Heaps::memory_of(std::uint32_t rank) const {
  HeapMemory memory = scratch_;
  memory.base = acpx_module_ga(g_module, static_cast<int>(rank));
  if (acpx_atomics_agree(static_cast<int>(rank)) == 1) {
    const int error = acp_errno;  // "not mapped here" is an answer, no error
    memory.direct = static_cast<std::byte*>(acpx_pointer(memory.base));
    acp_errno = error;
  }
  return memory;
}

PeerHeap* Heaps::find(std::uint32_t rank) const noexcept {
  // Pairs with make_known(): a known heap is complete.
  const Table& table = *table_.load(std::memory_order_acquire);
  for (std::size_t i = rank * std::size_t{0x9e37'79b1};; ++i) {
    Known* known = table.at[i & table.mask].load(std::memory_order_acquire);
    if (known == nullptr) {
      return nullptr;
    }
    if (known->rank == rank) {
      return &known->heap;
    }
  }
}

void Heaps::insert(Table& table, Known* known) noexcept {
  for (std::size_t i = known->rank * std::size_t{0x9e37'79b1};; ++i) {
    std::atomic<Known*>& entry = table.at[i & table.mask];
    if (entry.load(std::memory_order_relaxed) == nullptr) {
      entry.store(known, std::memory_order_release);
      return;
    }
  }
}

PeerHeap& Heaps::of(std::uint32_t rank) {
  PeerHeap* heap = find(rank);
  return heap != nullptr ? *heap : make_known(rank);
}

/// Doubles the table when it is half full. Readers of the old table miss the
/// new entry and come here for it.
PeerHeap& Heaps::make_known(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  if (PeerHeap* heap = find(rank)) {
    return *heap;  // another thread was first
  }
  if ((known_.size() + 1) * 2 > tables_.back()->mask + 1) {
    tables_.push_back(std::make_unique<Table>(2 * (tables_.back()->mask + 1)));
    for (const auto& known : known_) {
      insert(*tables_.back(), known.get());
    }
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  const HeapMemory memory = memory_of(rank);
  known_.push_back(std::make_unique<Known>(
      rank, memory, layout_, cache_bytes_,
      memory.direct == nullptr ? &remote_turn_ : nullptr));
  insert(*tables_.back(), known_.back().get());
  return known_.back()->heap;
}

PeerHeap* Heaps::that_has(acp_ga_t ga, std::uint64_t& offset) {
  offset = ga - my_base_;
  if (offset < layout_.end()) {
    return mine_;
  }
  const int error = acp_errno;
  const int rank = acp_query_rank(ga);
  // an address of no rank is counted, and is no error of this call
  acp_errno = error;
  if (rank < 0 || rank == my_rank_) {
    return nullptr;
  }
  offset = ga - acpx_module_ga(g_module, rank);
  return offset < layout_.end() ? &of(static_cast<std::uint32_t>(rank))
                                : nullptr;
}

// ---- The functions --------------------------------------------------------

/// The own heap is found without a look-up. Errors go out of line.
acp_ga_t Heaps::allocate(std::size_t size,
                         int rank,
                         const void* site,
                         const char* function) noexcept {
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(procs_)) {
    acp_errno = ACPX_BAD_RANK;
    log_error("{}: {} bytes on rank {}: ranks are 0 to {}", function, size,
              rank, procs_ - 1);
    return ACP_GA_NULL;
  }
  PeerHeap& heap =
      rank == my_rank_ ? *mine_ : of(static_cast<std::uint32_t>(rank));
  std::uint64_t offset = 0;
  Outcome outcome = Outcome::kFull;
  if (size <= layout_.largest_block()) {
    outcome = __builtin_expect(debug_ != nullptr, 0)
                  ? debug_->allocate(heap, size, site, offset)
                  : heap.allocate(size, offset);
  }
  if (__builtin_expect(outcome == Outcome::kDone, 1)) {
    return heap.memory().base + offset;
  }
  return refuse(function, size, rank, outcome);
}

acp_ga_t Heaps::refuse(const char* function,
                       std::size_t size,
                       int rank,
                       Outcome outcome) const {
  if (outcome == Outcome::kFailed) {
    log_error("{}: {} bytes on rank {}: {}", function, size, rank,
              acpx_strerror(acp_errno));
    return ACP_GA_NULL;
  }
  const bool is_larger = size > layout_.largest_block();
  acp_errno = is_larger ? ACPX_TOO_LARGE : ACPX_NO_MEMORY;
  log_error(
      "{}: {} bytes on rank {}: {} the heap of that rank, {} bytes: set "
      "ACP_HEAP_SIZE higher, or acprun --acp-heapsize",
      function, size, rank,
      is_larger ? "larger than" : "not so many bytes are free in a row in",
      layout_.largest_block());
  return ACP_GA_NULL;
}

void Heaps::free(acp_ga_t ga, const void* site) noexcept {
  std::uint64_t offset = 0;
  PeerHeap* heap = that_has(ga, offset);
  if (__builtin_expect(debug_ != nullptr, 0)) {
    free_debug(heap, ga, offset, site);
    return;
  }
  const FreeResult result =
      heap == nullptr ? FreeResult::kWrong : heap->free(offset);
  if (__builtin_expect(result == FreeResult::kWrong, 0)) {
    wrong_frees_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Heaps::free_debug(PeerHeap* heap,
                       acp_ga_t ga,
                       std::uint64_t offset,
                       const void* site) {
  if (heap == nullptr) {
    debug_->report_foreign(ga, site);
  } else if (debug_->free(*heap, ga, offset, site) == FreeResult::kWrong) {
    acp_errno = ACPX_BAD_ADDRESS;
  }
}

int Heaps::trim() noexcept {
  if (debug_ != nullptr && debug_->release_all() != Outcome::kDone) {
    return -1;
  }
  std::vector<PeerHeap*> heaps;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& known : known_) {
      heaps.push_back(&known->heap);
    }
  }
  for (PeerHeap* heap : heaps) {
    if (heap->trim() != Outcome::kDone) {
      return -1;
    }
  }
  return 0;
}

std::uint64_t Heaps::count_wrong() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t wrong = wrong_frees_.load(std::memory_order_relaxed);
  for (const auto& known : known_) {
    wrong += known->heap.wrong_frees();
  }
  return wrong;
}

}  // namespace acp::middle
