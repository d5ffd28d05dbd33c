// Reads the variables of Slurm, PBS and SGE in the environment. Called by
// acprun's main for a warning; it decides nothing.
#include "launcher/allocation.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <set>
#include <string_view>

namespace acp::launcher {

namespace {

/// Counts the different first words of a file's lines. PBS repeats a host for
/// each of its slots.
std::size_t hosts_in(const char* file_name) {
  std::ifstream file(file_name);
  std::set<std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    hosts.insert(
        line.substr(begin, line.find_first_of(" \t\r", begin) - begin));
  }
  return hosts.size();
}

bool is_more_than_one(std::string_view text) {
  unsigned number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec ==
             std::errc{} &&
         number > 1;
}

}  // namespace

std::string allocation_of_several_hosts(const Settings::Lookup& lookup) {
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
    const char* count = lookup(name);
    if (count != nullptr && is_more_than_one(count)) {
      return fmt::format("{}={}", name, count);
    }
  }
  // "node1" and "my-node" are one host; "node[1-2]" and "a,b" are several.
  const char* list = lookup("SLURM_JOB_NODELIST");
  if (list != nullptr &&
      std::string_view(list).find_first_of(",[") != std::string_view::npos) {
    return fmt::format("SLURM_JOB_NODELIST={}", list);
  }
  for (const char* name : {"PBS_NODEFILE", "PE_HOSTFILE"}) {
    const char* file = lookup(name);
    const std::size_t hosts = file == nullptr ? 0 : hosts_in(file);
    if (hosts > 1) return fmt::format("{} has {} hosts", name, hosts);
  }
  return "";
}

}  // namespace acp::launcher
