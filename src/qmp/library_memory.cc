// Allocation in module memory and slabs. Called by halves, pairs, message
// memory and memory_api.cc, from any thread. It takes its own lock alone, and
// registers memory under it, so callers may hold any other lock of QMP.
#include "qmp/library_memory.h"

#include <algorithm>
#include <cstdlib>

#include "acp/extension.h"

namespace qmp {

namespace {

/// Least size of a slab. Each takes a key of kKeyQuota, so small slabs would
/// use the keys up; a large one wastes memory that no peer maps.
constexpr std::size_t kSlabBytes = std::size_t{4} << 20;

/// Slabs and messages together may use so many keys. In the largest jobs a rank
/// has 254 for all purposes.
constexpr int kKeyQuota = 128;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}

}  // namespace

std::byte* mapped_memory(acp_ga_t address, std::size_t bytes) {
  auto* first = static_cast<std::byte*>(acpx_pointer(address));
  const void* last = acpx_pointer(address + bytes - 1);
  return first != nullptr && last == first + bytes - 1 ? first : nullptr;
}

Arena::Arena(std::byte* base, std::size_t bytes, acp_ga_t address)
    : base_(base), bytes_(bytes), address_(address) {
  free_[0] = bytes;
}

/// Takes the first free range that has room behind the next aligned address.
/// The bytes skipped in front of it stay free.
std::byte* Arena::allocate(std::size_t bytes, std::size_t alignment) {
  bytes = round_up(std::max<std::size_t>(bytes, 1), 64);
  const auto origin = reinterpret_cast<std::uintptr_t>(base_);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const auto [offset, length] = *hole;
    const std::size_t start = round_up(origin + offset, alignment) - origin;
    const std::size_t skipped = start - offset;
    if (skipped > length || length - skipped < bytes) {
      continue;
    }
    free_.erase(hole);
    if (skipped > 0) {
      free_[offset] = skipped;
    }
    if (length - skipped > bytes) {
      free_[start + bytes] = length - skipped - bytes;
    }
    used_[start] = bytes;
    return base_ + start;
  }
  return nullptr;
}

/// Merges the range with free neighbours on both sides.
void Arena::free(std::byte* memory) {
  const auto used = used_.find(static_cast<std::size_t>(memory - base_));
  if (used == used_.end()) {
    return;
  }
  auto [offset, length] = *used;
  used_.erase(used);
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + length) {
    length += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += length;
      return;
    }
  }
  free_[offset] = length;
}

bool Arena::contains(const std::byte* memory, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const auto from = reinterpret_cast<std::uintptr_t>(base_);
  return at >= from && at - from <= bytes_ && bytes <= bytes_ - (at - from);
}

LibraryMemory::~LibraryMemory() {
  for (auto& slab : slabs_) {
    drop(*slab);
  }
}

void LibraryMemory::begin(std::byte* base,
                          std::size_t bytes,
                          acp_ga_t address) {
  slabs_.push_back(std::make_unique<Slab>(
      Slab{Arena(base, bytes, address), ACP_ATKEY_NULL, nullptr}));
  module_ = &slabs_.front()->arena;
}

void LibraryMemory::drop(Slab& slab) {
  if (slab.key != ACP_ATKEY_NULL) {
    (void)acp_unregister_memory(slab.key);
    --keys_;
  }
  std::free(slab.memory);
}

Block LibraryMemory::allocate_in(Arena& arena,
                                 std::size_t bytes,
                                 std::size_t alignment) {
  std::byte* memory = arena.allocate(bytes, alignment);
  return memory == nullptr ? Block{} : Block{memory, arena.address_of(memory)};
}

bool LibraryMemory::add_slab(std::size_t bytes) {
  bytes = round_up(std::max(bytes, kSlabBytes), 4096);
  void* memory = std::aligned_alloc(4096, bytes);
  if (memory == nullptr) {
    return false;
  }
  const acp_atkey_t key = acp_register_memory(memory, bytes, 0);
  if (key == ACP_ATKEY_NULL) {
    std::free(memory);
    return false;
  }
  ++keys_;
  slabs_.push_back(std::make_unique<Slab>(Slab{
      Arena(static_cast<std::byte*>(memory), bytes, acp_query_ga(key, memory)),
      key, memory}));
  return true;
}

Block LibraryMemory::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  alignment = std::max<std::size_t>(alignment, 64);
  for (auto& slab : slabs_) {
    if (const Block block = allocate_in(slab->arena, bytes, alignment)) {
      return block;
    }
  }
  if (!add_slab(bytes + alignment)) {
    return {};
  }
  return allocate_in(slabs_.back()->arena, bytes, alignment);
}

void LibraryMemory::free(std::byte* memory) {
  if (memory == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto slab = std::find_if(
      slabs_.begin(), slabs_.end(),
      [memory](const auto& each) { return each->arena.contains(memory, 1); });
  if (slab == slabs_.end()) {
    return;
  }
  (*slab)->arena.free(memory);
  if ((*slab)->key != ACP_ATKEY_NULL && (*slab)->arena.is_empty()) {
    drop(**slab);
    slabs_.erase(slab);
  }
}

acp_ga_t LibraryMemory::address_of(const void* memory, std::size_t bytes) {
  const auto* start = static_cast<const std::byte*>(memory);
  const std::lock_guard lock(mutex_);
  for (auto& slab : slabs_) {
    if (slab->arena.contains(start, bytes)) {
      return slab->arena.address_of(start);
    }
  }
  return ACP_GA_NULL;
}

acp_atkey_t LibraryMemory::register_memory(void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (keys_ >= kKeyQuota) {
    return ACP_ATKEY_NULL;
  }
  const acp_atkey_t key = acpx_try_register_memory(memory, bytes, 0);
  keys_ += key != ACP_ATKEY_NULL ? 1 : 0;
  return key;
}

void LibraryMemory::unregister_memory(acp_atkey_t key) {
  const std::lock_guard lock(mutex_);
  if (acp_unregister_memory(key) == 0) {
    --keys_;
  }
}

}  // namespace qmp
