// The counters of a rank (ACP_COUNTERS): what it has moved, by peer and way,
// how long it has waited, by call, and what the program itself counts. They lie
// at the end of the rank's slice of the host segment, so that the launcher
// reads them also when the rank has died. A job that counts nothing has no such
// part.
//
//   CounterPart with CallCounters [kMostCalls] and OwnCount [kMostOwnCounts]
//   PeerCounters [peer_rows]
//
// A row for a peer is made when the rank first moves something to or from it.
// Rows that were never made are untouched pages, which cost no memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/call_name.h"

namespace acp::protocol {

/// The ways in which bytes get from one rank to another.
enum class CountedWay : std::uint8_t {
  kDirect,  ///< Loads, stores and CPU atomics of the caller.
  kCma,     ///< process_vm_readv and process_vm_writev.
  kShm,     ///< Messages through the command ring of a rank of this host.
  kUdp,
  kVerbs,
  kUcx,
  kCount
};

/// The kinds of operations.
enum class CountedKind : std::uint8_t {
  kPut,
  kGet,
  kAtomic,
  kMessage,  ///< A message of a channel, counted by its sender.
  kCount
};

inline constexpr std::size_t kCountedWays =
    static_cast<std::size_t>(CountedWay::kCount);
inline constexpr std::size_t kCountedKinds =
    static_cast<std::size_t>(CountedKind::kCount);

/// "direct", for files. Names may be added and not changed.
std::string_view name_of(CountedWay way) noexcept;
/// "put", for files.
std::string_view name_of(CountedKind kind) noexcept;

/// The way of a transport with this name; kShm for an unknown one.
CountedWay way_named(std::string_view transport) noexcept;

/// PeerCounters::proc of the row that peers share when no row is left.
inline constexpr std::uint32_t kOtherPeers = UINT32_MAX;

/// The operations of one thread of the rank to and from one peer. The thread
/// that made the row is the only one that writes it (relaxed); the launcher
/// reads it at any time (relaxed). A peer has a row for each thread.
struct alignas(64) PeerCounters {
  struct Cell {
    std::atomic<std::uint64_t> operations;
    std::atomic<std::uint64_t> bytes;
  };

  std::atomic<std::uint32_t> proc;  ///< The peer, or kOtherPeers.
  std::array<std::array<Cell, kCountedKinds>, kCountedWays> cells;

  /// Counts one operation. Two loads and two stores instead of atomic
  /// additions: no other thread writes here.
  [[gnu::always_inline]] void count(CountedWay way,
                                    CountedKind kind,
                                    std::uint64_t bytes) noexcept {
    Cell& cell =
        cells[static_cast<std::size_t>(way)][static_cast<std::size_t>(kind)];
    cell.operations.store(cell.operations.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
    cell.bytes.store(cell.bytes.load(std::memory_order_relaxed) + bytes,
                     std::memory_order_relaxed);
  }
};

/// The waits in one public function. WaitRecord writes it under its mutex
/// (relaxed), and the launcher reads it at any time (relaxed).
struct alignas(64) CallCounters {
  CallName name;                     ///< "": `kind` says the function.
  std::atomic<std::uint32_t> kind;   ///< WaitKind.
  std::atomic<std::uint32_t> peer;   ///< Number at launch of the peer that was
                                     ///< waited for longest, or kNoSlot.
  std::atomic<std::uint64_t> waits;  ///< Waits that have ended.
  std::atomic<std::uint64_t> waited_ns;  ///< The time of these waits.
  std::atomic<std::uint64_t> peer_ns;    ///< Part of waited_ns for `peer`.
};

/// A count of the program's own (acpx_count). Written under the mutex of
/// Counters (relaxed), read by the launcher at any time (relaxed).
struct alignas(64) OwnCount {
  CallName name;
  std::atomic<std::uint64_t> value;
};

/// Own counts that a rank can have. Further ones share the last one.
inline constexpr std::size_t kMostOwnCounts = 64;

/// Functions that a rank can wait in and that have a row each. Further ones
/// share the last row.
inline constexpr std::size_t kMostCalls = 64;

/// The start of the counters of a rank. Times are those of CLOCK_MONOTONIC.
/// The rank writes all fields (relaxed), the launcher reads them (relaxed).
struct alignas(64) CounterPart {
  /// When acp_init began to count; 0: this rank counts nothing.
  std::atomic<std::int64_t> began_ns;
  std::atomic<std::int64_t> ended_ns;  ///< End of acp_finalize; 0: not yet.
  /// Time in which at least one thread has waited, without a wait that goes on.
  std::atomic<std::int64_t> waited_ns;
  std::atomic<std::int64_t> waits_since_ns;          ///< 0: no thread waits.
  std::atomic<std::uint64_t> registered_bytes;       ///< Sum of live regions.
  std::atomic<std::uint64_t> registered_most_bytes;  ///< The most at a time.
  std::atomic<std::uint64_t> heap_bytes;  ///< ACP_HEAP_SIZE of the rank.
  std::atomic<std::uint32_t> calls;       ///< Rows of `call` in use.
  std::atomic<std::uint32_t> own_counts;  ///< Rows of `own_count` in use.
  /// Rows of peers in use. Threads claim rows by fetch_add, so the value may
  /// exceed the number of rows.
  alignas(64) std::atomic<std::uint32_t> peer_rows;
  std::array<CallCounters, kMostCalls> call;
  std::array<OwnCount, kMostOwnCounts> own_count;

  PeerCounters* rows() noexcept {
    return reinterpret_cast<PeerCounters*>(this + 1);
  }
};

/// The number of rows for peers of each rank in a job of so many ranks: four
/// for each rank, at least 4,096 and at most 65,536.
std::uint32_t peer_rows_for(std::uint32_t procs) noexcept;

/// Bytes of the counters of one rank.
std::uint64_t counter_bytes_for(std::uint32_t procs) noexcept;

}  // namespace acp::protocol
