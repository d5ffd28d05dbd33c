// Which ranks of a job share a host, from the text that launchers put under the
// key PMI_process_mapping:
//
//   (vector,(0,2,3),(2,1,4))    3 ranks on each of the hosts 0 and 1, 4 on host
//   2
//
// A block is the first host, the number of hosts, and the ranks of each. When
// the blocks have fewer ranks than the job, they repeat from the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace acp::runtime {

/// The number of the host of each rank.
using NodeMap = std::vector<std::uint32_t>;

/// Pure: the hosts of `ranks` ranks. Nothing: the text has another form, or
/// names no host.
std::optional<NodeMap> decode_process_mapping(std::string_view text,
                                              std::uint32_t ranks);

}  // namespace acp::runtime
