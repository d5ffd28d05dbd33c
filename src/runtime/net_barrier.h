// The barrier of the leaders of all groups over transports: a dissemination
// barrier of log2(leaders) rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "gma/engine.h"
#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// The leaders stand in a ring, in the order of their ranks. In round k each
/// adds 1 to word k of the leader that is 2^k further. Then it waits until its
/// own word k has been added to. The words lie in the runtime area of every
/// rank's module memory. Does not wait. One thread of each leader at a time.
class NetBarrier {
 public:
  NetBarrier(const protocol::HostSegment& segment, gma::Engine& engine);

  /// Goes on as far as it can without waiting. True: all leaders have called it
  /// for this barrier, and the next call begins the next one.
  bool advance();

  /// After advance() was false: whether it can go on now.
  bool is_ready() const;

  /// After advance() was false: the leader that it waits for.
  gmm::Rank awaited() const { return rounds_[round_].previous; }

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
  std::uint64_t* words() const;

  const protocol::HostSegment& segment_;
  gma::Engine& engine_;
  // The thread in the barrier writes these: find_partners() the first two,
  // advance() the others, and reset() all.
  bool knows_partners_ = false;
  std::vector<Round> rounds_;
  std::uint64_t epoch_ = 0;  ///< Barriers begun; the words count up to it.
  std::size_t round_ = 0;    ///< The round that is under way.
  bool has_told_ = false;    ///< The partner of this round has been told.
};

}  // namespace acp::runtime
