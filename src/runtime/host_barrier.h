// acp_sync between ranks that share a host segment.
#pragma once

#include <cstdint>

#include "gma/waiting.h"
#include "protocol/host_segment.h"
#include "runtime/lost_turns.h"

namespace acp::runtime {

/// Two ranks use a word each; more ranks use a counter and an epoch. A waiting
/// rank with a core of its own spins on progress first. Then it sleeps on the
/// word that ends the barrier, where no signal wakes it, and leaves requests of
/// peers to its progress thread. A rank that shares its core yields it instead
/// of spinning, as long as it does not lose its turn by that. One thread of
/// each rank at a time.
class HostBarrier {
 public:
  HostBarrier(const protocol::HostSegment& segment,
              std::uint32_t my_slot,
              gma::WaitHost& wait_host);

  /// Returns when all local ranks have called it as often as this rank. kOk,
  /// the host's health, or kTimedOut: then the next call goes on with this
  /// barrier.
  Status wait(TimePoint deadline);

  /// How the waits of this rank have ended, where ranks share cores.
  struct Counts {
    std::uint64_t waits = 0;       ///< The barrier was not over at once.
    std::uint64_t sleeps = 0;      ///< Sleeps, most of them one in a wait.
    std::uint64_t lost_turns = 0;  ///< LostTurns::lost().
  };

  Counts counts() const noexcept { return {waits_, sleeps_, turns_.lost()}; }

 private:
  Status wait_for_partner(TimePoint deadline);
  Status wait_for_all(TimePoint deadline);
  Status wait_on(const gma::SleepWord& sleep_word, TimePoint deadline);
  Status wait_sharing_core(const gma::SleepWord& sleep_word,
                           TimePoint deadline);
  bool yield_until_moved(const gma::SleepWord& sleep_word);
  Status sleep_until_moved(const gma::SleepWord& sleep_word,
                           TimePoint deadline);
  std::uint32_t arrive(protocol::HostBarrier& barrier);

  const protocol::HostSegment& segment_;
  gma::WaitHost& wait_host_;
  std::uint32_t my_slot_;
  bool is_open_ = false;     ///< This rank has arrived, and not seen the end.
  std::uint32_t epoch_ = 0;  ///< Epoch of the barrier, while it is open.
  std::uint32_t pair_epoch_ = 0;  ///< A copy of this rank's PairBarrier::epoch.
  LostTurns turns_;
  std::uint64_t waits_ = 0;   ///< Counts::waits.
  std::uint64_t sleeps_ = 0;  ///< Counts::sleeps.
};

}  // namespace acp::runtime
