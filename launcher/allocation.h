// Reads the hosts of a batch system's allocation: Slurm, PBS, or SGE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/nodefile.h"
#include "settings/settings.h"

namespace acp::launcher {

struct Allocation {
  std::string source;  ///< The variable that names the hosts, for messages.
  std::vector<Node> nodes;
};

/// Returns the hosts of the allocation and the ranks that each has room for;
/// nullopt without a batch system. The text says what is wrong with a variable
/// or a file. `lookup` reads the environment; the function may read files.
std::variant<std::optional<Allocation>, std::string> find_allocation(
    const Settings::Lookup& lookup);

/// Expands Slurm's list of hosts: "n[1-3,07],m" is n1, n2, n3, n07, m. nullopt:
/// it is none, or it has more than kMaxRanks hosts. Pure.
std::optional<std::vector<std::string>> expand_slurm_list(
    std::string_view text);

/// Expands Slurm's counts: "2(x3),1" is 2, 2, 2, 1. nullopt: it is none. Pure.
std::optional<std::vector<std::uint32_t>> expand_slurm_counts(
    std::string_view text);

}  // namespace acp::launcher
