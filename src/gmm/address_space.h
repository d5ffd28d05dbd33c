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
  kSelfApart,   ///< As kSelf; atomics on my own go by wire as well.
  kSelfDevice,  ///< As kSelf; those of 8 bytes do, and no CPU executes them.
  kSelf,        ///< My own only: everything else goes by wire.
  kHost,        ///< That of every rank on this host.
};

/// What is behind a global address, as far as this process can see.
struct Target {
  Rank rank = 0;
  std::byte* direct = nullptr;  ///< Set when it can be touched here.
  bool is_same_host = false;    ///< The owner's key table was checked.
  /// These three when is_same_host and not direct.
  std::uint64_t owner_address = 0;  ///< In the owner.
  protocol::KeyEntry* entry = nullptr;
  std::uint64_t state = 0;  ///< The entry's, when it was looked at.
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
  std::byte* direct(GlobalAddress ga, std::uint64_t size) const noexcept {
    std::byte* library = direct_library(ga, size);
    return library != nullptr ? library : direct_any(ga, size);
  }

  /// The same for library memory only. Starter and module memory lie at the
  /// same place of every slice and are never unregistered, so nobody's key
  /// table has to be read.
  std::byte* direct_library(GlobalAddress ga,
                            std::uint64_t size) const noexcept {
    const std::uint64_t place = codec_.place(ga);
    const bool is_starter = place <= starter_.size;
    const LibraryRegion& region = is_starter ? starter_ : modules_;
    const std::uint64_t offset = place - (is_starter ? 0 : modules_place_);
    if (offset > region.size || size > region.size - offset) {
      return nullptr;
    }
    std::byte* slice = slice_of(codec_.rank(ga));
    return slice == nullptr ? nullptr : slice + region.base + offset;
  }

  /// The same for an aligned word of 8 bytes or less.
  [[gnu::always_inline]] std::byte* library_word(
      GlobalAddress ga) const noexcept {
    std::byte* slice = slice_of(codec_.rank(ga));
    return slice == nullptr ? nullptr : word_at(slice, codec_.place(ga));
  }

  /// The same for an atomic.
  [[gnu::always_inline]] std::byte* library_atomic(
      GlobalAddress ga) const noexcept {
    std::byte* slice = atomic_slice_of(codec_.rank(ga));
    return slice == nullptr ? nullptr : word_at(slice, codec_.place(ga));
  }

  /// As library_word() for my own memory only.
  [[gnu::always_inline]] std::byte* own_library_word(
      GlobalAddress ga) const noexcept {
    // An address of another rank is far away from mine, on either side.
    return word_at(my_slice_, ga - my_place_);
  }

  /// The aligned word at a place of a slice, in two steps for who needs several
  /// words of one rank; null when it is not in library memory.
  [[gnu::always_inline]] std::byte* word_at(
      std::byte* slice, std::uint64_t place) const noexcept {
    if (__builtin_expect(place <= starter_.last_word, 1)) {
      return slice + starter_.base + place;
    }
    const std::uint64_t offset = place - modules_place_;
    return offset <= modules_.last_word ? slice + modules_.base + offset
                                        : nullptr;
  }

  /// The slice of a rank of this host; null when it is not mapped.
  std::byte* slice_of(Rank rank) const noexcept {
    return rank == my_rank_ ? my_slice_ : slice_of_other(rank);
  }

  /// The same, null also when atomics there are not for the CPU.
  std::byte* atomic_slice_of(Rank rank) const noexcept {
    return rank == my_rank_ ? my_atomic_slice_ : slice_of_other(rank);
  }

  /// Whether what can be touched here may be touched by atomics of the CPU.
  bool has_cpu_atomics() const noexcept { return my_atomic_slice_ != nullptr; }

  /// The same for atomics of so many bytes: devices execute those of 8 only.
  bool has_cpu_atomics(std::size_t width) const noexcept {
    return has_cpu_atomics() || (has_device_atomics_ && width != 8);
  }

  /// Whether atomics of 8 bytes, by whomever and on whichever memory, are for a
  /// device of the owner and never for a CPU.
  bool has_device_atomics() const noexcept { return has_device_atomics_; }

  /// Everything that can be said here about `size` bytes at `ga`. Failures:
  /// kBadAddress (null, or outside its region), kBadRank, kBadColor, kBadKey.
  /// For ranks on other hosts only rank and color are checked.
  Result<Target> locate(GlobalAddress ga, std::uint64_t size) const noexcept;

  /// My own memory at `ga`; same failures, and kBadRank when it is not mine.
  Result<std::byte*> own(GlobalAddress ga, std::uint64_t size) const noexcept {
    if (codec_.rank(ga) == my_rank_) [[likely]] {
      if (std::byte* mine = direct(ga, size)) {
        return mine;
      }
    }
    return own_any(ga, size);
  }

  /// Bytes of the region that `ga` names, for an error message; 0 when that
  /// cannot be seen here, or the key is dead. `ga` has a valid rank.
  std::uint64_t region_bytes(GlobalAddress ga) const noexcept;

  /// The slice of a rank on this host that may be touched; null otherwise.
  protocol::SliceHeader* slice_header(Rank rank) const noexcept;

  const GlobalAddressCodec& codec() const noexcept { return codec_; }

  Rank my_rank() const noexcept { return my_rank_; }

  Color colors() const noexcept { return colors_; }

  std::byte* my_slice() const noexcept { return my_slice_; }

  /// acp_reset: the new number of this process.
  void set_rank(Rank rank) noexcept {
    my_rank_ = rank;
    my_place_ = codec_.encode(rank, 0, 0, 0, 0);
  }

 private:
  struct Region;

  struct LibraryRegion {
    std::uint64_t base;  ///< From the slice.
    std::uint64_t size;
    std::uint64_t last_word;  ///< size - 8: a region holds a word at least.
  };

  static LibraryRegion library_region(std::uint64_t base,
                                      std::uint64_t size) noexcept;

  std::byte* slice_of_other(Rank rank) const noexcept {
    if (rank >= direct_procs_) {
      return nullptr;
    }
    const std::uint32_t slot =
        slot_of_rank_[rank].load(std::memory_order_relaxed);
    return slot == protocol::kNoSlot ? nullptr : slices_ + slice_stride_ * slot;
  }

  std::byte* direct_any(GlobalAddress ga, std::uint64_t size) const noexcept;
  Result<std::byte*> own_any(GlobalAddress ga,
                             std::uint64_t size) const noexcept;
  Result<Region> read_region(std::byte* slice,
                             GlobalAddress ga,
                             std::uint64_t size) const noexcept;

  GlobalAddressCodec codec_;
  Rank my_rank_;
  Rank direct_procs_;  ///< Ranks below may have a window: procs or 0.
  std::byte* my_slice_;
  std::byte* my_atomic_slice_;  ///< my_slice_, or null: has_cpu_atomics().
  bool has_device_atomics_;
  std::byte* slices_;
  std::uint64_t slice_stride_;
  const std::atomic<std::uint32_t>* slot_of_rank_;
  LibraryRegion starter_;  ///< Key 0, so its offsets are places.
  LibraryRegion modules_;
  std::uint64_t modules_place_;
  std::uint64_t my_place_;  ///< My first address.
  Color colors_;
  std::uint64_t keys_offset_;
  const protocol::HostSegment* segment_;
};

}  // namespace acp::gmm
