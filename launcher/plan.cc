// Works out the plan of a job. Called once by the main functions of acprun and
// macprun; starts no rank, but claims cores.
#include "launcher/plan.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "base/host_facts.h"
#include "base/join_texts.h"
#include "launcher/placement.h"
#include "launcher/remote_shell.h"
#include "launcher/remote_streams.h"
#include "launcher/route.h"
#include "launcher/seat.h"
#include "launcher/this_host.h"
#include "launcher/words.h"
#include "protocol/bootstrap.h"

namespace acp::launcher {

namespace {

/// Makes gfortran's run-time library write each line as it is printed, as
/// acp_init does for C's stdout. The library reads the variable before main, so
/// only the launcher can set it.
void add_line_output_of_fortran(std::vector<std::string>& variables) {
  constexpr std::string_view kName = "GFORTRAN_UNBUFFERED_PRECONNECTED=";
  for (const std::string& entry : variables) {
    if (entry.starts_with(kName) || entry == "ACP_STDOUT=program") {
      return;
    }
  }
  variables.push_back(std::string(kName) + "y");
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
    const std::string_view name = name_in(entry);
    return name == protocol::kRankVariable ||
           name == protocol::kProcsVariable ||
           name == protocol::kLocalRankVariable ||
           name == protocol::kLocalProcsVariable;
  });
  return variables;
}

std::string own_directory() {
  std::array<char, PATH_MAX> path{};
  return ::getcwd(path.data(), path.size()) != nullptr ? path.data() : "/";
}

/// The file of acprun, by which the daemons on other hosts are started: this
/// file, or the file beside macprun.
std::string acprun_file() {
  constexpr std::string_view kOther = "/macprun";
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (n <= 0) return "acprun";
  std::string file(path.data(), static_cast<std::size_t>(n));
  if (file.ends_with(kOther)) {
    file.replace(file.size() - kOther.size(), kOther.size(), "/acprun");
  }
  return file;
}

/// The first two hosts are enough: each host has one of them as another one.
/// Others may not know this host's name, or know it as a loopback address, so
/// its own address towards the other host goes instead.
std::vector<std::string> routes_of(const std::vector<HostRanks>& hosts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(hosts.size(), 2); ++i)
    names.push_back(hosts[i].name);
  if (names.size() == 2) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!is_this_host(names[i])) continue;
      const std::string own = own_address_towards(names[1 - i]);
      if (!own.empty()) names[i] = own;
    }
  }
  return names;
}

/// These orders are equal for all hosts. Groups, the identity and the list of
/// hosts are added when they are known, the list for each connection of the
/// tree.
HostOrders make_orders(const Options& options,
                       const std::vector<HostRanks>& hosts,
                       char* const* environment) {
  HostOrders orders;
  orders.procs = options.procs;
  orders.sizes = protocol::host_sizes_for(options.settings);
  orders.sizes.card_table =
      protocol::card_table_for(options.settings, options.procs);
  orders.routes = routes_of(hosts);
  orders.shell = remote_shell_of(options.rsh);
  orders.shell.acprun = acprun_file();
  orders.shell.timeout = options.rsh_timeout;
  orders.shell.fan_out = options.fan_out;
  orders.wrap = options.wrap;
  orders.wrap_ranks = options.wrap_rank_list;
  orders.environment = make_environment(options, environment);
  orders.directory = options.directory;
  orders.output_dir = options.output_dir;
  orders.input_rank = options.reads_stdin ? 0 : UINT32_MAX;
  orders.binding = options.binding;
  orders.report_bindings = options.report_bindings;
  orders.report_traffic = options.stats || !options.stats_file.empty() ||
                          !options.report_page.empty();
  orders.tag = options.tag;
  orders.output_window = output_window(hosts.size());
  return orders;
}

/// A daemon begins in its user's home, so the directory is named in full.
std::string full_directory(const std::string& directory) {
  if (directory.starts_with('/')) return directory;
  return directory.empty() ? own_directory()
                           : own_directory() + "/" + directory;
}

}  // namespace

/// Hosts come first, because they set the number of ranks. Cores are claimed
/// last, so that no error follows a claim.
OrExit<JobPlan> make_plan(Options options,
                          char* const* environment,
                          const Settings::Lookup& lookup,
                          const MakeGroups& make_groups) {
  auto placed = place_ranks(options, lookup);
  if (auto* exit = std::get_if<EarlyExit>(&placed)) return std::move(*exit);
  if (options.wrap_ranks && options.wrap_ranks->largest() >= options.procs) {
    return launcher_error(
        fmt::format("--wrap-ranks names rank {}, but the job has "
                    "ranks 0 to {}",
                    options.wrap_ranks->largest(), options.procs - 1));
  }
  JobPlan plan;
  plan.host = host_name();
  plan.hosts = std::move(std::get<std::vector<HostRanks>>(placed));
  plan.orders = make_orders(options, plan.hosts, environment);
  if (make_groups) {
    plan.orders.groups = make_groups(plan.hosts, plan.orders.shell.acprun);
  } else {
    CommandGroup all;
    all.command = options.command;
    plan.orders.groups = {std::move(all)};
  }
  const auto local = std::ranges::find(plan.hosts, true, &HostRanks::is_local);
  if (local != plan.hosts.end()) {
    HostOrders orders = plan.orders;
    orders.hosts = {*local};
    auto work = prepare_host(orders);
    if (auto* exit = std::get_if<EarlyExit>(&work)) return std::move(*exit);
    plan.local = std::move(std::get<HostWork>(work));
  }
  plan.orders.directory = full_directory(options.directory);
  if (options.preload) {
    const std::string& command = options.command.front();
    plan.orders.program_name = command.substr(command.rfind('/') + 1);
  }
  plan.options = std::move(options);
  return plan;
}

namespace {

const std::vector<std::string>& command_of(const JobPlan& plan,
                                           std::uint32_t rank) {
  return group_of(plan.orders.groups, rank).command;
}

/// A rank whose process another launcher starts: by which command, and how the
/// keeper's process on its host is found.
std::string describe_foreign(const CommandGroup& group,
                             std::uint32_t rank,
                             const std::string& host) {
  const auto seat = parse_seat(std::span(group.command).subspan(1));
  const std::string how = !seat ? "unknown"
                          : rank == group.first
                              ? join_texts(launch_words(*seat), " ")
                              : fmt::format("that of rank {}", group.first);
  return fmt::format("rank {}: host {}, {}, command {}\n", rank, host,
                     group.name, how);
}

}  // namespace

/// One line for each setting and variable, then one for each rank.
std::string describe_plan(const JobPlan& plan) {
  const std::string where = plan.hosts.size() == 1
                                ? plan.hosts.front().name
                                : fmt::format("{} hosts", plan.hosts.size());
  std::string text = fmt::format("{} rank{} on {}\n", plan.options.procs,
                                 plan.options.procs == 1 ? "" : "s", where);
  if (!plan.options.directory.empty()) {
    text += fmt::format("directory {}\n", plan.options.directory);
  }
  for (const std::string& entry : plan.options.setting_variables) {
    text += fmt::format("setting {}\n", entry);
  }
  for (const std::string& entry : plan.options.environment) {
    text += fmt::format("variable {}\n", entry);
  }
  std::vector<std::string> lines(plan.options.procs);
  for (const HostRanks& host : plan.hosts) {
    for (const std::uint32_t rank : host.ranks.list()) {
      lines[rank] =
          fmt::format("rank {}: host {}, by {}, command {}\n", rank, host.name,
                      join_texts(plan.orders.shell.words, " "),
                      join_texts(command_of(plan, rank), " "));
    }
  }
  if (plan.local) {
    for (const RankPlan& one : plan.local->ranks) {
      lines[one.rank] = fmt::format(
          "rank {}: host {}, {}, file {}, command {}\n", one.rank, plan.host,
          one.cpus.name, one.path, join_texts(one.words, " "));
    }
  }
  for (const HostRanks& host : plan.hosts) {
    for (const std::uint32_t rank : host.ranks.list()) {
      const CommandGroup& group = group_of(plan.orders.groups, rank);
      if (group.is_foreign) {
        lines[rank] = describe_foreign(group, rank, host.name);
      }
    }
  }
  for (const std::string& line : lines)
    text += line;
  return text;
}

}  // namespace acp::launcher
