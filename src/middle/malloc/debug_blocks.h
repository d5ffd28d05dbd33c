// What ACP_MALLOC_DEBUG=on puts around each block: a header in front, red
// zones, and a look at both when it is freed. Only then is this used, with
// heaps that keep nothing at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "acp/extension.h"
#include "middle/malloc/peer_heap.h"

namespace acp::middle {

/// In front of the program's bytes. All ranks agree on it.
struct BlockHeader {
  std::uint64_t address;  ///< Of itself, mixed with a constant: is it one?
  std::uint64_t state;    ///< kLive, or kFreed with the rank that freed it.
  std::uint64_t size;     ///< The program's bytes.
  std::uint64_t rank;     ///< Who allocated it ...
  char site[80];          ///< ... and where.
  std::uint64_t zone[2];  ///< Red zone in front.
};

inline constexpr std::uint64_t kHeaderBytesOfBlock = sizeof(BlockHeader);
static_assert(kHeaderBytesOfBlock % 64 == 0);  // keeps the alignment

/// All threads.
class DebugBlocks {
 public:
  explicit DebugBlocks(int my_rank) noexcept
      : my_rank_(static_cast<std::uint64_t>(my_rank)) {}

  /// As PeerHeap::allocate, of a block for `size` bytes.
  Outcome allocate(PeerHeap& heap,
                   std::uint64_t size,
                   const void* site,
                   std::uint64_t& offset);

  /// Frees, or reports in one line what is wrong. `ga` is the address, for
  /// people; `offset` the same in `heap`.
  FreeResult free(PeerHeap& heap,
                  acp_ga_t ga,
                  std::uint64_t offset,
                  const void* site);

  /// An address that is in no heap.
  void report_foreign(acp_ga_t ga, const void* site) const;

  /// Really frees what was freed last.
  Outcome release_all();

  /// Lists blocks in use of a heap that is mapped here. Returns how many.
  std::uint64_t list_leaks(const PeerHeap& heap) const;

 private:
  struct Freed {
    PeerHeap* heap;
    std::uint64_t offset;  ///< Of the header.
  };

  /// Freed blocks that are not used again yet, so that a second free or a
  /// late write is seen.
  static constexpr std::size_t kQuarantine = 64;

  Outcome claim(PeerHeap& heap,
                acp_ga_t ga,
                std::uint64_t at,
                const std::string& site,
                BlockHeader& header,
                bool& is_mine) const;
  Outcome check_zones(PeerHeap& heap,
                      acp_ga_t ga,
                      std::uint64_t at,
                      const BlockHeader& header,
                      const std::string& site) const;
  Outcome poison(PeerHeap& heap, std::uint64_t at, std::uint64_t size) const;
  FreeResult quarantine(PeerHeap& heap, std::uint64_t at);
  void report_no_block(PeerHeap& heap,
                       acp_ga_t ga,
                       std::uint64_t offset,
                       const std::string& site) const;

  const std::uint64_t my_rank_;
  std::mutex mutex_;  ///< Guards freed_.
  std::deque<Freed> freed_;
};

}  // namespace acp::middle
