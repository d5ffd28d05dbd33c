// Debug mode: headers, red zones, quarantine and leaks. Called by Heaps. The
// steps on a heap are made with the heap's turn held, reports without it. It
// may not believe a header before is_header(): the program can overwrite any.
#include "middle/malloc/debug_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "middle/log.h"
#include "middle/malloc/call_site.h"

namespace acp::middle {

namespace {

constexpr std::uint64_t kAddressMix = 0x9d5a'7b13'c6e4'2f81;
constexpr std::uint64_t kLive = 0x4556'494c'4b43'4f4c;
constexpr std::uint64_t kFreed = 0x4445'4552'0000'0000;  ///< | rank
constexpr std::uint64_t kZone = 0xa5a5'a5a5'a5a5'a5a5;
constexpr std::uint64_t kPoison = 0xdddd'dddd'dddd'dddd;
/// Words of the red zone behind a block: the rest of its last word, and two
/// more.
constexpr std::size_t kRearZoneWords = 3;
constexpr std::uint64_t kLeaksListed = 20;

/// Size of a block with header and red zones. A multiple of 64, so that the
/// program's bytes are aligned as without them.
constexpr std::uint64_t padded(std::uint64_t size) noexcept {
  return (kHeaderBytesOfBlock + (size + 7) / 8 * 8 + 16 + 63) / 64 * 64;
}

/// Offset of the word that has the first byte of the rear red zone.
constexpr std::uint64_t rear_zone_of(std::uint64_t at,
                                     std::uint64_t size) noexcept {
  return at + kHeaderBytesOfBlock + size / 8 * 8;
}

constexpr std::size_t rear_zone_bytes(std::uint64_t size) noexcept {
  return (size % 8 == 0 ? kRearZoneWords - 1 : kRearZoneWords) * 8;
}

std::string story_of(const BlockHeader& header) {
  return fmt::format(
      "{} bytes, allocated by rank {} at {}", header.size, header.rank,
      std::string_view(header.site,
                       ::strnlen(header.site, sizeof header.site)));
}

bool is_header(const BlockHeader& header, std::uint64_t at) noexcept {
  return header.address == (at ^ kAddressMix);
}

}  // namespace

/// Frees what progress steps have left, unless the caller is such a step. Wrong
/// frees are reported, and are no failure of this call.
Outcome DebugBlocks::free_later() {
  std::vector<Later> all;
  {
    const std::lock_guard lock(mutex_);
    if (later_.empty() || !later_.front().heap->may_free_now()) {
      return Outcome::kDone;
    }
    all.swap(later_);
  }
  const int before = acp_errno;
  for (const Later& one : all) {
    if (free_now(*one.heap, one.ga, one.offset, one.site) ==
        FreeResult::kFailed) {
      return Outcome::kFailed;
    }
  }
  acp_errno = before;
  return Outcome::kDone;
}

/// Returns the quarantine to the heaps when there is no room.
Outcome DebugBlocks::allocate(PeerHeap& heap,
                              std::uint64_t size,
                              const void* site,
                              std::uint64_t& offset) {
  std::uint64_t at = 0;
  Outcome outcome = free_later();
  if (outcome == Outcome::kDone) {
    outcome = heap.allocate(padded(size), at);
  }
  if (outcome == Outcome::kFull && release_all() == Outcome::kDone) {
    outcome = heap.allocate(padded(size), at);
  }
  if (outcome != Outcome::kDone) {
    return outcome;
  }
  BlockHeader header{at ^ kAddressMix, kLive, size,
                     my_rank_,         {},    {kZone, kZone}};
  const std::string text = describe_call_site(site);
  std::memcpy(header.site, text.data(),
              std::min(text.size(), sizeof header.site - 1));
  constexpr std::array<std::uint64_t, kRearZoneWords> kRearZone = {kZone, kZone,
                                                                   kZone};
  const std::lock_guard turn(heap.turn());
  Flight flight(heap.memory());
  flight.put(at, &header, sizeof header);
  flight.put(rear_zone_of(at, size), kRearZone.data(), rear_zone_bytes(size));
  offset = at + kHeaderBytesOfBlock;
  return flight.run() ? Outcome::kDone : Outcome::kFailed;
}

FreeResult DebugBlocks::free(PeerHeap& heap,
                             acp_ga_t ga,
                             std::uint64_t offset,
                             const void* site) {
  const std::string where = describe_call_site(site);
  if (!heap.may_free_now()) {
    const std::lock_guard lock(mutex_);
    later_.push_back({&heap, ga, offset, where});
    return FreeResult::kDone;
  }
  return free_later() == Outcome::kDone ? free_now(heap, ga, offset, where)
                                        : FreeResult::kFailed;
}

/// Order: claim the block, check the zones, poison the bytes, and keep the
/// block in quarantine.
FreeResult DebugBlocks::free_now(PeerHeap& heap,
                                 acp_ga_t ga,
                                 std::uint64_t offset,
                                 const std::string& site) {
  const HeapLayout& layout = heap.layout();
  if (offset < layout.begin() + kHeaderBytesOfBlock || offset >= layout.end() ||
      offset % 16 != 0) {
    report_no_block(heap, ga, offset, site);
    return FreeResult::kWrong;
  }
  const std::uint64_t at = offset - kHeaderBytesOfBlock;
  BlockHeader header{};
  bool is_mine = false;
  Outcome outcome = claim(heap, ga, at, site, header, is_mine);
  if (outcome != Outcome::kDone || !is_mine) {
    return outcome == Outcome::kDone ? FreeResult::kWrong : FreeResult::kFailed;
  }
  outcome = check_zones(heap, ga, at, header, site);
  if (outcome == Outcome::kDone) {
    outcome = poison(heap, at, header.size);
  }
  return outcome == Outcome::kDone ? quarantine(heap, at) : FreeResult::kFailed;
}

/// Changes the state of a block from live to freed. The caller that does so
/// frees the block; every other caller has freed it twice.
Outcome DebugBlocks::claim(PeerHeap& heap,
                           acp_ga_t ga,
                           std::uint64_t at,
                           const std::string& site,
                           BlockHeader& header,
                           bool& is_mine) const {
  std::unique_lock turn(heap.turn());
  Flight flight(heap.memory());
  flight.get(at, &header, sizeof header);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  if (!is_header(header, at)) {
    turn.unlock();
    report_no_block(heap, ga, at + kHeaderBytesOfBlock, site);
    return Outcome::kDone;
  }
  std::uint64_t old = 0;
  flight.cas(at + offsetof(BlockHeader, state), kLive, kFreed | my_rank_, &old);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  turn.unlock();
  is_mine = old == kLive;
  if (!is_mine) {
    log_error("acp_free({:#x}) at {}: freed already by rank {}: {}", ga, site,
              old & 0xffff'ffff, story_of(header));
  }
  return Outcome::kDone;
}

/// Reports a red zone that was overwritten. The block is freed nevertheless.
Outcome DebugBlocks::check_zones(PeerHeap& heap,
                                 acp_ga_t ga,
                                 std::uint64_t at,
                                 const BlockHeader& header,
                                 const std::string& site) const {
  std::array<std::uint64_t, kRearZoneWords> rear{};
  const std::size_t bytes = rear_zone_bytes(header.size);
  {
    const std::lock_guard turn(heap.turn());
    Flight flight(heap.memory());
    flight.get(rear_zone_of(at, header.size), rear.data(), bytes);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
  }
  // bytes of the first word that belong to the program
  const std::uint64_t mine = header.size % 8;
  std::array<unsigned char, kRearZoneWords * 8> seen{};
  std::memcpy(seen.data(), rear.data(), sizeof rear);
  const bool is_behind_good =
      std::all_of(seen.begin() + mine, seen.begin() + bytes,
                  [](unsigned char byte) { return byte == (kZone & 255); });
  const bool is_front_good = header.zone[0] == kZone && header.zone[1] == kZone;
  if (!is_front_good || !is_behind_good) {
    log_error("acp_free({:#x}) at {}: was written {} the block: {}", ga, site,
              is_front_good ? "behind the end of" : "before the start of",
              story_of(header));
    acp_errno = ACPX_BAD_ADDRESS;
  }
  return Outcome::kDone;
}

/// Overwrites the bytes, so that a late read is noticed.
Outcome DebugBlocks::poison(PeerHeap& heap,
                            std::uint64_t at,
                            std::uint64_t size) const {
  std::array<std::uint64_t, 1024> words{};
  words.fill(kPoison);
  const std::uint64_t begin = at + kHeaderBytesOfBlock;
  const std::lock_guard turn(heap.turn());
  for (std::uint64_t done = 0; done < size / 8 * 8; done += sizeof words) {
    Flight flight(heap.memory());
    flight.put(begin + done, words.data(),
               std::min<std::uint64_t>(sizeof words, size / 8 * 8 - done));
    if (!flight.run()) {
      return Outcome::kFailed;
    }
  }
  return Outcome::kDone;
}

/// Keeps the block from reuse, and really frees the oldest one that is kept.
FreeResult DebugBlocks::quarantine(PeerHeap& heap, std::uint64_t at) {
  Freed oldest{&heap, at};
  {
    const std::lock_guard lock(mutex_);
    freed_.push_back(oldest);
    if (freed_.size() <= kQuarantine) {
      return FreeResult::kDone;
    }
    oldest = freed_.front();
    freed_.pop_front();
  }
  return oldest.heap->free(oldest.offset);
}

Outcome DebugBlocks::release_all() {
  if (free_later() != Outcome::kDone) {
    return Outcome::kFailed;
  }
  std::deque<Freed> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(freed_);
  }
  for (const Freed& one : all) {
    if (one.heap->free(one.offset) == FreeResult::kFailed) {
      return Outcome::kFailed;
    }
  }
  return Outcome::kDone;
}

void DebugBlocks::report_foreign(acp_ga_t ga, const void* site) const {
  log_error("acp_free({:#x}) at {}: is in no heap", ga,
            describe_call_site(site));
  acp_errno = ACPX_BAD_ADDRESS;
}

/// Reports an address at which no block begins, and names the block around it.
void DebugBlocks::report_no_block(PeerHeap& heap,
                                  acp_ga_t ga,
                                  std::uint64_t offset,
                                  const std::string& site) const {
  // Looks for the first page of a large block up to 4 MiB before the address.
  // Each look at another rank's heap is a round trip, and the lock is held.
  constexpr PageNumber kPagesBack = 4096;
  const HeapLayout& layout = heap.layout();
  std::string what = "no block begins there";
  std::uint64_t at = 0;
  if (offset >= layout.begin() && offset < layout.end()) {
    const std::lock_guard turn(heap.turn());
    PageNumber page = 0;
    std::uint64_t info = 0;
    bool is_known = heap.info_at(offset, page, info) == Outcome::kDone;
    if (is_known && info::is_span(info)) {
      const std::uint64_t begin = layout.page(page - info::back(info));
      const std::uint64_t bytes = shape_of(info::size_class(info)).block_bytes;
      at = begin + (offset - begin) / bytes * bytes;
    }
    // Pages inside a run have no infos, so this goes back to the run's first
    // page.
    PageNumber back = 0;
    while (is_known && info == 0 && back < std::min(page, kPagesBack)) {
      PageNumber same = 0;
      ++back;
      is_known = heap.info_at(offset - back * kPageBytes, same, info) ==
                 Outcome::kDone;
    }
    if (is_known && info::is_run(info) && info::run_pages(info) > back) {
      at = layout.page(page - back) + kRunOffset;
    }
    BlockHeader header{};
    Flight flight(heap.memory());
    if (at != 0) {
      flight.get(at, &header, sizeof header);
      if (flight.run() && is_header(header, at) && header.state == kLive) {
        what = fmt::format(
            "is {} bytes into a block of {}",
            static_cast<std::int64_t>(offset - at - kHeaderBytesOfBlock),
            story_of(header));
      }
    }
  }
  log_error("acp_free({:#x}) at {}: {}", ga, site, what);
  acp_errno = ACPX_BAD_ADDRESS;
}

/// Goes through the chunks that are taken, and looks for headers in their runs
/// and spans.
std::uint64_t DebugBlocks::list_leaks(const PeerHeap& heap) const {
  const HeapLayout& layout = heap.layout();
  // Every rank has stopped changing the heap, so it is read where it lies.
  HeapMemory memory = heap.memory();
  memory.direct = static_cast<std::byte*>(acp_query_address(memory.base));
  std::uint64_t leaks = 0;
  std::uint64_t bytes = 0;
  const auto look_at = [&](std::uint64_t at) {
    BlockHeader header{};
    std::memcpy(&header, memory.direct + at, sizeof header);
    if (!is_header(header, at) || header.state != kLive) {
      return;
    }
    bytes += header.size;
    if (++leaks <= kLeaksListed) {
      log_warning("never freed: {:#x}: {}",
                  memory.base + at + kHeaderBytesOfBlock, story_of(header));
    }
  };
  for (PageNumber page = 0; page < layout.pages();) {
    const std::uint64_t chunk = page / kPagesPerChunk;
    const std::uint64_t taken =
        memory.load_direct(layout.group(chunk / kChunksPerGroup));
    if ((taken >> chunk % kChunksPerGroup & 1) == 0) {
      page = (chunk + 1) * kPagesPerChunk;
      continue;
    }
    const std::uint64_t info = memory.load_direct(layout.info_of(page));
    if (info::is_run(info)) {
      look_at(layout.page(page) + kRunOffset);
      page += info::run_pages(info);
      continue;
    }
    if (info::is_span(info) && info::back(info) == 0) {
      const ClassShape& shape = shape_of(info::size_class(info));
      const std::uint64_t free = memory.load_direct(layout.bits_of(page));
      for (std::uint32_t i = 0; i < shape.span_blocks; ++i) {
        if ((free >> i & 1) == 0 && shape.block_bytes >= kHeaderBytesOfBlock) {
          look_at(layout.page(page) + std::uint64_t{i} * shape.block_bytes);
        }
      }
    }
    ++page;
  }
  if (leaks != 0) {
    log_warning("never freed: {} blocks of {} bytes in the heap of this rank",
                leaks, bytes);
  }
  return leaks;
}

}  // namespace acp::middle
