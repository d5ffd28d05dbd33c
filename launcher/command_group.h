// Ranks of a job that run one command. acprun has one group; macprun has one
// for each line of its input file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace acp::launcher {

/// Plain value. A group reaches from its first rank to the first rank of the
/// next group.
struct CommandGroup {
  std::uint32_t first = 0;            ///< Lowest rank, number at launch.
  std::vector<std::string> command;   ///< Program and arguments, at least one.
  std::vector<std::string> settings;  ///< "NAME=value", for this group alone.
  std::string directory;              ///< "": that of the job.
  /// The group's processes come from another launcher, which binds them itself.
  bool is_foreign = false;
  /// The name in messages: "line 3, mpirun"; "" in a job of acprun.
  std::string name;
};

/// The group of this rank. `groups` are ordered by their first ranks, and the
/// first one begins with rank 0.
const CommandGroup& group_of(std::span<const CommandGroup> groups,
                             std::uint32_t rank);

}  // namespace acp::launcher
