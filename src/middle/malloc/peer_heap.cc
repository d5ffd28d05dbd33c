// Allocation and freeing on one rank's heap, with caches of free blocks. Called
// by Heaps and DebugBlocks. Functions that need turn_ say so. lock_ may not be
// held over a flight, and a progress step may not wait here for the network.
#include "middle/malloc/peer_heap.h"

#include <sched.h>

#include <algorithm>
#include <bit>

namespace acp::middle {

namespace {

/// Bits of a block's number: kMaxSpanBlocks fit.
constexpr int kBlockBits = 6;
constexpr int kTriesWhenFull = 8;

constexpr std::uint64_t entry_of(PageNumber head,
                                 std::uint32_t block) noexcept {
  return head << kBlockBits | block;
}

constexpr PageNumber head_of(std::uint64_t entry) noexcept {
  return entry >> kBlockBits;
}

constexpr std::uint32_t block_in(std::uint64_t entry) noexcept {
  return static_cast<std::uint32_t>(entry & ((1U << kBlockBits) - 1));
}

int always(void*) {
  return 1;
}

}  // namespace

PeerHeap::PeerHeap(const HeapMemory& memory,
                   const HeapLayout& layout,
                   std::uint64_t cache_bytes,
                   std::mutex* turn)
    : memory_(memory),
      layout_(layout),
      cache_bytes_(cache_bytes),
      amount_(cache_bytes == 0 ? Amount::kOne : Amount::kSpan),
      turn_(turn == nullptr ? own_turn_ : *turn),
      spans_(memory_, layout_) {}

/// Whether the caller may wait for chains. A progress step may not; acp_errno
/// then says so.
bool PeerHeap::may_wait() const noexcept {
  return memory_.direct != nullptr || acpx_wait_until(always, nullptr, 0) == 0;
}

bool PeerHeap::may_free_now() const noexcept {
  const int before = acp_errno;
  const bool may = may_wait();
  acp_errno = before;
  return may;
}

std::uint64_t PeerHeap::offset_of(SizeClass size_class,
                                  Entry entry) const noexcept {
  return layout_.page(head_of(entry)) +
         std::uint64_t{block_in(entry)} * shape_of(size_class).block_bytes;
}

// ---- The caches -----------------------------------------------------------

bool PeerHeap::take_cached(SizeClass size_class,
                           std::uint64_t& offset) noexcept {
  Cache& cache = caches_[size_class];
  lock_.lock();
  const bool has_one = cache.count != 0;
  Entry entry = 0;
  if (has_one) {
    entry = cache.entries[--cache.count];
    cached_bytes_ -= shape_of(size_class).block_bytes;
  }
  lock_.unlock();
  if (has_one) {
    offset = offset_of(size_class, entry);
  }
  return has_one;
}

/// Puts a block into its cache. A block that is freed twice is noticed only if
/// it is the newest.
PeerHeap::Put PeerHeap::put_cached(SizeClass size_class, Entry entry) noexcept {
  Cache& cache = caches_[size_class];
  const std::lock_guard lock(lock_);
  if (cache.count == cache.room) {
    return Put::kNoRoom;
  }
  if (cache.count != 0 && cache.entries[cache.count - 1] == entry) {
    return Put::kIsThere;
  }
  const std::uint64_t bytes = cached_bytes_ + shape_of(size_class).block_bytes;
  if (bytes > cache_bytes_ && cached_bytes_ != 0) {
    return Put::kTooMuch;
  }
  cached_bytes_ = bytes;
  cache.entries[cache.count++] = entry;
  return Put::kDone;
}

/// Gives a cache room for the blocks of two spans, at first use. Call with
/// lock_ held.
void PeerHeap::make_room(SizeClass size_class) {
  Cache& cache = caches_[size_class];
  if (cache.room == 0) {
    const std::uint32_t room = 2 * shape_of(size_class).span_blocks;
    cache.entries = std::make_unique_for_overwrite<Entry[]>(room);
    cache.room = room;
  }
}

/// Puts blocks into their cache. Blocks for which there is no room are added to
/// `overflow`.
void PeerHeap::cache(const Blocks& blocks, std::vector<Entry>& overflow) {
  Cache& cache = caches_[blocks.size_class];
  const std::lock_guard lock(lock_);
  make_room(blocks.size_class);
  for (std::uint64_t left = blocks.mask; left != 0; left &= left - 1) {
    const Entry entry = entry_of(
        blocks.head, static_cast<std::uint32_t>(std::countr_zero(left)));
    const std::uint64_t bytes =
        cached_bytes_ + shape_of(blocks.size_class).block_bytes;
    if (cache.count == cache.room || bytes > cache_bytes_) {
      overflow.push_back(entry);
    } else {
      cached_bytes_ = bytes;
      cache.entries[cache.count++] = entry;
    }
  }
}

// ---- Allocating -----------------------------------------------------------

Outcome PeerHeap::allocate(std::uint64_t size, std::uint64_t& offset) noexcept {
  if (size > kLargestClassBytes) {
    return allocate_run(size, offset);
  }
  const SizeClass size_class = class_for(size);
  return take_cached(size_class, offset) ? Outcome::kDone
                                         : allocate_small(size_class, offset);
}

/// A cache miss. Pending frees are looked up first, since they may fill the
/// cache.
Outcome PeerHeap::allocate_small(SizeClass size_class, std::uint64_t& offset) {
  if (!may_wait()) {
    return Outcome::kFailed;
  }
  const std::lock_guard turn(turn_);
  if (take_cached(size_class, offset)) {
    return Outcome::kDone;  // another thread has filled the cache
  }
  if (const Outcome outcome = look_up_pending(); outcome != Outcome::kDone) {
    return outcome;
  }
  if (take_cached(size_class, offset)) {
    return Outcome::kDone;
  }
  return persist([&] { return refill(size_class, offset); });
}

/// Takes blocks from the heap: one for the caller, the others for the cache.
Outcome PeerHeap::refill(SizeClass size_class, std::uint64_t& offset) {
  while (true) {
    Blocks found;
    Outcome outcome = spans_.take(size_class, amount_, found);
    if (outcome != Outcome::kDone) {
      return outcome;
    }
    if (found.size_class == size_class) {
      const auto first =
          static_cast<std::uint32_t>(std::countr_zero(found.mask));
      offset = offset_of(size_class, entry_of(found.head, first));
      found.mask &= found.mask - 1;
    }
    if (found.mask != 0 && amount_ == Amount::kSpan) {
      std::vector<Entry> overflow;
      cache(found, overflow);
      outcome = give_back(found.size_class, overflow);
    } else if (found.mask != 0) {
      std::uint64_t wrong = 0;
      outcome = spans_.give_back({&found, 1}, wrong);
    }
    if (outcome != Outcome::kDone || found.size_class == size_class) {
      return outcome;
    }
  }
}

/// Takes pages and writes the run's length into the info of the first. Without
/// caches only frees of progress steps are pending, and may be of runs.
Outcome PeerHeap::allocate_run(std::uint64_t size, std::uint64_t& offset) {
  if (!may_wait()) {
    return Outcome::kFailed;
  }
  const std::lock_guard turn(turn_);
  if (amount_ == Amount::kOne && look_up_pending() != Outcome::kDone) {
    return Outcome::kFailed;
  }
  const std::uint64_t pages = (size + kRunOffset + kPageBytes - 1) / kPageBytes;
  PageNumber first = 0;
  const Outcome outcome =
      persist([&] { return spans_.runs().take(pages, first); });
  if (outcome != Outcome::kDone) {
    return outcome;
  }
  offset = layout_.page(first) + kRunOffset;
  const std::uint64_t info = info::run(pages);
  Flight flight(memory_);
  flight.put(layout_.info_of(first), &info, sizeof info);
  return flight.run() ? Outcome::kDone : Outcome::kFailed;
}

/// Tries, and when the heap is full tries again after each attempt to free
/// more. It returns this rank's caches and makes free spans pages. It goes on
/// while other ranks sweep, since these have taken lists off.
template <typename Try>
Outcome PeerHeap::persist(const Try& attempt) {
  Outcome outcome = attempt();
  for (int tries = 0; outcome == Outcome::kFull && tries < kTriesWhenFull;
       ++tries) {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    if (!spans_.read_sweeps(before) || trim_in_turn() != Outcome::kDone ||
        spans_.sweep() != Outcome::kDone) {
      return Outcome::kFailed;
    }
    outcome = attempt();
    if (!spans_.read_sweeps(after)) {
      return Outcome::kFailed;
    }
    constexpr std::uint64_t kOneFinished = std::uint64_t{1} << 32;
    if (after == before + kOneFinished &&
        static_cast<std::uint32_t>(before) == 0) {
      break;  // no other rank was sweeping
    }
    ::sched_yield();
  }
  return outcome;
}

// ---- Freeing --------------------------------------------------------------

/// Finds the block that begins at `offset`, on a page with this info. False:
/// none does.
bool PeerHeap::block_of(std::uint64_t offset,
                        std::uint64_t info,
                        SizeClass& size_class,
                        Entry& entry) const noexcept {
  if (!info::is_span(info)) {
    return false;
  }
  size_class = info::size_class(info);
  const ClassShape& shape = shape_of(size_class);
  const PageNumber head = layout_.page_at(offset) - info::back(info);
  const std::uint32_t block =
      shape.block_at(static_cast<std::uint32_t>(offset - layout_.page(head)));
  entry = entry_of(head, block);
  return block < shape.span_blocks;
}

/// On a mapped heap with a cache this takes no turn: one load of the info, and
/// the block goes to the cache.
FreeResult PeerHeap::free(std::uint64_t offset) noexcept {
  if (offset < layout_.begin() || offset >= layout_.end() ||
      (offset & 15) != 0) {
    return FreeResult::kWrong;
  }
  if (amount_ == Amount::kOne) {
    return free_uncached(offset);
  }
  if (memory_.direct == nullptr) {
    return free_far(offset);
  }
  const PageNumber page = layout_.page_at(offset);
  const std::uint64_t info = memory_.load_direct(layout_.info_of(page));
  SizeClass size_class = 0;
  Entry entry = 0;
  if (block_of(offset, info, size_class, entry) &&
      put_cached(size_class, entry) == Put::kDone) {
    return FreeResult::kDone;
  }
  const std::lock_guard turn(turn_);
  return free_known(offset, info);
}

/// Frees a run, with turn_ held. The caller that clears the info has freed it;
/// a second free finds another info.
FreeResult PeerHeap::free_run(PageNumber page, std::uint64_t info) {
  const std::uint64_t pages = info::run_pages(info);
  std::uint64_t old = 0;
  Flight flight(memory_);
  flight.cas(layout_.info_of(page), info, 0, &old);
  if (!flight.run()) {
    return FreeResult::kFailed;
  }
  if (old != info) {
    return FreeResult::kWrong;
  }
  return spans_.runs().give_back(page, pages) == Outcome::kDone
             ? FreeResult::kDone
             : FreeResult::kFailed;
}

/// Frees a block of an unmapped heap. The page's info has to be read there,
/// which is done for many frees together, but at once when the block may be
/// large.
FreeResult PeerHeap::free_far(std::uint64_t offset) {
  std::size_t count = 0;
  {
    const std::lock_guard lock(lock_);
    pending_.push_back(offset);
    count = pending_.size();
  }
  const bool may_be_run = (offset - layout_.begin()) % kPageBytes == kRunOffset;
  if ((count < kPendingAtMost && !may_be_run) || !may_free_now()) {
    return FreeResult::kDone;
  }
  const std::lock_guard turn(turn_);
  return look_up_pending() == Outcome::kDone ? FreeResult::kDone
                                             : FreeResult::kFailed;
}

/// Without caches a block goes back to its span at once. A progress step that
/// may not wait leaves the block to the next call.
FreeResult PeerHeap::free_uncached(std::uint64_t offset) {
  if (!may_free_now()) {
    const std::lock_guard lock(lock_);
    pending_.push_back(offset);
    return FreeResult::kDone;
  }
  const std::lock_guard turn(turn_);
  return look_up_pending() == Outcome::kDone ? free_one(offset)
                                             : FreeResult::kFailed;
}

/// Returns a block to its span or pages, with turn_ held.
FreeResult PeerHeap::free_one(std::uint64_t offset) {
  const PageNumber page = layout_.page_at(offset);
  std::uint64_t info = 0;
  Blocks blocks;
  if (spans_.look_up(page, info, blocks.seen) != Outcome::kDone) {
    return FreeResult::kFailed;
  }
  if (info::is_run(info) && offset == layout_.page(page) + kRunOffset) {
    return free_run(page, info);
  }
  Entry entry = 0;
  if (!block_of(offset, info, blocks.size_class, entry)) {
    return FreeResult::kWrong;
  }
  blocks.head = head_of(entry);
  blocks.mask = std::uint64_t{1} << block_in(entry);
  std::uint64_t wrong = 0;
  if (spans_.give_back({&blocks, 1}, wrong) != Outcome::kDone) {
    return FreeResult::kFailed;
  }
  return wrong == 0 ? FreeResult::kDone : FreeResult::kWrong;
}

Outcome PeerHeap::free_each(const std::vector<std::uint64_t>& offsets) {
  for (const std::uint64_t offset : offsets) {
    const FreeResult result = free_one(offset);
    if (result == FreeResult::kFailed) {
      return Outcome::kFailed;
    }
    if (result == FreeResult::kWrong) {
      wrong_frees_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return Outcome::kDone;
}

Outcome PeerHeap::info_at(std::uint64_t offset,
                          PageNumber& page,
                          std::uint64_t& info) {
  page = layout_.page_at(offset);
  Flight flight(memory_);
  flight.get(layout_.info_of(page), &info, sizeof info);
  return flight.run() ? Outcome::kDone : Outcome::kFailed;
}

/// Looks up the pending frees, with turn_ held. With a cache it reads each
/// page's info once. Without one the blocks go back one by one: they are few.
Outcome PeerHeap::look_up_pending() {
  std::vector<std::uint64_t> offsets;
  {
    const std::lock_guard lock(lock_);
    offsets.swap(pending_);
  }
  if (amount_ == Amount::kOne) {
    return free_each(offsets);
  }
  std::sort(offsets.begin(), offsets.end());
  std::array<std::uint64_t, Flight::kMaxSteps> infos{};
  const auto page_of = [this](std::uint64_t offset) {
    return layout_.page_at(offset);
  };
  for (std::size_t first = 0; first < offsets.size();) {
    Flight flight(memory_);
    std::size_t pages = 0;
    std::size_t end = first;
    for (; end < offsets.size(); ++end) {
      if (end == first || page_of(offsets[end]) != page_of(offsets[end - 1])) {
        if (pages == infos.size()) {
          break;
        }
        flight.get(layout_.info_of(page_of(offsets[end])), &infos[pages++], 8);
      }
    }
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    for (std::size_t i = first, page = 0; i < end; ++i) {
      page += i != first && page_of(offsets[i]) != page_of(offsets[i - 1]);
      const bool is_twice = i != first && offsets[i] == offsets[i - 1];
      const FreeResult result =
          is_twice ? FreeResult::kWrong : free_known(offsets[i], infos[page]);
      if (result == FreeResult::kFailed) {
        return Outcome::kFailed;
      }
      if (result == FreeResult::kWrong) {
        wrong_frees_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    first = end;
  }
  return Outcome::kDone;
}

/// Frees a block whose page info is known, with turn_ held. A run goes back at
/// once, and a small block by way of the cache.
FreeResult PeerHeap::free_known(std::uint64_t offset, std::uint64_t info) {
  const PageNumber page = layout_.page_at(offset);
  if (info::is_run(info) && offset == layout_.page(page) + kRunOffset) {
    return free_run(page, info);
  }
  SizeClass size_class = 0;
  Entry entry = 0;
  if (!block_of(offset, info, size_class, entry)) {
    return FreeResult::kWrong;
  }
  Put put = put_cached(size_class, entry);
  for (; put == Put::kNoRoom || put == Put::kTooMuch;
       put = put_cached(size_class, entry)) {
    const Outcome outcome =
        put == Put::kNoRoom ? flush_half(size_class) : trim_caches();
    if (outcome != Outcome::kDone) {
      return FreeResult::kFailed;
    }
  }
  return put == Put::kDone ? FreeResult::kDone : FreeResult::kWrong;
}

/// Returns the older half of a cache, with turn_ held: the newest blocks are
/// warm.
Outcome PeerHeap::flush_half(SizeClass size_class) {
  std::vector<Entry> oldest;
  {
    const std::lock_guard lock(lock_);
    Cache& cache = caches_[size_class];
    make_room(size_class);
    const std::uint32_t half = (cache.count + 1) / 2;
    oldest.assign(cache.entries.get(), cache.entries.get() + half);
    std::copy(cache.entries.get() + half, cache.entries.get() + cache.count,
              cache.entries.get());
    cache.count -= half;
    cached_bytes_ -= std::uint64_t{half} * shape_of(size_class).block_bytes;
  }
  return give_back(size_class, oldest);
}

/// Returns blocks of one class to their spans, with turn_ held.
Outcome PeerHeap::give_back(SizeClass size_class, std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end());
  std::vector<Blocks> spans;
  std::uint64_t wrong = 0;
  for (const Entry entry : entries) {
    const std::uint64_t bit = std::uint64_t{1} << block_in(entry);
    if (spans.empty() || spans.back().head != head_of(entry)) {
      spans.push_back({head_of(entry), size_class, 0, 0});
    }
    wrong += (spans.back().mask & bit) != 0 ? 1 : 0;
    spans.back().mask |= bit;
  }
  const Outcome outcome = spans_.give_back(spans, wrong);
  wrong_frees_.fetch_add(wrong, std::memory_order_relaxed);
  return outcome;
}

Outcome PeerHeap::trim() noexcept {
  if (!may_wait()) {
    return Outcome::kFailed;
  }
  const std::lock_guard turn(turn_);
  return trim_in_turn();
}

Outcome PeerHeap::trim_in_turn() {
  const Outcome outcome = look_up_pending();
  return outcome == Outcome::kDone ? trim_caches() : outcome;
}

/// Returns the blocks of all caches to their spans, with turn_ held.
Outcome PeerHeap::trim_caches() {
  for (std::size_t i = 0; i < kClasses; ++i) {
    std::vector<Entry> all;
    {
      const std::lock_guard lock(lock_);
      Cache& cache = caches_[i];
      all.assign(cache.entries.get(), cache.entries.get() + cache.count);
      cached_bytes_ -= all.size() * kClassShapes[i].block_bytes;
      cache.count = 0;
    }
    const Outcome outcome = give_back(static_cast<SizeClass>(i), all);
    if (outcome != Outcome::kDone) {
      return outcome;
    }
  }
  return Outcome::kDone;
}

}  // namespace acp::middle
