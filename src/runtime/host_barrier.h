// acp_sync between ranks that share a host segment.
#pragma once

#include <cstdint>

#include "gma/waiting.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// Two ranks use a flag each, more a counter and an epoch. One thread of each
/// rank at a time.
class HostBarrier {
 public:
  HostBarrier(const protocol::HostSegment& segment,
              std::uint32_t my_slot,
              gma::WaitHost& wait_host);

  /// Returns when all local ranks have called it as often as I did. kOk or
  /// the host's health.
  Status wait();

 private:
  Status wait_for_partner();
  Status wait_for_all();

  const protocol::HostSegment& segment_;
  gma::WaitHost& wait_host_;
  std::uint32_t my_slot_;
  std::uint64_t pair_epoch_ = 0;
};

}  // namespace acp::runtime
