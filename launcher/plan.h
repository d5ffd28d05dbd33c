// The plan of a job: which program runs with which words on which hosts and
// processors, worked out from options, node file and allocation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/early_exit.h"
#include "launcher/host_orders.h"
#include "launcher/host_ranks.h"
#include "launcher/host_work.h"
#include "launcher/options.h"
#include "settings/settings.h"

namespace acp::launcher {

/// Move-only: the claims of the local work last as long as this.
struct JobPlan {
  Options options;
  std::string host;              ///< The name of this host.
  std::vector<HostRanks> hosts;  ///< All hosts of the job, by number.
  /// The orders for all hosts, with an empty list of hosts and no identity.
  HostOrders orders;
  /// The ranks of this host; empty when it has none.
  std::optional<HostWork> local;

  bool has_other_hosts() const noexcept {
    return hosts.size() > (local ? 1U : 0U);
  }
};

/// Makes the groups of the job's ranks when their hosts are known. `acprun` is
/// the file of acprun.
using MakeGroups = std::function<std::vector<CommandGroup>(
    const std::vector<HostRanks>& hosts, const std::string& acprun)>;

/// Places the ranks on hosts. For this host, it finds the programs, claims
/// cores and binds to them. `environment` is the launcher's own, and `lookup`
/// reads it. Without `make_groups` all ranks run the command of the options.
OrExit<JobPlan> make_plan(Options options,
                          char* const* environment,
                          const Settings::Lookup& lookup,
                          const MakeGroups& make_groups = {});

/// The text that --dry-run prints.
std::string describe_plan(const JobPlan& plan);

}  // namespace acp::launcher
