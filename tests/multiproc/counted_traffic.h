// The traffic of each pattern of counted.cc, compared with a report of acprun.
#pragma once

#include <cstdint>
#include <string>

namespace counted {

/// A run of counted.cc. Plain value.
struct Run {
  std::string pattern;
  std::uint64_t bytes = 0;
  std::uint64_t times = 0;
  std::string near_way;  ///< Way between ranks of one host.
  std::string far_way;   ///< Way between ranks of different hosts.
};

/// Compares the rows of the report, which has the form of --stats=json, with
/// the traffic of the run. Returns "" when they are equal, or else the first
/// difference. Of "channel" it looks at the messages alone, since the channels
/// put words of their own.
std::string difference(const std::string& report, const Run& run);

}  // namespace counted
