// This rank's registered regions: the only writer of its key table.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "base/result.h"
#include "gmm/global_address.h"
#include "protocol/host_segment.h"
#include "transport/transport.h"

namespace acp::gmm {

/// Hands out entries of the key table in the slice and publishes them to
/// peers. Thread-safe.
class KeyTable {
 public:
  /// Publishes starter memory and module memory; `slice` is mine.
  KeyTable(const protocol::HostSegment& segment, std::uint32_t my_slot);
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;
  /// Unregisters everything.
  ~KeyTable();

  /// Registers `size` bytes at `address`. The result is the key's part of a
  /// global address: {rank}{color}{key} with offset 0.
  /// kNoKeys, kTooLarge.
  Result<GlobalAddress> add(Rank rank,
                            Color color,
                            void* address,
                            std::uint64_t size);

  /// kBadKey when `atkey` names no live region of `rank` that add() gave.
  [[nodiscard]] Status remove(Rank rank, GlobalAddress atkey);

  /// Whether peers are copying to or from a region of this entry, also one that
  /// remove() has ended: none begins after remove().
  bool has_transfers(std::uint32_t index) const noexcept;

  /// The global address of `address` in the region `atkey`.
  /// kBadKey; kBadAddress when it is outside of the region.
  Result<GlobalAddress> address_of(Rank rank,
                                   GlobalAddress atkey,
                                   const void* address) const;

  /// The state of the live region `atkey`; kBadKey when there is none.
  Result<std::uint64_t> state(Rank rank, GlobalAddress atkey) const;

  /// The region of an entry, as wires want it; entries of library memory are
  /// always live. Precondition: so is this one.
  transport::Region region(std::uint32_t index) const;

  /// Removes all user regions (acp_reset).
  void clear();

 private:
  std::uint64_t counter(std::uint32_t index) const noexcept;
  std::uint64_t distance(const void* address) const noexcept;
  void publish(std::uint32_t index,
               std::uint64_t base,
               std::uint64_t size,
               std::uint64_t bits);
  void retract(std::uint32_t index);
  bool is_live_locked(Rank rank, GlobalAddress atkey) const;

  GlobalAddressCodec codec_;
  std::byte* slice_;
  protocol::KeyEntry* entries_;
  std::uint32_t slots_;
  mutable std::mutex mutex_;  ///< Guards all that follows and all writing.
  std::uint32_t fresh_ = kFirstUserKey;  ///< Entries from here were never used.
  std::deque<std::uint32_t> free_;       ///< Longest dead first.
};

}  // namespace acp::gmm
