// Publishes and retires entries of the key table. acp_register_memory,
// acp_unregister_memory and acp_reset call it. Peers read the entries at any
// time, so an entry may change only while its state is dead.
#include "gmm/key_table.h"

#include <fmt/core.h>

#include "base/assert.h"

namespace acp::gmm {

namespace {

constexpr std::uint64_t kCounterMask = UINT32_MAX;

}  // namespace

KeyTable::KeyTable(const protocol::HostSegment& segment, std::uint32_t my_slot)
    : codec_(segment.header().procs, segment.header().key_entries),
      slice_(segment.slice(my_slot)),
      entries_(segment.keys(my_slot)),
      key_entries_(segment.header().key_entries) {
  const protocol::HostHeader& header = segment.header();
  const std::lock_guard lock(mutex_);
  publish(kStarterKey, header.starter_offset, header.starter_bytes, 0);
  publish(kModuleKey, header.module_offset,
          protocol::kRuntimeAreaBytes + header.module_bytes, 0);
}

KeyTable::~KeyTable() {
  clear();
  retract(kStarterKey);
  retract(kModuleKey);
}

std::uint64_t KeyTable::counter(std::uint32_t index) const noexcept {
  return entries_[index].state.load(std::memory_order_relaxed) >>
             protocol::kKeyCounterShift &
         kCounterMask;
}

std::uint64_t KeyTable::distance(const void* address) const noexcept {
  return reinterpret_cast<std::uintptr_t>(address) -
         reinterpret_cast<std::uintptr_t>(slice_);
}

/// Makes an entry live. `bits` are color and generation of the region, or'ed
/// with protocol::kRegisteredBit for user memory.
void KeyTable::publish(std::uint32_t index,
                       std::uint64_t base,
                       std::uint64_t size,
                       std::uint64_t bits) {
  protocol::KeyEntry& entry = entries_[index];
  entry.base.store(base, std::memory_order_relaxed);
  entry.size.store(size, std::memory_order_relaxed);
  // Pairs with the acquire load of the state in AddressSpace.
  entry.state.store(
      bits | counter(index) << protocol::kKeyCounterShift | protocol::kLiveBit,
      std::memory_order_release);
}

void KeyTable::retract(std::uint32_t index) {
  protocol::KeyEntry& entry = entries_[index];
  const std::uint64_t next = (counter(index) + 1) & kCounterMask;
  entry.state.store(next << protocol::kKeyCounterShift,
                    std::memory_order_seq_cst);  // see gmm/cross_copy_guard.h
  // A reader loads the state before and after the fields. This fence orders the
  // dead state before later changes of the fields, so the second load tells.
  std::atomic_thread_fence(std::memory_order_release);
}

/// Entries that were never used come first, then those that were free for the
/// longest time. So a stale address is noticed until its entry has gone through
/// all generations.
Result<GlobalAddress> KeyTable::add(Rank rank,
                                    Color color,
                                    void* address,
                                    std::uint64_t size) {
  if (size > codec_.max_region_bytes()) {
    return Status::kTooLarge;
  }
  const std::lock_guard lock(mutex_);
  std::uint32_t index = 0;
  if (fresh_ < key_entries_) {
    index = fresh_++;
  } else if (!free_.empty()) {
    index = free_.front();
    free_.pop_front();
  } else {
    return Status::kNoKeys;
  }
  const std::uint64_t generation = counter(index);
  publish(index, distance(address), size,
          codec_.color_and_generation(color, generation) |
              protocol::kRegisteredBit);
  return codec_.encode(rank, color, index, generation, 0);
}

bool KeyTable::is_live_locked(Rank rank, GlobalAddress atkey) const {
  const std::uint32_t index = codec_.index(atkey);
  if (codec_.rank(atkey) != rank || codec_.offset(atkey) != 0 ||
      index < kFirstUserKey || index >= fresh_) {
    return false;
  }
  return codec_.matches_state(
      atkey, entries_[index].state.load(std::memory_order_relaxed));
}

Status KeyTable::remove(Rank rank, GlobalAddress atkey) {
  const std::lock_guard lock(mutex_);
  if (!is_live_locked(rank, atkey)) {
    return Status::kBadKey;
  }
  retract(codec_.index(atkey));
  free_.push_back(codec_.index(atkey));
  return Status::kOk;
}

bool KeyTable::has_cross_copies(std::uint32_t index) const noexcept {
  return entries_[index].cross_copies.load(std::memory_order_seq_cst) != 0;
}

Result<GlobalAddress> KeyTable::address_of(Rank rank,
                                           GlobalAddress atkey,
                                           const void* address) const {
  const std::lock_guard lock(mutex_);
  if (!is_live_locked(rank, atkey)) {
    return Status::kBadKey;
  }
  const protocol::KeyEntry& entry = entries_[codec_.index(atkey)];
  const std::uint64_t base = entry.base.load(std::memory_order_relaxed);
  const std::uint64_t offset = distance(address) - base;
  if (offset >= entry.size.load(std::memory_order_relaxed)) {
    return Status::kBadAddress;
  }
  return atkey + (base & (kBaseAlignment - 1)) + offset;
}

std::string KeyTable::describe_region(Rank rank, GlobalAddress atkey) const {
  const std::lock_guard lock(mutex_);
  if (!is_live_locked(rank, atkey)) {
    const bool was_key =
        codec_.rank(atkey) == rank && codec_.offset(atkey) == 0 &&
        codec_.index(atkey) >= kFirstUserKey && codec_.index(atkey) < fresh_;
    return was_key ? "; acp_unregister_memory or acp_reset has ended this "
                     "region; an atkey is good until then"
                   : "; an atkey comes from acp_register_memory on this rank";
  }
  const protocol::KeyEntry& entry = entries_[codec_.index(atkey)];
  const std::uint64_t base = entry.base.load(std::memory_order_relaxed);
  const std::uint64_t size = entry.size.load(std::memory_order_relaxed);
  const std::uint64_t first = reinterpret_cast<std::uintptr_t>(slice_) + base;
  return fmt::format("; the region has {} bytes from {:#x} to {:#x}", size,
                     first, first + size - 1);
}

Result<std::uint64_t> KeyTable::state(Rank rank, GlobalAddress atkey) const {
  const std::lock_guard lock(mutex_);
  if (!is_live_locked(rank, atkey)) {
    return Status::kBadKey;
  }
  return entries_[codec_.index(atkey)].state.load(std::memory_order_relaxed);
}

std::uint64_t KeyTable::bytes_of(Rank rank, GlobalAddress atkey) const {
  const std::lock_guard lock(mutex_);
  return is_live_locked(rank, atkey) ? entries_[codec_.index(atkey)].size.load(
                                           std::memory_order_relaxed)
                                     : 0;
}

transport::Region KeyTable::region(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  const protocol::KeyEntry& entry = entries_[index];
  transport::Region region;
  region.key = index;
  region.state = entry.state.load(std::memory_order_relaxed);
  ACP_ASSERT((region.state & protocol::kLiveBit) != 0);
  // Registered memory lies anywhere: adds numbers, which may wrap.
  region.address = reinterpret_cast<  // NOLINT(performance-no-int-to-ptr)
      std::byte*>(reinterpret_cast<std::uintptr_t>(slice_) +
                  entry.base.load(std::memory_order_relaxed));
  region.size = entry.size.load(std::memory_order_relaxed);
  region.color = codec_.color(region.state);
  region.is_sparse = index == kModuleKey;
  return region;
}

void KeyTable::clear() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = kFirstUserKey; index < fresh_; ++index) {
    const std::uint64_t state =
        entries_[index].state.load(std::memory_order_relaxed);
    if ((state & protocol::kLiveBit) != 0) {
      retract(index);
      free_.push_back(index);
    }
  }
}

}  // namespace acp::gmm
