// The waits of this rank's threads, published in the rank's ProcRecord. acprun
// names the wait when a job ends badly, and the UDP transport probes the peer
// that is waited for.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "protocol/host_segment.h"
#include "runtime/counters.h"

namespace acp::runtime {

/// The record has room for one wait. It shows the newest wait that has not
/// ended. Thread-safe.
class WaitRecord {
 public:
  explicit WaitRecord(protocol::ProcRecord& record) : record_(record) {}

  /// From now on `counters` gets the time of each wait. It has to outlive the
  /// waits. Before the first wait.
  void count_by(Counters& counters) noexcept { counters_ = &counters; }

  /// The calling thread begins a wait. `peer` is a rank or protocol::kNoSlot.
  void enter(protocol::WaitKind kind, std::uint32_t peer);
  /// The wait ends that the calling thread began last.
  void leave();

 private:
  struct Wait {
    protocol::WaitKind kind{};
    std::uint32_t peer = 0;
    std::uint32_t thread = 0;    ///< The kernel's number of it.
    const char* name = nullptr;  ///< The function that the program has called.
    TimePoint began{};           ///< Set only if counters_ is.
  };

  void publish();
  void note_begin(Wait& wait) noexcept;
  void note_end(const Wait& wait);

  protocol::ProcRecord& record_;  ///< Its fields of waits are written here.
  Counters* counters_ = nullptr;  ///< Null: the clock is never read.
  std::mutex mutex_;              ///< Guards the rest, and counters of waits.
  std::vector<Wait> waits_;       ///< In order of their beginnings.
  /// The name in the record. Names are literals and seldom change, so a pointer
  /// tells whether the record has to be written.
  const char* shown_name_ = nullptr;
};

}  // namespace acp::runtime
