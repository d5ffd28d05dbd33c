// How a process that another launcher than acprun has started meets the ranks
// of its host: it finds them, and the leader of the host makes the segment that
// all of them map. docs/launcher.md, "Other launchers", has the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "protocol/host_segment.h"
#include "runtime/bootstrap_door.h"
#include "runtime/bundle_space.h"
#include "runtime/host_connections.h"
#include "runtime/host_group.h"
#include "runtime/process_manager.h"
#include "runtime/secret_exchange.h"
#include "settings/settings.h"
#include "status/result.h"

namespace acp::runtime {

/// The host of a process, joined. Move-only.
struct JoinedHost {
  HostGroup group;
  /// The other ranks of the host for its leader, and the leader for another
  /// rank. HostWatch takes their connections.
  std::vector<HostPeer> peers;
  protocol::HostSegment segment;
  /// The leader of each host but that of rank 0: take_secret() needs them.
  std::optional<SealKeys> seal_keys;
};

/// Blocks until all ranks of the job have called it, and the host segment is
/// mapped here. Leaders of several hosts connect by `connections`. kTimedOut
/// after `deadline`, kAborted, kProtocol, kSystem and kNoMemory, all logged.
/// Then other ranks may still wait for this one, and the caller aborts the job.
Result<JoinedHost> join_host(ProcessManager& manager,
                             BundleSpace& bundles,
                             HostConnections& connections,
                             const Settings& settings,
                             TimePoint deadline);

/// The leader of a host but that of rank 0: writes the secret of the job into
/// the segment. Rank 0 has sealed it for this leader before the last fence.
/// kProtocol, kTimedOut and the failures of BundleSpace::get(), logged.
[[nodiscard]] Status take_secret(const SealKeys& keys,
                                 BundleSpace& bundles,
                                 std::uint32_t leader,
                                 const protocol::HostSegment& segment,
                                 const WaitLimit& limit);

}  // namespace acp::runtime
