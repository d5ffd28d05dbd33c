// The memory of all ranks, and the addresses that ranks have for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acp/global_memory.h"

namespace explore {

/// Starter memory, modules' memory and registered regions of each rank.
///
/// A global address is {rank + 1:28 | offset:36}. Library memory has the first
/// half of the offsets, and registered regions the second. Addresses and
/// pointers of library memory are equal in all runs of the program.
class Memory {
 public:
  static constexpr std::size_t kStarterBytes = 10240;

  explicit Memory(int ranks);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  int ranks() const { return ranks_; }

  /// Adds a module's memory on each rank. Returns its offset. Call before
  /// map().
  std::uint64_t add_module(std::size_t bytes);

  /// Maps the library memory of all ranks, zeroed.
  void map();

  void* begin() const { return base_; }

  std::size_t bytes() const {
    return stride_ * static_cast<std::size_t>(ranks_);
  }

  acp_ga_t library_ga(int rank, std::uint64_t offset) const {
    return (static_cast<acp_ga_t>(rank) + 1) << kOffsetBits | offset;
  }

  /// The rank that an address names, or -1.
  int rank_of(acp_ga_t ga) const;

  /// Where `bytes` bytes at an address are; null when they are in no region.
  std::byte* find(acp_ga_t ga, std::size_t bytes) const;

  /// Offset in the library memory of a rank, or a large number.
  static std::uint64_t offset_of(acp_ga_t ga) { return ga & kOffsetMask; }

  std::uint64_t library_bytes() const { return stride_; }

  // Registered regions.
  acp_atkey_t register_memory(int rank, void* address, std::size_t bytes);
  bool unregister(int rank, acp_atkey_t key);
  acp_ga_t query(int rank, acp_atkey_t key, const void* address) const;

  /// Forgets the regions that were registered since keep_regions().
  void forget_regions() { regions_.resize(kept_regions_); }

  void keep_regions() { kept_regions_ = regions_.size(); }

 private:
  static constexpr unsigned kOffsetBits = 36;
  static constexpr std::uint64_t kOffsetMask =
      (std::uint64_t{1} << kOffsetBits) - 1;
  static constexpr std::uint64_t kRegions = std::uint64_t{1} << 35;

  struct Region {
    int rank;
    acp_atkey_t key;
    acp_ga_t ga;
    std::byte* address;
    std::size_t bytes;
    bool is_live;
  };

  const int ranks_;
  std::byte* base_ = nullptr;
  std::size_t stride_ = 0;  ///< Library memory of a rank.
  std::vector<Region> regions_;
  std::size_t kept_regions_ = 0;
};

}  // namespace explore
