// Works out the plan of a job. Called once by main; starts no process, but
// claims cores.
#include "launcher/plan.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/host_facts.h"
#include "base/log.h"
#include "launcher/nodefile.h"
#include "launcher/program.h"
#include "launcher/this_host.h"
#include "protocol/bootstrap.h"

namespace acp::launcher {

namespace {

EarlyExit error(std::string text) {
  return {kStatusLauncher, std::move(text)};
}

EarlyExit other_host(const std::string& host, const std::string& where) {
  return error(fmt::format(
      "{}: host {} is not this one ({}); jobs on several hosts are not "
      "supported yet, name localhost",
      where, host, host_name()));
}

std::optional<EarlyExit> check_hosts(const Options& options) {
  for (std::size_t begin = 0; begin < options.hosts.size();) {
    const std::size_t end =
        std::min(options.hosts.find(',', begin), options.hosts.size());
    auto parsed = parse_nodefile(options.hosts.substr(begin, end - begin));
    const auto* nodes = std::get_if<std::vector<Node>>(&parsed);
    if (nodes == nullptr || nodes->size() != 1) {
      return error(
          fmt::format("--host={}: must be host or host:N, separated "
                      "by commas",
                      options.hosts));
    }
    if (!is_this_host(nodes->front().host)) {
      return other_host(nodes->front().host, "--host");
    }
    begin = end + 1;
  }
  return std::nullopt;
}

OrExit<std::string> read_file(const std::string& name) {
  struct stat info {};

  if (::stat(name.c_str(), &info) != 0) {
    return error(fmt::format("node file {}: {}", name, errno_text(errno)));
  }
  std::ifstream file(name, std::ios::binary);
  if (!file || S_ISDIR(info.st_mode)) {
    return error(fmt::format("node file {}: {}", name,
                             errno_text(file ? EISDIR : errno)));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Checks that the node file names this host for every rank. Sets the number of
/// ranks where the user did not.
std::optional<EarlyExit> apply_nodefile(Options& options) {
  const std::string& name = *options.nodefile;
  auto text = read_file(name);
  if (auto* exit = std::get_if<EarlyExit>(&text)) {
    return std::move(*exit);
  }
  auto parsed = parse_nodefile(std::get<std::string>(text));
  if (const auto* wrong = std::get_if<NodefileError>(&parsed)) {
    return error(fmt::format("node file {}, line {}: {}", name, wrong->line,
                             wrong->text));
  }
  const auto& nodes = std::get<std::vector<Node>>(parsed);
  const std::uint32_t slots = count_slots(nodes);
  if (options.procs == 0) {
    options.procs = std::max<std::uint32_t>(slots, 1);
  }
  if (slots == 0 || (slots < options.procs && !options.oversubscribe)) {
    return error(fmt::format(
        "node file {} has room for {} ranks, -np asks for {}; add lines or "
        "give --oversubscribe",
        name, slots, options.procs));
  }
  std::uint32_t first = 0;
  for (const Node& node : nodes) {
    if (first < options.procs && !is_this_host(node.host)) {
      return other_host(node.host,
                        fmt::format("node file {}, line {}", name, node.line));
    }
    first += std::min(node.slots, kMaxRanks - first);
  }
  return std::nullopt;
}

/// Makes gfortran's run-time library write each line as it is printed, as
/// acp_init does for C's stdout. The library reads the variable before main, so
/// only the launcher can set it.
void add_line_output_of_fortran(std::vector<std::string>& variables) {
  constexpr std::string_view name = "GFORTRAN_UNBUFFERED_PRECONNECTED=";
  for (const std::string& entry : variables) {
    if (entry.starts_with(name) || entry == "ACP_STDOUT=program") {
      return;
    }
  }
  variables.push_back(std::string(name) + "y");
}

/// Joins acprun's own environment, settings given as options, and --env. A
/// later variable replaces an earlier one of the same name.
std::vector<std::string> make_environment(const Options& options,
                                          char* const* inherited) {
  std::vector<std::string> variables;
  const auto put = [&variables](const std::string& entry) {
    const std::string start = entry.substr(0, entry.find('=') + 1);
    std::erase_if(variables, [&start](const std::string& other) {
      return other.starts_with(start);
    });
    variables.push_back(entry);
  };
  for (char* const* entry = inherited; *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  for (const std::string& entry : options.setting_variables)
    put(entry);
  for (const std::string& entry : options.environment)
    put(entry);
  put(fmt::format("{}={}", protocol::kBootstrapFdVariable, 3));
  add_line_output_of_fortran(variables);
  // acprun may itself be a rank of another job. That rank's numbers must not
  // reach its own ranks.
  std::erase_if(variables, [](const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('='));
    return name == protocol::kRankVariable ||
           name == protocol::kProcsVariable ||
           name == protocol::kLocalRankVariable ||
           name == protocol::kLocalProcsVariable;
  });
  return variables;
}

std::string value_of(const std::vector<std::string>& environment,
                     std::string_view start) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return "";
}

}  // namespace

/// Hosts and node file come first, because they set the number of ranks. Cores
/// are claimed last, so that no error follows a claim.
OrExit<JobPlan> make_plan(Options options, char* const* environment) {
  if (auto exit = check_hosts(options)) return std::move(*exit);
  if (options.nodefile) {
    if (auto exit = apply_nodefile(options)) return std::move(*exit);
  }
  options.procs = std::max<std::uint32_t>(options.procs, 1);
  if (options.wrap_ranks && options.wrap_ranks->largest() >= options.procs) {
    return EarlyExit{
        kStatusLauncher,
        fmt::format("--wrap-ranks names rank {}, but the job has "
                    "ranks 0 to {}",
                    options.wrap_ranks->largest(), options.procs - 1)};
  }

  JobPlan plan;
  plan.host = host_name();
  plan.environment = make_environment(options, environment);
  const std::string path = value_of(plan.environment, "PATH=");
  auto program = find_program(options.command[0], options.directory, path);
  if (auto* exit = std::get_if<EarlyExit>(&program)) return std::move(*exit);
  RankPlan plain{std::get<std::string>(program), options.command, {}};
  RankPlan wrapped = plain;
  if (!options.wrap.empty()) {
    auto wrapper = find_program(options.wrap[0], options.directory, path);
    if (auto* exit = std::get_if<EarlyExit>(&wrapper)) return std::move(*exit);
    wrapped.path = std::get<std::string>(wrapper);
    wrapped.words = options.wrap;
    wrapped.words.push_back(plain.path);
    wrapped.words.insert(wrapped.words.end(), options.command.begin() + 1,
                         options.command.end());
  }
  Bindings bindings =
      bind_ranks(options.binding, options.procs, plan.environment);
  for (std::uint32_t rank = 0; rank < options.procs; ++rank) {
    const bool is_wrapped =
        !options.wrap_ranks || options.wrap_ranks->contains(rank);
    plan.ranks.push_back(is_wrapped ? wrapped : plain);
    plan.ranks.back().cpus = std::move(bindings.ranks[rank]);
  }
  plan.claims = std::move(bindings.claims);
  plan.why_unbound = std::move(bindings.why_unbound);
  plan.options = std::move(options);
  return plan;
}

/// One line for each setting and variable, then one for each rank.
std::string describe_plan(const JobPlan& plan) {
  std::string text = fmt::format("{} rank{} on {}\n", plan.ranks.size(),
                                 plan.ranks.size() == 1 ? "" : "s", plan.host);
  if (!plan.options.directory.empty()) {
    text += fmt::format("directory {}\n", plan.options.directory);
  }
  for (const std::string& entry : plan.options.setting_variables) {
    text += fmt::format("setting {}\n", entry);
  }
  for (const std::string& entry : plan.options.environment) {
    text += fmt::format("variable {}\n", entry);
  }
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const RankPlan& one = plan.ranks[rank];
    text += fmt::format("rank {}: host {}, {}, file {}, command {}\n", rank,
                        plan.host, one.cpus.name, one.path,
                        fmt::join(one.words, " "));
  }
  return text;
}

}  // namespace acp::launcher
