// acp_reset: how the ranks of a host agree on their new numbers.
#pragma once

#include <cstdint>

#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// One acp_reset of this process after the other. Between any two of propose(),
/// decide(), is_good() and take() all ranks meet in a barrier of the launcher.
class Renumbering {
 public:
  Renumbering(const protocol::HostSegment& segment, std::uint32_t my_slot)
      : segment_(segment), my_slot_(my_slot) {}

  /// Publishes the number that this rank wants.
  void propose(int new_rank) const noexcept;
  /// Called by the process in slot 0: publishes whether all ranks want a number
  /// of their own from 0 on.
  void decide() const;
  /// The answer that decide() has published.
  bool is_good() const noexcept;
  /// Enters this process into the host's tables of ranks.
  void take(gmm::Rank rank, std::uint32_t my_proc) const noexcept;

 private:
  bool is_permutation() const;

  const protocol::HostSegment& segment_;
  std::uint32_t my_slot_;
};

}  // namespace acp::runtime
