// The host segment for kernels' programs: one for the whole process, because a
// schedule takes less time than to make one.
#pragma once

#include <cstdint>

#include "protocol/host_segment.h"

namespace kernels {

/// The segment of a host with this many ranks, all of the job. The parts that
/// programs use are as in a new segment: slice headers, records, the barrier,
/// cores, key tables of kKeys entries, and command rings.
const acp::protocol::HostSegment& new_segment(std::uint32_t ranks);

/// Entries of each key table. Few, so that programs use an entry again.
inline constexpr std::uint32_t kKeys = 4;

}  // namespace kernels
