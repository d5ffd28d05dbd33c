// The registered regions of this rank. KeyTable is the only writer of the
// rank's key table; peers read the table.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "gmm/global_address.h"
#include "protocol/host_segment.h"
#include "status/result.h"
#include "transport/transport.h"

namespace acp::gmm {

/// Allocates entries of the key table in the slice and publishes them to peers.
/// Thread-safe.
class KeyTable {
 public:
  /// Publishes starter memory and module memory. `my_slot` is this process's
  /// slot.
  KeyTable(const protocol::HostSegment& segment, std::uint32_t my_slot);
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;
  /// Unregisters every region.
  ~KeyTable();

  /// Registers `size` bytes at `address`. The result is the upper part of a
  /// global address, {rank}{color}{key} with offset 0. Fails with kNoKeys or
  /// kTooLarge.
  Result<GlobalAddress> add(Rank rank,
                            Color color,
                            void* address,
                            std::uint64_t size);

  /// Unregisters the region `atkey`. kBadKey: add() returned no such key for
  /// `rank`, or its region is not live any more.
  [[nodiscard]] Status remove(Rank rank, GlobalAddress atkey);

  /// Whether peers are copying to or from a region of this entry. Copies that
  /// began before remove() may still run after it; none begins later.
  bool has_cross_copies(std::uint32_t index) const noexcept;

  /// The global address of `address` in the region `atkey`. kBadKey: there is
  /// no such region. kBadAddress: `address` is outside of it.
  Result<GlobalAddress> address_of(Rank rank,
                                   GlobalAddress atkey,
                                   const void* address) const;

  /// The state of the live region `atkey`; kBadKey when it is not live.
  Result<std::uint64_t> state(Rank rank, GlobalAddress atkey) const;

  /// The size of the live region `atkey` in bytes; 0 when it is not live.
  std::uint64_t bytes_of(Rank rank, GlobalAddress atkey) const;

  /// The region of an entry in the form that transports take. Precondition: the
  /// entry is live; entries of library memory always are.
  transport::Region region(std::uint32_t index) const;

  /// "; the region has 640 bytes from 0x7f00 to 0x7f27f", for the line about an
  /// address outside of it. When `atkey` is not live, the text says how it
  /// ended, or that it has never been a key of this rank.
  std::string describe_region(Rank rank, GlobalAddress atkey) const;

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
  std::uint32_t key_entries_;
  mutable std::mutex mutex_;  ///< Guards the next fields and writes to entries.
  std::uint32_t fresh_ =
      kFirstUserKey;                ///< Entries from here on were never used.
  std::deque<std::uint32_t> free_;  ///< The entry that died first is in front.
};

}  // namespace acp::gmm
