// Debug mode of the heap, ACP_MALLOC_DEBUG=on. A block has a header in front
// and red zones around it, and both are checked when the block is freed. The
// heaps then have no caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "acp/extension.h"
#include "middle/malloc/peer_heap.h"

namespace acp::middle {

/// The header in front of the program's bytes. The allocating rank writes it;
/// any rank that frees the block changes `state` by compare and swap.
struct BlockHeader {
  /// The header's own address, mixed with a constant: proves that this is a
  /// header.
  std::uint64_t address;
  std::uint64_t state;    ///< kLive, or kFreed with the rank that freed it.
  std::uint64_t size;     ///< Bytes that the program asked for.
  std::uint64_t rank;     ///< The rank that allocated the block ...
  char site[80];          ///< ... and the line of its program.
  std::uint64_t zone[2];  ///< The red zone in front.
};

inline constexpr std::uint64_t kHeaderBytesOfBlock = sizeof(BlockHeader);
static_assert(kHeaderBytesOfBlock % 64 == 0);  // keeps the alignment

/// Called by all threads.
class DebugBlocks {
 public:
  explicit DebugBlocks(int my_rank) noexcept
      : my_rank_(static_cast<std::uint64_t>(my_rank)) {}

  /// Allocates a block for `size` bytes with its header and zones. Results as
  /// PeerHeap::allocate.
  Outcome allocate(PeerHeap& heap,
                   std::uint64_t size,
                   const void* site,
                   std::uint64_t& offset);

  /// Frees a block, or reports in one line what is wrong. `ga` is the address
  /// for the report, `offset` the same address in `heap`. A progress step that
  /// may not wait leaves both to the next call that may.
  FreeResult free(PeerHeap& heap,
                  acp_ga_t ga,
                  std::uint64_t offset,
                  const void* site);

  /// Reports an address that is in no heap.
  void report_foreign(acp_ga_t ga, const void* site) const;

  /// Returns all blocks of the quarantine to their heaps.
  Outcome release_all();

  /// Lists the blocks in use of a heap that is mapped here. Returns their
  /// number.
  std::uint64_t list_leaks(const PeerHeap& heap) const;

 private:
  struct Freed {
    PeerHeap* heap;
    std::uint64_t offset;  ///< Offset of the header.
  };

  /// A free of a progress step: the arguments of free_now().
  struct Later {
    PeerHeap* heap;
    acp_ga_t ga;
    std::uint64_t offset;
    std::string site;
  };

  /// Freed blocks that are not used again yet, so that a second free or a late
  /// write is noticed.
  static constexpr std::size_t kQuarantine = 64;

  FreeResult free_now(PeerHeap& heap,
                      acp_ga_t ga,
                      std::uint64_t offset,
                      const std::string& site);
  Outcome free_later();
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
  std::mutex mutex_;  ///< Guards freed_ and later_.
  std::deque<Freed> freed_;
  std::vector<Later> later_;
};

}  // namespace acp::middle
