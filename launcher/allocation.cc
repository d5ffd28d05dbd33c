// Reads the variables of Slurm, PBS and SGE in the environment, and the files
// that they name. Called by place_ranks. It runs no command of a batch system.
#include "launcher/allocation.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// Divides the text at commas that are outside of brackets.
std::vector<std::string_view> split_outside(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else {
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    }
  }
  return parts;
}

/// Appends `stem` + each number of "1-3,07" + each ending of `rest`.
bool expand(const std::string& stem,
            std::string_view rest,
            std::vector<std::string>& hosts);

bool expand_range(const std::string& stem,
                  std::string_view range,
                  std::string_view rest,
                  std::vector<std::string>& hosts) {
  const std::string_view first = range.substr(0, range.find('-'));
  const std::string_view last =
      first.size() == range.size() ? first : range.substr(first.size() + 1);
  const auto begin = number_in(first);
  const auto end = number_in(last);
  if (!begin || !end || *begin > *end) return false;
  for (std::uint32_t number = *begin; number <= *end; ++number) {
    // The width of the first number has the leading zeros.
    if (!expand(fmt::format("{}{:0{}}", stem, number, first.size()), rest,
                hosts)) {
      return false;
    }
  }
  return true;
}

/// Slurm writes n[1-3]-ib[0,2]: brackets may follow each other. The first one
/// is expanded here, and expand_range() calls this function again for the rest
/// of the text. The limit on hosts bounds what a nonsense list can cost.
bool expand(const std::string& stem,
            std::string_view rest,
            std::vector<std::string>& hosts) {
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    const std::string host = stem + std::string(rest);
    if (host.empty() || host.find(']') != std::string::npos ||
        hosts.size() >= kMaxRanks) {
      return false;
    }
    hosts.push_back(host);
    return true;
  }
  const std::size_t close = rest.find(']', open);
  if (close == std::string_view::npos) return false;
  const std::string longer = stem + std::string(rest.substr(0, open));
  for (const std::string_view range :
       split_outside(rest.substr(open + 1, close - open - 1))) {
    if (!expand_range(longer, range, rest.substr(close + 1), hosts)) {
      return false;
    }
  }
  return true;
}

/// A host without a count has room for one rank. SLURM_TASKS_PER_NODE may be
/// missing.
std::variant<std::optional<Allocation>, std::string> slurm_allocation(
    const Settings::Lookup& lookup, const char* list) {
  const auto hosts = expand_slurm_list(list);
  if (!hosts) {
    return fmt::format("SLURM_JOB_NODELIST={}: is no list of hosts", list);
  }
  Allocation allocation{"SLURM_JOB_NODELIST", {}};
  for (const std::string& host : *hosts) {
    if (const auto why = refuse_option_as_host(host)) {
      return fmt::format("SLURM_JOB_NODELIST: {}", *why);
    }
    allocation.nodes.push_back({host, 1, 0});
  }
  const char* counts = lookup("SLURM_TASKS_PER_NODE");
  if (counts != nullptr) {
    const auto tasks = expand_slurm_counts(counts);
    if (!tasks || tasks->size() != hosts->size()) {
      return fmt::format(
          "SLURM_TASKS_PER_NODE={}: does not fit SLURM_JOB_NODELIST={}", counts,
          list);
    }
    for (std::size_t i = 0; i < hosts->size(); ++i)
      allocation.nodes[i].capacity = (*tasks)[i];
  }
  return allocation;
}

/// PBS repeats a host for each of its ranks; SGE has a count behind each.
std::variant<std::optional<Allocation>, std::string> file_allocation(
    const char* variable, const char* name) {
  std::ifstream file(name);
  if (!file) return fmt::format("{}={}: cannot be read", variable, name);
  const bool has_counts = std::string_view(variable) == "PE_HOSTFILE";
  Allocation allocation{variable, {}};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string host;
    std::string count;
    if (!(words >> host)) continue;
    if (const auto why = refuse_option_as_host(host)) {
      return fmt::format("{}={}: {}", variable, name, *why);
    }
    Node node{host, 1, 0};
    if (has_counts && words >> count) {
      node.capacity = number_in(count).value_or(0);
      if (node.capacity == 0 || node.capacity > kMaxRanks) {
        return fmt::format("{}={}: '{}' is no number of slots", variable, name,
                           count);
      }
    }
    allocation.nodes.push_back(std::move(node));
  }
  if (allocation.nodes.empty()) {
    return fmt::format("{}={}: names no host", variable, name);
  }
  return allocation;
}

}  // namespace

std::optional<std::vector<std::string>> expand_slurm_list(
    std::string_view text) {
  std::vector<std::string> hosts;
  for (const std::string_view part : split_outside(text)) {
    if (!expand("", part, hosts)) return std::nullopt;
  }
  return hosts;
}

std::optional<std::vector<std::uint32_t>> expand_slurm_counts(
    std::string_view text) {
  std::vector<std::uint32_t> counts;
  for (const std::string_view part : split_outside(text)) {
    const std::size_t open = part.find("(x");
    const auto count = number_in(part.substr(0, open));
    std::optional<std::uint32_t> times = 1;
    if (open != std::string_view::npos) {
      if (part.back() != ')') return std::nullopt;
      times = number_in(part.substr(open + 2, part.size() - open - 3));
    }
    if (!count || !times || *count == 0 || *count > kMaxRanks ||
        *times > kMaxRanks - counts.size()) {
      return std::nullopt;
    }
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

std::variant<std::optional<Allocation>, std::string> find_allocation(
    const Settings::Lookup& lookup) {
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (const char* list = lookup(name)) return slurm_allocation(lookup, list);
  }
  for (const char* name : {"PBS_NODEFILE", "PE_HOSTFILE"}) {
    if (const char* file = lookup(name)) return file_allocation(name, file);
  }
  return std::optional<Allocation>{};
}

}  // namespace acp::launcher
