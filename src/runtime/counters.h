// Writes the counters of this rank (protocol/counters.h). Exists only in a rank
// that counts, so a rank that does not count pays for none of it.
//
//   public functions ── row_of() ── PeerCounters, one for each thread and peer
//   WaitRecord ──────── note_wait() ── CallCounters
//   OwnRegions ──────── note_region()
//   acpx_count ──────── add_own()
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "gmm/global_address.h"
#include "protocol/counters.h"
#include "protocol/host_segment.h"
#include "settings/settings.h"

namespace acp::runtime {

/// The rows of the calling thread by the present rank of the peer; null: the
/// thread has none yet. Only Counters writes it.
extern thread_local constinit protocol::PeerCounters** t_rows_by_rank
    __attribute__((tls_model("initial-exec")));

/// One in a process. Each function says which thread may call it.
class Counters {
 public:
  /// Begins to count. Precondition: the segment has counters. It has to outlive
  /// this, and every thread that counts.
  Counters(const protocol::HostSegment& segment,
           std::uint32_t slot,
           const Settings& settings);

  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters() = default;

  /// The row of a peer for the calling thread. Any thread.
  protocol::PeerCounters& row_of(gmm::Rank rank) {
    protocol::PeerCounters* row = known_row_of(rank);
    return row != nullptr ? *row : make_row(rank);
  }

  /// The row if there is one already, or null. Any thread.
  [[gnu::always_inline]] static protocol::PeerCounters* known_row_of(
      gmm::Rank rank) noexcept {
    protocol::PeerCounters** rows = t_rows_by_rank;
    return rows == nullptr ? nullptr : rows[rank];
  }

  /// At least one thread waits from now on, and none from now on. WaitRecord
  /// calls the functions of waits under its mutex.
  void begin_waiting(TimePoint now) noexcept;
  void end_waiting(TimePoint now) noexcept;
  /// A wait has ended. `name` is null where `kind` says the function.
  void note_wait(protocol::WaitKind kind,
                 const char* name,
                 std::uint32_t peer,
                 Duration time);

  /// Memory was registered or unregistered; `bytes` is negative for the latter.
  /// Any thread.
  void note_region(std::int64_t bytes) noexcept;

  /// acp_reset has ended all regions.
  void forget_regions() noexcept {
    part_.registered_bytes.store(0, std::memory_order_relaxed);
  }

  /// Adds to a count of the program. Any thread.
  void add_own(std::string_view name, std::uint64_t amount);

  /// acp_reset has changed the ranks of peers. No thread counts meanwhile.
  void forget_ranks() noexcept;

  /// acp_finalize is over: time passes no further.
  void end() noexcept;

 private:
  /// A row of CounterPart::call, with the time for each peer.
  struct Call {
    protocol::WaitKind kind;
    std::string name;  ///< "": `kind` says the function.
    std::unordered_map<std::uint32_t, std::uint64_t> ns_of_peer;
  };

  protocol::PeerCounters& make_row(gmm::Rank rank);
  protocol::PeerCounters* claim_row(std::uint32_t proc) noexcept;
  std::size_t index_of_call(protocol::WaitKind kind, std::string_view name);

  const protocol::HostSegment& segment_;
  protocol::CounterPart& part_;
  const std::uint32_t peer_rows_;
  std::vector<Call> calls_;  ///< Guarded by the mutex of WaitRecord.
  std::mutex own_mutex_;
  std::vector<std::string> own_names_;  ///< Guarded by own_mutex_.
  /// acp_reset has changed ranks: rows exist whose rank is another one now.
  /// Written by forget_ranks().
  bool has_renumbered_ = false;
};

}  // namespace acp::runtime
