// The cores of a host's ranks in the header and the records of the host
// segment. The leader of the host writes them under a launcher other than
// acprun, before another rank maps the segment.
#pragma once

#include <cstdint>
#include <span>

#include "base/host_facts.h"
#include "protocol/host_segment.h"
#include "runtime/bootstrap_door.h"

namespace acp::runtime {

/// Writes HostHeader::cpus and HostHeader::cores, and ProcRecord::bound_cpus of
/// each rank that may not use all cores of the host's ranks. `own` is what the
/// leader may use, and `allowed` how many cores a quota leaves it. `peers` are
/// all other ranks of the host. Makes no system call.
void set_cores(const protocol::HostSegment& segment,
               const CpuMask& own,
               std::uint32_t allowed,
               std::span<const HostPeer> peers);

}  // namespace acp::runtime
