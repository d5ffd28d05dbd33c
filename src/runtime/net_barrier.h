// acp_sync over transports: a dissemination barrier of log2(ranks) rounds.
#pragma once

#include <array>
#include <cstdint>

#include "gma/engine.h"
#include "gma/waiting.h"
#include "gmm/address_space.h"

namespace acp::runtime {

/// In round k each rank adds 1 to word k of rank + 2^k, and waits until its own
/// word k has been added to. The words lie in the runtime area of every rank's
/// module memory. One thread of each rank at a time.
class NetBarrier {
 public:
  NetBarrier(gma::Engine& engine,
             gma::WaitHost& wait_host,
             const protocol::HostHeader& header);

  /// kOk, the host's health, or kTimedOut: then the next call goes on with this
  /// barrier.
  Status wait(TimePoint deadline);

  /// acp_reset: the words start again from zero.
  void reset() noexcept { epoch_ = 0; }

 private:
  void tell(gmm::Rank rank, std::size_t round);

  gma::Engine& engine_;
  gma::WaitHost& wait_host_;
  std::uint64_t words_offset_;  ///< From the start of a slice to word 0.
  std::uint64_t epoch_ = 0;     ///< Barriers begun; the words count up to it.
  std::size_t round_ = 0;       ///< Goes on from here after a time-out.
  bool has_told_ = false;       ///< The partner of this round has been told.
};

}  // namespace acp::runtime
