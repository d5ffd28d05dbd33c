#include "gmm/key_table.h"

namespace acp::gmm {

namespace {

std::uint64_t as_number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

KeyTable::KeyTable(const protocol::HostSegment& segment, std::uint32_t my_slot)
    : codec_(segment.header().procs, segment.header().key_slots),
      entries_(segment.keys(my_slot)),
      slots_(segment.header().key_slots) {
  const protocol::HostHeader& header = segment.header();
  const std::lock_guard lock(mutex_);
  publish(kStarterKey, header.starter_offset, header.starter_bytes,
          protocol::RegionKind::kLibrary);
  publish(kModuleKey, header.module_offset,
          protocol::kRuntimeAreaBytes + header.module_bytes,
          protocol::RegionKind::kLibrary);
}

KeyTable::~KeyTable() {
  clear();
  retract(kStarterKey);
  retract(kModuleKey);
}

void KeyTable::publish(std::uint32_t index,
                       std::uint64_t base,
                       std::uint64_t size,
                       protocol::RegionKind kind) {
  protocol::KeyEntry& entry = entries_[index];
  const std::uint64_t generation =
      entry.state.load(std::memory_order_relaxed) >> 1;
  entry.base.store(base, std::memory_order_relaxed);
  entry.size.store(size, std::memory_order_relaxed);
  entry.kind.store(static_cast<std::uint64_t>(kind), std::memory_order_relaxed);
  // Pairs with the readers' acquire load of the state.
  entry.state.store(generation << 1 | 1, std::memory_order_release);
}

void KeyTable::retract(std::uint32_t index) {
  protocol::KeyEntry& entry = entries_[index];
  const std::uint64_t state = entry.state.load(std::memory_order_relaxed);
  if ((state & 1) == 0) {
    return;
  }
  entry.state.store(state + 1, std::memory_order_relaxed);
  // Orders the even state before any later change of the fields, for readers
  // that look at the state a second time.
  std::atomic_thread_fence(std::memory_order_release);
}

Result<GlobalAddress> KeyTable::add(Rank rank,
                                    Color color,
                                    void* address,
                                    std::uint64_t size) {
  if (size > codec_.max_region_bytes()) {
    return Status::kTooLarge;
  }
  const std::lock_guard lock(mutex_);
  std::uint32_t index = 0;
  if (fresh_ < slots_) {
    index = fresh_++;
  } else if (!free_.empty()) {
    index = free_.front();
    free_.pop_front();
  } else {
    return Status::kNoKeys;
  }
  publish(index, as_number(address), size, protocol::RegionKind::kRegistered);
  const std::uint64_t generation =
      entries_[index].state.load(std::memory_order_relaxed) >> 1;
  return codec_.encode(rank, color, index, generation, 0);
}

bool KeyTable::is_live_locked(Rank rank, GlobalAddress atkey) const {
  const std::uint32_t index = codec_.index(atkey);
  if (codec_.rank(atkey) != rank || codec_.offset(atkey) != 0 ||
      index < kFirstUserKey || index >= fresh_) {
    return false;
  }
  const std::uint64_t state =
      entries_[index].state.load(std::memory_order_relaxed);
  return (state & 1) != 0 && codec_.generation_matches(atkey, state >> 1);
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

Result<GlobalAddress> KeyTable::address_of(Rank rank,
                                           GlobalAddress atkey,
                                           const void* address) const {
  const std::lock_guard lock(mutex_);
  if (!is_live_locked(rank, atkey)) {
    return Status::kBadKey;
  }
  const protocol::KeyEntry& entry = entries_[codec_.index(atkey)];
  const std::uint64_t base = entry.base.load(std::memory_order_relaxed);
  const std::uint64_t distance = as_number(address) - base;
  if (distance >= entry.size.load(std::memory_order_relaxed)) {
    return Status::kBadAddress;
  }
  return atkey + (base & (kBaseAlignment - 1)) + distance;
}

void KeyTable::clear() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = kFirstUserKey; index < fresh_; ++index) {
    const std::uint64_t state =
        entries_[index].state.load(std::memory_order_relaxed);
    if ((state & 1) != 0) {
      retract(index);
      free_.push_back(index);
    }
  }
}

}  // namespace acp::gmm
