#include "gmm/address_space.h"

namespace acp::gmm {

AddressSpace::AddressSpace(const protocol::HostSegment& segment,
                           std::uint32_t my_slot,
                           Rank rank,
                           Color colors,
                           Reach reach) noexcept
    : codec_(segment.header().procs, segment.header().key_slots),
      my_rank_(rank),
      direct_procs_(reach == Reach::kHost ? segment.header().procs : 0),
      colors_(colors),
      my_slice_(segment.slice(my_slot)),
      slices_(segment.slice(0)),
      slice_stride_(segment.header().slice_stride),
      keys_offset_(segment.header().keys_offset),
      slot_of_rank_(segment.slot_of_rank()) {}

Result<Region> AddressSpace::read_region(const std::byte* slice,
                                         GlobalAddress ga,
                                         std::uint64_t size) const noexcept {
  const auto& entry = reinterpret_cast<const protocol::KeyEntry*>(
      slice + keys_offset_)[codec_.index(ga)];
  std::uint64_t state = 0;
  Region region{};
  do {  // a writer is between its two stores: a few instructions
    state = entry.state.load(std::memory_order_acquire);
    region.base = entry.base.load(std::memory_order_relaxed);
    region.size = entry.size.load(std::memory_order_relaxed);
    region.kind = static_cast<protocol::RegionKind>(
        entry.kind.load(std::memory_order_relaxed));
    std::atomic_thread_fence(std::memory_order_acquire);
  } while (entry.state.load(std::memory_order_relaxed) != state);
  if ((state & 1) == 0 || !codec_.generation_matches(ga, state >> 1)) {
    return Status::kBadKey;
  }
  const std::uint64_t offset =
      codec_.offset(ga) - (region.base & (kBaseAlignment - 1));
  if (offset > region.size || size > region.size - offset) {
    return Status::kBadAddress;
  }
  region.base += offset;
  region.size -= offset;
  return region;
}

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
  const std::byte* slice = my_slice_;
  if (!is_mine) {
    if (target.rank >= direct_procs_) {
      return target;
    }
    const std::uint32_t slot =
        slot_of_rank_[target.rank].load(std::memory_order_relaxed);
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
  if (region.value().kind == protocol::RegionKind::kLibrary) {
    target.direct = const_cast<std::byte*>(slice) + region.value().base;
  } else if (is_mine) {
    target.direct = reinterpret_cast<std::byte*>(region.value().base);
  } else {
    target.owner_address = region.value().base;
  }
  return target;
}

Result<std::byte*> AddressSpace::own(GlobalAddress ga,
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
