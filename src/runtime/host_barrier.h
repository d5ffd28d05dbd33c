// acp_sync between ranks that share a host segment.
#pragma once

#include <cstdint>

#include "gma/waiting.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// Two ranks use a word each, more a counter and an epoch. Who waits sleeps on
/// the word that ends the barrier, where signals wake nobody, and leaves
/// requests of others to the progress thread. One thread of each rank at a
/// time.
class HostBarrier {
 public:
  HostBarrier(const protocol::HostSegment& segment,
              std::uint32_t my_slot,
              gma::WaitHost& wait_host);

  /// Returns when all local ranks have called it as often as I did. kOk, the
  /// host's health, or kTimedOut: then the next call goes on with this barrier.
  Status wait(TimePoint deadline);

 private:
  Status wait_for_partner(TimePoint deadline);
  Status wait_for_all(TimePoint deadline);
  std::uint32_t arrive(protocol::HostBarrier& barrier);

  const protocol::HostSegment& segment_;
  gma::WaitHost& wait_host_;
  std::uint32_t my_slot_;
  bool is_open_ = false;     ///< I have arrived, and have not seen its end.
  std::uint32_t epoch_ = 0;  ///< While it is open.
  std::uint32_t pair_epoch_ = 0;  ///< As PairBarrier::epoch of mine.
};

}  // namespace acp::runtime
