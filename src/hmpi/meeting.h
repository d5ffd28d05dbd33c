// How the processes of a host meet in MPI_Init: each joins the ACP job, opens
// its heap, and learns where the others have theirs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hmpi/engine.h"
#include "hmpi/settings.h"

namespace hmpi {

/// The processes of this host, in one order in all of them.
struct Meeting {
  std::vector<Engine::Member> members;
  std::vector<int> world_ranks;  ///< The members in MPI_COMM_WORLD.
  Peer me = 0;
  bool has_other_hosts = false;
  bool has_fences = false;  ///< All can rely on the kernel's fences.
};

/// Collective over MPI_COMM_WORLD, and in the ACP job as acp_init is. `why` is
/// not empty where this process cannot take part. No value: all messages of the
/// world go to the MPI below, and one process has written a line that says why.
std::optional<Meeting> meet_host(const Settings& settings, std::string why);

/// Leaves the ACP job, if this process has joined it.
void leave_host();

}  // namespace hmpi
