// acp_reset: how all ranks agree on their new numbers.
#pragma once

#include <cstdint>

#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// One acp_reset of this process after the other. Between any two of propose(),
/// decide(), is_good() and take() all ranks meet in a barrier of the launcher.
/// The barrier carries the published records to all hosts.
class Renumbering {
 public:
  Renumbering(const protocol::HostSegment& segment, std::uint32_t my_proc)
      : segment_(segment),
        my_proc_(my_proc),
        my_slot_(segment.slot_of_proc(my_proc)) {}

  /// Publishes the number that this rank wants.
  void propose(int new_rank) const noexcept;
  /// Tells the processes of this host whether all ranks of the job want a
  /// number of their own from 0 on. Only the process in slot 0 does so.
  void decide() const;
  /// The answer that decide() has published.
  bool is_good() const noexcept;
  /// Gives this process the number that it has proposed. The process in slot 0
  /// writes the new numbers of all processes into the host's tables of ranks.
  void take() const noexcept;

 private:
  bool is_permutation() const;
  std::uint32_t proposal_of(std::uint32_t proc) const noexcept;

  const protocol::HostSegment& segment_;
  // The constructor alone writes these.
  std::uint32_t my_proc_;
  std::uint32_t my_slot_;
};

}  // namespace acp::runtime
