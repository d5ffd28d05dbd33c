// The barrier of the leaders of all groups over transports: a dissemination
// barrier of log2(leaders) rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "gma/engine.h"
#include "gma/waiting.h"
#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// The leaders stand in a ring, in the order of their ranks. In round k each
/// adds 1 to word k of the leader 2^k places further, and waits until its own
/// word k has been added to. The words lie in the runtime area of every rank's
/// module memory. One thread of each leader at a time.
class NetBarrier {
 public:
  NetBarrier(const protocol::HostSegment& segment,
             gma::Engine& engine,
             gma::WaitHost& wait_host);

  /// kOk, the host's health, or kTimedOut: then the next call goes on with this
  /// barrier.
  Status wait(TimePoint deadline);

  /// acp_reset: the words start again from zero, and the ring has a new order.
  void reset() noexcept;

 private:
  /// The two leaders that a round needs.
  struct Round {
    gmm::Rank next;      ///< Is told.
    gmm::Rank previous;  ///< Is waited for.
  };

  void find_partners();
  void tell(gmm::Rank rank, std::size_t round);

  const protocol::HostSegment& segment_;
  gma::Engine& engine_;
  gma::WaitHost& wait_host_;
  bool knows_partners_ = false;
  std::vector<Round> rounds_;
  std::uint64_t epoch_ = 0;  ///< Barriers begun; the words count up to it.
  std::size_t round_ = 0;    ///< Goes on from here after a time-out.
  bool has_told_ = false;    ///< The partner of this round has been told.
};

}  // namespace acp::runtime
