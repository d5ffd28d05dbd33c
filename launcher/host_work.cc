// Prepares the ranks of one host. Called by make_plan for acprun's own host,
// and by a daemon for another. Starts no process, but claims cores.
#include "launcher/host_work.h"

#include <fmt/core.h>

#include <algorithm>

#include "launcher/program.h"
#include "launcher/program_name.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// Puts the command of --wrap before the rank's own.
std::optional<EarlyExit> wrap(const HostOrders& orders,
                              const std::string& path,
                              RankPlan& rank) {
  auto wrapper = find_program(orders.wrap[0], orders.directory, path);
  if (auto* exit = std::get_if<EarlyExit>(&wrapper)) return std::move(*exit);
  std::vector<std::string> words = orders.wrap;
  words.push_back(rank.path);
  words.insert(words.end(), rank.words.begin() + 1, rank.words.end());
  rank.path = std::get<std::string>(wrapper);
  rank.words = std::move(words);
  return std::nullopt;
}

/// Plans a rank of the group; number and processors are still missing.
OrExit<RankPlan> plan_group(const HostOrders& orders,
                            const CommandGroup& group,
                            const std::string& program,
                            const std::string& path) {
  RankPlan rank;
  rank.words = group.command;
  rank.settings = group.settings;
  rank.directory = group.directory;
  auto found = find_program(
      program.empty() ? group.command[0] : program,
      group.directory.empty() ? orders.directory : group.directory, path);
  if (auto* exit = std::get_if<EarlyExit>(&found)) {
    if (!group.name.empty()) exit->text = group.name + ": " + exit->text;
    return std::move(*exit);
  }
  rank.path = std::get<std::string>(found);
  return rank;
}

/// Binds the ranks that acprun starts itself. `work` has the groups' plans.
void bind(const HostOrders& orders, HostWork& work) {
  const auto is_foreign = [&orders](const RankPlan& rank) {
    return group_of(orders.groups, rank.rank).is_foreign;
  };
  const auto own =
      work.ranks.size() -
      static_cast<std::size_t>(std::ranges::count_if(work.ranks, is_foreign));
  if (own == 0) return;
  Bindings bindings = bind_ranks(
      orders.binding, static_cast<std::uint32_t>(own), orders.environment);
  auto next = bindings.ranks.begin();
  for (RankPlan& rank : work.ranks) {
    if (!is_foreign(rank)) rank.cpus = std::move(*next++);
  }
  work.claims = std::move(bindings.claims);
  work.why_unbound = std::move(bindings.why_unbound);
}

}  // namespace

/// Cores are claimed last, so that no error follows a claim.
OrExit<HostWork> prepare_host(const HostOrders& orders,
                              const std::string& program) {
  const std::string path = value_in(orders.environment, "PATH");
  const auto wrap_ranks = RankSet::parse(orders.wrap_ranks);
  HostWork work;
  const CommandGroup* group = nullptr;
  RankPlan plain;
  RankPlan wrapped;
  for (const std::uint32_t rank : orders.hosts.front().ranks.list()) {
    const CommandGroup* const own = &group_of(orders.groups, rank);
    if (own != group) {
      auto planned = plan_group(orders, *own, program, path);
      if (auto* exit = std::get_if<EarlyExit>(&planned)) {
        return std::move(*exit);
      }
      group = own;
      plain = std::get<RankPlan>(planned);
      wrapped = plain;
      if (!orders.wrap.empty()) {
        if (auto exit = wrap(orders, path, wrapped)) return std::move(*exit);
      }
    }
    const bool is_wrapped =
        orders.wrap_ranks.empty() || (wrap_ranks && wrap_ranks->contains(rank));
    work.ranks.push_back(is_wrapped ? wrapped : plain);
    work.ranks.back().rank = rank;
  }
  bind(orders, work);
  work.procs = orders.procs;
  work.environment = orders.environment;
  work.directory = orders.directory;
  work.output_dir = orders.output_dir;
  work.tag = orders.tag;
  work.input_rank = orders.input_rank;
  return work;
}

std::string describe_bindings(const HostWork& work, const std::string& host) {
  std::string text;
  for (const RankPlan& one : work.ranks) {
    text += fmt::format("{}: rank {} on {}: {}\n", program_name(), one.rank,
                        host, one.cpus.name);
  }
  if (!work.why_unbound.empty()) {
    text += fmt::format("{}: unbound: {}\n", program_name(), work.why_unbound);
  }
  return text;
}

}  // namespace acp::launcher
