// The 64-bit global address: {rank + 1}{color}{key}{offset}, high to low.
//
// The widths follow from the number of ranks, so a small job has room for large
// regions. key = {generation}{index}; the index names an entry of the rank's
// key table, and the generation tells a stale address from a live one. An
// offset counts from the region's base rounded down to 64. So the low six bits
// of a global address equal those of the address that it names.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "protocol/step.h"

namespace acp::gmm {

using protocol::GlobalAddress;
using Rank = std::uint32_t;
using Color = std::uint32_t;

inline constexpr GlobalAddress kNullAddress = 0;
inline constexpr std::uint32_t kMaxProcs = (1U << 20) - 1;
inline constexpr std::uint64_t kBaseAlignment = 64;
/// Every job has room for regions of 16 GiB.
inline constexpr int kLeastOffsetBits = 34;
/// Generations that a stale address is told by, where kLeastOffsetBits leave
/// room: 4.
inline constexpr int kLeastGenerationBits = 2;

/// Indices of the two regions that every rank has.
inline constexpr std::uint32_t kStarterKey = 0;
inline constexpr std::uint32_t kModuleKey = 1;
inline constexpr std::uint32_t kFirstUserKey = 2;

/// Encodes and decodes global addresses. A plain value that is equal on all
/// ranks of a job. Thread-safe.
class GlobalAddressCodec {
 public:
  /// Makes the codec of a job of `procs` ranks (1 .. kMaxProcs) whose key
  /// tables have `key_entries` entries (a power of two).
  GlobalAddressCodec(std::uint32_t procs, std::uint32_t key_entries) noexcept
      : procs_(procs) {
    const int rank_bits = std::bit_width(procs);
    const int spare = 20 - rank_bits;
    color_bits_ = 2 + (spare / 4 < 2 ? spare / 4 : 2);
    index_bits_ = std::bit_width(key_entries) - 1;
    const int room = 64 - rank_bits - color_bits_ - index_bits_;
    generation_bits_ =
        std::clamp(std::clamp(spare / 4, kLeastGenerationBits, 5), 0,
                   std::max(room - kLeastOffsetBits, 0));
    offset_bits_ = room - generation_bits_;
    index_shift_ = offset_bits_;
    generation_shift_ = index_shift_ + index_bits_;
    color_shift_ = generation_shift_ + generation_bits_;
    rank_shift_ = color_shift_ + color_bits_;
    offset_mask_ = low_mask(offset_bits_);
    index_mask_ = key_entries - 1;
    within_rank_mask_ = low_mask(rank_shift_);
    compared_mask_ = color_and_generation(max_colors() - 1, ~std::uint64_t{0});
  }

  GlobalAddress encode(Rank rank,
                       Color color,
                       std::uint32_t index,
                       std::uint64_t generation,
                       std::uint64_t offset) const noexcept {
    return (std::uint64_t{rank} + 1) << rank_shift_ |
           std::uint64_t{color} << color_shift_ |
           (generation & low_mask(generation_bits_)) << generation_shift_ |
           std::uint64_t{index} << index_shift_ | offset;
  }

  /// The rank that an address names. The result is procs() or more when the
  /// address names no rank, and UINT32_MAX for ACP_GA_NULL.
  Rank rank(GlobalAddress ga) const noexcept {
    return static_cast<Rank>((ga >> rank_shift_) - 1);
  }

  Color color(GlobalAddress ga) const noexcept {
    return static_cast<Color>(ga >> color_shift_ & low_mask(color_bits_));
  }

  std::uint32_t index(GlobalAddress ga) const noexcept {
    return static_cast<std::uint32_t>(ga >> index_shift_) & index_mask_;
  }

  /// The fields behind the rank, as one number. Library memory has neither
  /// color nor generation, so its numbers begin at that of encode(rank, 0,
  /// index, 0, 0).
  std::uint64_t within_rank(GlobalAddress ga) const noexcept {
    return ga & within_rank_mask_;
  }

  /// The low generation_bits() bits of the region's generation.
  std::uint64_t generation(GlobalAddress ga) const noexcept {
    return ga >> generation_shift_ & low_mask(generation_bits_);
  }

  std::uint64_t offset(GlobalAddress ga) const noexcept {
    return ga & offset_mask_;
  }

  /// Only the color and the generation, at the bits that they have in an
  /// address.
  std::uint64_t color_and_generation(Color color,
                                     std::uint64_t generation) const noexcept {
    return std::uint64_t{color} << color_shift_ |
           (generation & low_mask(generation_bits_)) << generation_shift_;
  }

  /// Whether `state` is that of a live region with the color and generation of
  /// the address.
  bool matches_state(GlobalAddress ga, std::uint64_t state) const noexcept {
    return (((ga ^ state) & compared_mask_) | (~state & 1)) == 0;
  }

  /// The bits of a state that matches_state() compares, and their values.
  std::uint64_t state_mask() const noexcept { return compared_mask_ | 1; }

  std::uint64_t state_bits(GlobalAddress ga) const noexcept {
    return (ga & compared_mask_) | 1;
  }

  std::uint32_t procs() const noexcept { return procs_; }

  int rank_bits() const noexcept { return 64 - rank_shift_; }

  /// The fields behind the rank have so many bits.
  int rank_shift() const noexcept { return rank_shift_; }

  int color_bits() const noexcept { return color_bits_; }

  int index_bits() const noexcept { return index_bits_; }

  int generation_bits() const noexcept { return generation_bits_; }

  int offset_bits() const noexcept { return offset_bits_; }

  /// The largest region in bytes that can be registered at any base address.
  std::uint64_t max_region_bytes() const noexcept {
    return (std::uint64_t{1} << offset_bits_) - kBaseAlignment;
  }

  Color max_colors() const noexcept { return Color{1} << color_bits_; }

 private:
  static constexpr std::uint64_t low_mask(int bits) noexcept {
    return (std::uint64_t{1} << bits) - 1;
  }

  std::uint32_t procs_;
  int color_bits_;
  int index_bits_;
  int generation_bits_;
  int offset_bits_;
  int index_shift_;
  int generation_shift_;
  int color_shift_;
  int rank_shift_;
  std::uint64_t offset_mask_;
  std::uint64_t compared_mask_;
  std::uint64_t within_rank_mask_;
  std::uint32_t index_mask_;
};

}  // namespace acp::gmm
