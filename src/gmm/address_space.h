// Which of the job's memory this process can touch by itself, and where.
//
// Read on the fast path by every thread; changed only in acp_reset, when no
// operation runs. All checks against a key table happen here: bounds,
// liveness, generation, color.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "gmm/global_address.h"
#include "protocol/host_segment.h"

namespace acp::gmm {

/// Whose library memory may be touched directly.
enum class Reach : std::uint8_t {
  kSelf,  ///< My own only: everything else goes by wire.
  kHost,  ///< That of every rank on this host.
};

/// What is behind a global address, as far as this process can see.
struct Target {
  Rank rank = 0;
  std::byte* direct = nullptr;      ///< Set when it can be touched here.
  bool is_same_host = false;        ///< The owner's key table was checked.
  std::uint64_t owner_address = 0;  ///< In the owner, when is_same_host and
                                    ///< not direct.
};

class AddressSpace {
 public:
  /// `segment` must outlive this; `rank` is mine.
  AddressSpace(const protocol::HostSegment& segment,
               std::uint32_t my_slot,
               Rank rank,
               Color colors,
               Reach reach) noexcept;

  /// Where `size` bytes at `ga` can be touched; null when that is not
  /// possible or not allowed (locate() tells which).
  [[gnu::always_inline]] std::byte* direct(GlobalAddress ga,
                                           std::uint64_t size) const noexcept {
    const Rank rank = codec_.rank(ga);
    std::byte* slice = my_slice_;
    std::uint64_t barred = 0;
    if (rank != my_rank_) {
      if (rank >= direct_procs_) {
        return nullptr;
      }
      const std::uint32_t slot =
          slot_of_rank_[rank].load(std::memory_order_relaxed);
      if (slot == protocol::kNoSlot) {
        return nullptr;
      }
      slice = slices_ + slice_stride_ * slot;
      barred = protocol::kRegisteredBit;
    }
    const auto& entry = reinterpret_cast<const protocol::KeyEntry*>(
        slice + keys_offset_)[codec_.index(ga)];
    // Pairs with KeyTable's stores: not live, fields, live.
    const std::uint64_t state = entry.state.load(std::memory_order_acquire);
    const std::uint64_t base = entry.base.load(std::memory_order_relaxed);
    const std::uint64_t bytes = entry.size.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_whole = entry.state.load(std::memory_order_relaxed) == state;
    const std::uint64_t offset =
        codec_.offset(ga) - (base & (kBaseAlignment - 1));
    if (!codec_.matches_state(ga, state) || (state & barred) != 0 ||
        !is_whole || offset > bytes || size > bytes - offset) {
      return nullptr;
    }
    return slice + base + offset;
  }

  /// Everything that can be said here about `size` bytes at `ga`. Failures:
  /// kBadAddress (null, or outside its region), kBadRank, kBadColor, kBadKey.
  /// For ranks on other hosts only rank and color are checked.
  Result<Target> locate(GlobalAddress ga, std::uint64_t size) const noexcept;

  /// My own memory at `ga`; same failures, and kBadRank when it is not mine.
  Result<std::byte*> own(GlobalAddress ga, std::uint64_t size) const noexcept;

  /// The slice of a rank on this host that may be touched; null otherwise.
  protocol::SliceHeader* slice_header(Rank rank) const noexcept;

  const GlobalAddressCodec& codec() const noexcept { return codec_; }

  Rank my_rank() const noexcept { return my_rank_; }

  Color colors() const noexcept { return colors_; }

  std::byte* my_slice() const noexcept { return my_slice_; }

  /// acp_reset: the new number of this process.
  void set_rank(Rank rank) noexcept { my_rank_ = rank; }

 private:
  struct Region;
  Result<Region> read_region(const std::byte* slice,
                             GlobalAddress ga,
                             std::uint64_t size) const noexcept;

  GlobalAddressCodec codec_;
  Rank my_rank_;
  Rank direct_procs_;  ///< Ranks below may have a window: procs or 0.
  Color colors_;
  std::byte* my_slice_;
  std::byte* slices_;
  std::uint64_t slice_stride_;
  std::uint64_t keys_offset_;
  const std::atomic<std::uint32_t>* slot_of_rank_;
  const protocol::HostSegment* segment_;
};

}  // namespace acp::gmm
