// Which of the job's memory this process can touch by itself, and at which
// address.
//
// Every thread reads it on the fast path. Only acp_reset changes it, while no
// operation runs. All checks against a key table happen here: bounds, liveness,
// generation, color.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "gmm/global_address.h"
#include "protocol/host_segment.h"
#include "status/result.h"

namespace acp::gmm {

/// The ranks whose library memory this process loads and stores directly.
enum class Reach : std::uint8_t {
  kSelfAgentAtomics,   ///< Only this rank; its agent executes its atomics, too.
  kSelfDeviceAtomics,  ///< Only this rank; a device executes 8-byte atomics,
                       ///< and no CPU does.
  kSelf,               ///< Only this rank.
  kHost,               ///< Every rank on this host.
};

/// The memory behind a global address, as far as this process can see it.
struct Target {
  Rank rank = 0;
  std::byte* direct = nullptr;  ///< Its address here; null: not reachable.
  bool is_same_host = false;    ///< The owner's key table was checked.
  /// The next three are set when is_same_host is true and direct is null.
  std::uint64_t owner_address =
      0;  ///< The address in the owner's address space.
  protocol::KeyEntry* entry = nullptr;
  std::uint64_t state = 0;  ///< The state that the key entry had.
};

/// Read by any thread without a lock: the constructor writes all fields, and
/// set_rank() changes two of them in acp_reset, while nothing is under way.
class AddressSpace {
 public:
  /// `segment` must outlive this object; `rank` is the rank of this process.
  AddressSpace(const protocol::HostSegment& segment,
               std::uint32_t my_slot,
               Rank rank,
               Color colors,
               Reach reach) noexcept;

  /// The address here of `size` bytes at `ga`. Null when this process cannot
  /// reach them or they are not valid; locate() tells which.
  std::byte* direct(GlobalAddress ga, std::uint64_t size) const noexcept {
    std::byte* slice = slice_of(codec_.rank(ga));
    if (slice == nullptr) {
      return nullptr;
    }
    std::byte* library = library_at(slice, codec_.within_rank(ga), size);
    return library != nullptr ? library : region_at(slice, ga, size);
  }

  /// The `size` bytes that an address names in a slice; null when they are not
  /// in library memory. Starter and module memory lie at the same offset of
  /// every slice and are never unregistered, so no key table has to be read.
  std::byte* library_at(std::byte* slice,
                        std::uint64_t within,
                        std::uint64_t size) const noexcept {
    const bool is_starter = within <= starter_.size;
    const LibraryRegion& region = is_starter ? starter_ : modules_;
    const std::uint64_t offset = within - (is_starter ? 0 : modules_begin_);
    return offset > region.size || size > region.size - offset
               ? nullptr
               : slice + region.base + offset;
  }

  /// The address here of an aligned word of 8 bytes or less in library memory.
  [[gnu::always_inline]] std::byte* library_word(
      GlobalAddress ga) const noexcept {
    std::byte* slice = slice_of(codec_.rank(ga));
    return slice == nullptr ? nullptr : word_at(slice, codec_.within_rank(ga));
  }

  /// library_word() for an atomic; null also when the CPU may not execute it.
  [[gnu::always_inline]] std::byte* library_atomic(
      GlobalAddress ga) const noexcept {
    std::byte* slice = atomic_slice_of(codec_.rank(ga));
    return slice == nullptr ? nullptr : word_at(slice, codec_.within_rank(ga));
  }

  /// library_word() for memory of this rank only.
  [[gnu::always_inline]] std::byte* own_library_word(
      GlobalAddress ga) const noexcept {
    // The difference to an address of another rank is a large number, because
    // the subtraction is modulo 2^64.
    return word_at(my_slice_, ga - my_base_);
  }

  /// The aligned word that `ga` names in a slice; null when the word is not in
  /// library memory. Callers that need several words of one rank look up the
  /// slice once.
  [[gnu::always_inline]] std::byte* word_at(
      std::byte* slice, std::uint64_t within) const noexcept {
    if (__builtin_expect(within <= starter_.last_word, 1)) {
      return slice + starter_.base + within;
    }
    const std::uint64_t offset = within - modules_begin_;
    return offset <= modules_.last_word ? slice + modules_.base + offset
                                        : nullptr;
  }

  /// The slice of a rank; null when this process has not mapped it.
  std::byte* slice_of(Rank rank) const noexcept {
    return rank == my_rank_ ? my_slice_ : slice_of_other(rank);
  }

  /// The slice of a rank; null also when the CPU may execute no atomics there.
  std::byte* atomic_slice_of(Rank rank) const noexcept {
    return rank == my_rank_ ? my_atomic_slice_ : slice_of_other(rank);
  }

  /// Whether the CPU may execute atomics on memory that is reachable here.
  bool has_cpu_atomics() const noexcept { return my_atomic_slice_ != nullptr; }

  /// Whether the CPU may execute atomics of `width` bytes there. Devices
  /// execute only those of 8 bytes.
  bool has_cpu_atomics(std::size_t width) const noexcept {
    return has_cpu_atomics() || (has_device_atomics_ && width != 8);
  }

  /// Whether a pointer into library memory of any rank of this host means the
  /// same in the process of `rank` as here. False for ranks whose memory this
  /// process has not mapped.
  bool pointers_agree(Rank rank) const noexcept {
    const std::byte* slice = slice_of(rank);
    return slice != nullptr &&
           segment_->record(slot_of_rank_[rank].load(std::memory_order_relaxed))
                   .slice_address.load(std::memory_order_relaxed) ==
               reinterpret_cast<std::uintptr_t>(slice);
  }

  /// Whether a device of the memory's owner executes all atomics of 8 bytes in
  /// this job, and no CPU ever does.
  bool has_device_atomics() const noexcept { return has_device_atomics_; }

  /// Finds and checks `size` bytes at `ga`. Failures:
  /// kBadAddress (null, or outside its region), kBadRank, kBadColor, kBadKey.
  /// For ranks on other hosts only rank and color are checked.
  Result<Target> locate(GlobalAddress ga, std::uint64_t size) const noexcept;

  /// locate() for callers that need no more than its status. Far ranks and
  /// mapped memory take the fewest instructions.
  [[gnu::always_inline]] Status check(GlobalAddress ga,
                                      std::uint64_t size) const noexcept {
    return is_far(ga) || direct(ga, size) != nullptr
               ? Status::kOk
               : locate(ga, size).status();
  }

  /// check() that fails with kBadRank when another rank owns the memory.
  [[gnu::always_inline]] Status check_own(GlobalAddress ga,
                                          std::uint64_t size) const noexcept {
    return codec_.rank(ga) == my_rank_ ? check(ga, size)
                                       : own_any(ga, size).status();
  }

  /// The address of this rank's memory at `ga`. Fails as locate() does, and
  /// with kBadRank when another rank owns the memory.
  Result<std::byte*> own(GlobalAddress ga, std::uint64_t size) const noexcept {
    if (codec_.rank(ga) == my_rank_) [[likely]] {
      if (std::byte* mine = direct(ga, size)) {
        return mine;
      }
    }
    return own_any(ga, size);
  }

  /// Whether `ga` names a rank and a color, and this process has not mapped the
  /// memory of that rank. locate() then succeeds, because only the owner can
  /// check more.
  bool is_far(GlobalAddress ga) const noexcept {
    const Rank rank = codec_.rank(ga);
    return rank < codec_.procs() && slice_of(rank) == nullptr &&
           codec_.color(ga) < colors_;
  }

  /// The size in bytes of the region that `ga` names, for an error message. It
  /// is 0 when the key table is not visible here or the key is dead. `ga` has a
  /// valid rank.
  std::uint64_t region_bytes(GlobalAddress ga) const noexcept;

  /// The number of the byte that `ga` names, from 0 for the first byte of the
  /// region, for an error message. Nothing when region_bytes() is 0, and for a
  /// byte before the region. The offset in `ga` counts from an earlier byte.
  std::optional<std::uint64_t> byte_in_region(GlobalAddress ga) const noexcept;

  /// The slice of a rank whose library memory is reachable; null otherwise.
  protocol::SliceHeader* slice_header(Rank rank) const noexcept;

  /// Library memory of a rank. Key 0, of starter memory, needs no address: its
  /// offset and the address bits agree.
  struct LibraryRegion {
    std::uint64_t base;  ///< Offset in the slice.
    std::uint64_t size;
    std::uint64_t last_word;  ///< size - 8; a region has at least 8 bytes.
  };

  /// How library_word() and library_atomic() find a word. Plain value.
  struct Mapping {
    std::byte* slices;
    std::uint64_t slice_stride;
    LibraryRegion starter;
    LibraryRegion modules;
    std::uint64_t modules_begin;
    std::uint64_t my_base;
  };

  /// Nothing where some library memory of this host may not be touched by the
  /// CPU.
  std::optional<Mapping> mapping() const noexcept {
    if (direct_procs_ == 0 || !has_cpu_atomics()) {
      return std::nullopt;
    }
    return Mapping{slices_,  slice_stride_,  starter_,
                   modules_, modules_begin_, my_base_};
  }

  const GlobalAddressCodec& codec() const noexcept { return codec_; }

  /// The host segment, for messages that name a process.
  const protocol::HostSegment& segment() const noexcept { return *segment_; }

  Rank my_rank() const noexcept { return my_rank_; }

  Color colors() const noexcept { return colors_; }

  std::byte* my_slice() const noexcept { return my_slice_; }

  /// acp_reset: the new rank of this process.
  void set_rank(Rank rank) noexcept {
    my_rank_ = rank;
    my_base_ = codec_.encode(rank, 0, 0, 0, 0);
  }

 private:
  struct Region;

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

  std::byte* region_at(std::byte* slice,
                       GlobalAddress ga,
                       std::uint64_t size) const noexcept;
  Result<std::byte*> own_any(GlobalAddress ga,
                             std::uint64_t size) const noexcept;
  const protocol::KeyEntry* live_entry(GlobalAddress ga) const noexcept;
  Result<Region> read_region(std::byte* slice,
                             GlobalAddress ga,
                             std::uint64_t size) const noexcept;

  GlobalAddressCodec codec_;
  Rank my_rank_;
  Rank direct_procs_;  ///< Ranks below it may be mapped here: procs or 0.
  std::byte* my_slice_;
  std::byte* my_atomic_slice_;  ///< my_slice_; null without CPU atomics.
  bool has_device_atomics_;
  std::byte* slices_;
  std::uint64_t slice_stride_;
  /// In the host segment. The process in slot 0 writes it in acp_reset between
  /// two barriers, which order the relaxed loads here.
  const std::atomic<std::uint32_t>* slot_of_rank_;
  LibraryRegion starter_;  ///< Key 0: offset and address bits agree.
  LibraryRegion modules_;
  std::uint64_t modules_begin_;
  std::uint64_t my_base_;  ///< The first global address of this rank.
  Color colors_;
  std::uint64_t keys_offset_;
  const protocol::HostSegment* segment_;
};

}  // namespace acp::gmm
