// Looks up global addresses: in the slices of this host, and in key tables.
// Called by the engine, the agent and the runtime, from any thread. It takes no
// lock and reads no memory of a region.
#include "gmm/address_space.h"

namespace acp::gmm {

namespace {

/// The byte `distance` behind `slice`. Registered memory lies anywhere, and
/// pointer arithmetic must not leave an object, so this adds numbers, which may
/// wrap.
std::byte* at_distance(const std::byte* slice,
                       std::uint64_t distance) noexcept {
  return reinterpret_cast<std::byte*>(  // NOLINT(performance-no-int-to-ptr)
      reinterpret_cast<std::uintptr_t>(slice) + distance);
}

}  // namespace

AddressSpace::LibraryRegion AddressSpace::library_region(
    std::uint64_t base, std::uint64_t size) noexcept {
  ACP_ASSERT(size >= 8);
  return {base, size, size - 8};
}

/// Computes once what each access would otherwise look up in the segment. It
/// also publishes where this process has mapped its slice, for cross-memory
/// copies of peers.
AddressSpace::AddressSpace(const protocol::HostSegment& segment,
                           std::uint32_t my_slot,
                           Rank rank,
                           Color colors,
                           Reach reach) noexcept
    : codec_(segment.header().procs, segment.header().key_entries),
      my_rank_(rank),
      direct_procs_(reach == Reach::kHost ? segment.header().procs : 0),
      my_slice_(segment.slice(my_slot)),
      my_atomic_slice_(reach == Reach::kSelfAgentAtomics ||
                               reach == Reach::kSelfDeviceAtomics
                           ? nullptr
                           : my_slice_),
      has_device_atomics_(reach == Reach::kSelfDeviceAtomics),
      slices_(segment.slice(0)),
      slice_stride_(segment.header().slice_stride),
      slot_of_rank_(segment.slot_of_rank()),
      starter_(library_region(segment.header().starter_offset,
                              segment.header().starter_bytes)),
      modules_(library_region(
          segment.header().module_offset,
          protocol::kRuntimeAreaBytes + segment.header().module_bytes)),
      modules_begin_(codec_.within_rank(codec_.encode(0, 0, kModuleKey, 0, 0))),
      my_base_(codec_.encode(rank, 0, 0, 0, 0)),
      colors_(colors),
      keys_offset_(segment.header().keys_offset),
      segment_(&segment) {
  segment.record(my_slot).slice_address.store(
      reinterpret_cast<std::uintptr_t>(my_slice_), std::memory_order_relaxed);
}

/// Finds directly reachable memory through the key table in its owner's slice.
std::byte* AddressSpace::region_at(std::byte* slice,
                                   GlobalAddress ga,
                                   std::uint64_t size) const noexcept {
  const auto& entry = reinterpret_cast<const protocol::KeyEntry*>(
      slice + keys_offset_)[codec_.index(ga)];
  // Pairs with the stores of KeyTable: state dead, then the fields, then state
  // live.
  const std::uint64_t state = entry.state.load(std::memory_order_acquire);
  const std::uint64_t base = entry.base.load(std::memory_order_relaxed);
  const std::uint64_t bytes = entry.size.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_whole = entry.state.load(std::memory_order_relaxed) == state;
  const std::uint64_t offset =
      codec_.offset(ga) - (base & (kBaseAlignment - 1));
  const bool is_out_of_reach =
      slice != my_slice_ && (state & protocol::kRegisteredBit) != 0;
  if (!codec_.matches_state(ga, state) || is_out_of_reach || !is_whole ||
      offset > bytes || size > bytes - offset) {
    return nullptr;
  }
  return at_distance(slice, base + offset);
}

/// The memory of a region as its owner published it.
struct AddressSpace::Region {
  std::uint64_t distance;  ///< Distance from the owner's slice.
  protocol::KeyEntry* entry;
  std::uint64_t state;

  bool is_registered() const noexcept {
    return (state & protocol::kRegisteredBit) != 0;
  }
};

/// Reads the entry between two loads of its state, so that base and size are of
/// one region. The bounds are checked last: they mean nothing while the
/// key is not known to be right.
Result<AddressSpace::Region> AddressSpace::read_region(
    std::byte* slice, GlobalAddress ga, std::uint64_t size) const noexcept {
  auto& entry = reinterpret_cast<protocol::KeyEntry*>(
      slice + keys_offset_)[codec_.index(ga)];
  std::uint64_t state = 0;
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  do {  // Repeats while the owner is between its two stores.
    state = entry.state.load(std::memory_order_acquire);
    base = entry.base.load(std::memory_order_relaxed);
    bytes = entry.size.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
  } while (entry.state.load(std::memory_order_relaxed) != state);
  if (!codec_.matches_state(ga, state)) {
    return Status::kBadKey;
  }
  const std::uint64_t offset =
      codec_.offset(ga) - (base & (kBaseAlignment - 1));
  if (offset > bytes || size > bytes - offset) {
    return Status::kBadAddress;
  }
  return Region{base + offset, &entry, state};
}

/// The fields of the address come first, then the slice of its rank, then the
/// key table there. If the rank has no slice here, its agent checks the
/// rest.
Result<Target> AddressSpace::locate(GlobalAddress ga,
                                    std::uint64_t size) const noexcept {
  if (ga == kNullAddress) {
    return Status::kBadAddress;
  }
  Target target;
  target.rank = codec_.rank(ga);
  if (target.rank >= codec_.procs()) {
    return Status::kBadRank;
  }
  if (codec_.color(ga) >= colors_) {
    return Status::kBadColor;
  }
  const bool is_mine = target.rank == my_rank_;
  std::byte* slice = my_slice_;
  std::uint32_t slot = protocol::kNoSlot;
  if (!is_mine) {
    if (target.rank >= direct_procs_) {
      return target;
    }
    slot = slot_of_rank_[target.rank].load(std::memory_order_relaxed);
    if (slot == protocol::kNoSlot) {
      return target;
    }
    slice = slices_ + slice_stride_ * slot;
  }
  const Result<Region> region = read_region(slice, ga, size);
  if (!region.ok()) {
    return region.status();
  }
  target.is_same_host = true;
  if (is_mine || !region.value().is_registered()) {
    target.direct = at_distance(slice, region.value().distance);
  } else {
    target.owner_address =
        segment_->record(slot).slice_address.load(std::memory_order_relaxed) +
        region.value().distance;
    target.entry = region.value().entry;
    target.state = region.value().state;
  }
  return target;
}

Result<std::byte*> AddressSpace::own_any(GlobalAddress ga,
                                         std::uint64_t size) const noexcept {
  const Result<Target> target = locate(ga, size);
  if (!target.ok()) {
    return target.status();
  }
  if (target.value().rank != my_rank_) {
    return Status::kBadRank;
  }
  return target.value().direct;
}

/// The entry of the region that `ga` names; null when the key table is not
/// visible here or the key is dead. `ga` has a valid rank.
const protocol::KeyEntry* AddressSpace::live_entry(
    GlobalAddress ga) const noexcept {
  const std::byte* slice = slice_of(codec_.rank(ga));
  if (slice == nullptr) {
    return nullptr;
  }
  const auto& entry = reinterpret_cast<const protocol::KeyEntry*>(
      slice + keys_offset_)[codec_.index(ga)];
  return codec_.matches_state(ga, entry.state.load(std::memory_order_acquire))
             ? &entry
             : nullptr;
}

std::uint64_t AddressSpace::region_bytes(GlobalAddress ga) const noexcept {
  const std::uint32_t index = codec_.index(ga);
  if (index < kFirstUserKey) {
    return index == kStarterKey ? starter_.size : modules_.size;
  }
  const protocol::KeyEntry* entry = live_entry(ga);
  return entry != nullptr ? entry->size.load(std::memory_order_relaxed) : 0;
}

std::optional<std::uint64_t> AddressSpace::byte_in_region(
    GlobalAddress ga) const noexcept {
  const std::uint64_t offset = codec_.offset(ga);
  if (codec_.index(ga) < kFirstUserKey) {
    return offset;
  }
  const protocol::KeyEntry* entry = live_entry(ga);
  if (entry == nullptr) {
    return std::nullopt;
  }
  const std::uint64_t first =
      entry->base.load(std::memory_order_relaxed) & (kBaseAlignment - 1);
  return offset >= first ? std::optional(offset - first) : std::nullopt;
}

protocol::SliceHeader* AddressSpace::slice_header(Rank rank) const noexcept {
  if (rank == my_rank_) {
    return reinterpret_cast<protocol::SliceHeader*>(my_slice_);
  }
  if (rank >= direct_procs_) {
    return nullptr;
  }
  const std::uint32_t slot =
      slot_of_rank_[rank].load(std::memory_order_relaxed);
  if (slot == protocol::kNoSlot) {
    return nullptr;
  }
  return reinterpret_cast<protocol::SliceHeader*>(slices_ +
                                                  slice_stride_ * slot);
}

}  // namespace acp::gmm
