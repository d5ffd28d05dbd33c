// Prepares the ranks of one host. Called by make_plan for acprun's own host,
// and by an agent for another. Starts no process, but claims cores.
#include "launcher/host_work.h"

#include <fmt/format.h>

#include "launcher/program.h"

namespace acp::launcher {

namespace {

std::string value_of(const std::vector<std::string>& environment,
                     std::string_view start) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return "";
}

/// The words of a rank behind the wrapper's own.
void append_program(const std::string& path,
                    const std::vector<std::string>& command,
                    std::vector<std::string>& words) {
  words.push_back(path);
  words.insert(words.end(), command.begin() + 1, command.end());
}

}  // namespace

/// Cores are claimed last, so that no error follows a claim.
OrExit<HostWork> prepare_host(const HostOrders& orders,
                              const std::string& program) {
  const std::string path = value_of(orders.environment, "PATH=");
  auto found = find_program(program.empty() ? orders.command[0] : program,
                            orders.directory, path);
  if (auto* exit = std::get_if<EarlyExit>(&found)) return std::move(*exit);
  RankPlan plain{0, std::get<std::string>(found), orders.command, {}};
  RankPlan wrapped = plain;
  if (!orders.wrap.empty()) {
    auto wrapper = find_program(orders.wrap[0], orders.directory, path);
    if (auto* exit = std::get_if<EarlyExit>(&wrapper)) return std::move(*exit);
    wrapped.path = std::get<std::string>(wrapper);
    wrapped.words = orders.wrap;
    append_program(plain.path, orders.command, wrapped.words);
  }
  const auto wrap_ranks = RankSet::parse(orders.wrap_ranks);
  const std::vector<std::uint32_t>& ranks = orders.hosts.front().ranks;
  Bindings bindings =
      bind_ranks(orders.binding, static_cast<std::uint32_t>(ranks.size()),
                 orders.environment);
  HostWork work;
  for (std::size_t slot = 0; slot < ranks.size(); ++slot) {
    const bool is_wrapped = orders.wrap_ranks.empty() ||
                            (wrap_ranks && wrap_ranks->contains(ranks[slot]));
    work.ranks.push_back(is_wrapped ? wrapped : plain);
    work.ranks.back().rank = ranks[slot];
    work.ranks.back().cpus = std::move(bindings.ranks[slot]);
  }
  work.procs = orders.procs;
  work.environment = orders.environment;
  work.directory = orders.directory;
  work.output_dir = orders.output_dir;
  work.tag = orders.tag;
  work.input_rank = orders.input_rank;
  work.claims = std::move(bindings.claims);
  work.why_unbound = std::move(bindings.why_unbound);
  return work;
}

std::string describe_bindings(const HostWork& work, const std::string& host) {
  std::string text;
  for (const RankPlan& one : work.ranks) {
    text += fmt::format("acprun: rank {} on {}: {}\n", one.rank, host,
                        one.cpus.name);
  }
  if (!work.why_unbound.empty()) {
    text += fmt::format("acprun: unbound: {}\n", work.why_unbound);
  }
  return text;
}

}  // namespace acp::launcher
