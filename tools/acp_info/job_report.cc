// Makes the table of acp_info --job from what all ranks say. Called by job.cc
// and by a test. It needs no job, and makes no call of ACP.
#include "job_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/number_list.h"
#include "base/printable.h"

#include <nlohmann/json.hpp>

namespace acp::info {

namespace {

using Ranks = std::vector<std::uint32_t>;

/// Ranks that say alike.
struct Group {
  std::string said;
  Ranks ranks;
};

/// Groups the ranks by a text of each, in the order of their lowest ranks.
template <typename TextOf>
std::vector<Group> groups_by(const std::vector<RankFact>& facts,
                             TextOf text_of_fact) {
  std::vector<Group> groups;
  for (const RankFact& fact : facts) {
    const std::string said = text_of_fact(fact);
    const auto same = std::ranges::find(groups, said, &Group::said);
    if (same == groups.end()) {
      groups.push_back({said, {fact.rank}});
    } else {
      same->ranks.push_back(fact.rank);
    }
  }
  return groups;
}

/// One line, or one for each group of ranks.
template <typename TextOf>
std::string lines_of(const char* title,
                     const std::vector<RankFact>& facts,
                     TextOf text_of_fact) {
  const std::vector<Group> groups = groups_by(facts, text_of_fact);
  std::string text;
  for (const Group& group : groups) {
    if (group.said.empty()) {
      continue;
    }
    text += fmt::format(
        "{:<12} {}{}\n", title, group.said,
        groups.size() == 1
            ? ""
            : fmt::format(" (ranks {})", describe_numbers(group.ranks)));
  }
  return text;
}

/// "0: eth0 at 10.88.0.1; 1: eth1 at 10.89.0.1".
std::string colors_of(const RankFact& fact) {
  std::string colors;
  for (std::size_t i = 0; i < fact.colors.size(); ++i) {
    colors += fmt::format("{}{}: {}", i == 0 ? "" : "; ", i,
                          fact.colors[i].empty() ? "unknown" : fact.colors[i]);
  }
  return colors;
}

/// The key of a group of a host: two hosts may have one name.
std::string host_line(const RankFact& fact) {
  return fmt::format("{}\n{}\n{}", fact.leader, fact.host, colors_of(fact));
}

std::size_t hosts_in(const std::vector<RankFact>& facts) {
  return groups_by(
             facts,
             [](const RankFact& fact) { return std::to_string(fact.leader); })
      .size();
}

std::string network_of(const RankFact& fact) {
  return fmt::format("{} ({})", fact.network, fact.why);
}

}  // namespace

nlohmann::json json_of(const RankFact& fact) {
  return {{"rank", fact.rank},       {"host", fact.host},
          {"leader", fact.leader},   {"network", fact.network},
          {"why", fact.why},         {"colors", fact.colors},
          {"atomics", fact.atomics}, {"protection", fact.protection}};
}

/// Another rank says this. Its host may have any bytes in its name.
RankFact rank_fact_of(const nlohmann::json& document) {
  const auto text = [&](const char* name) {
    return printable(document.at(name).get<std::string>());
  };
  std::vector<std::string> colors = document.at("colors");
  std::ranges::transform(colors, colors.begin(), [](const std::string& color) {
    return printable(color);
  });
  return {.rank = document.at("rank"),
          .host = text("host"),
          .leader = document.at("leader"),
          .network = text("network"),
          .why = text("why"),
          .colors = std::move(colors),
          .protection = text("protection"),
          .atomics = text("atomics")};
}

/// Ranks that say the same share a line, so that a large job fits a screen.
std::string text_of(const std::vector<RankFact>& facts) {
  const std::size_t hosts = hosts_in(facts);
  std::string text =
      fmt::format("{} rank{} on {} host{}\n\n{:<20} {:<12} colors\n",
                  facts.size(), facts.size() == 1 ? "" : "s", hosts,
                  hosts == 1 ? "" : "s", "host", "ranks");
  for (const Group& group : groups_by(facts, host_line)) {
    const std::size_t host = group.said.find('\n') + 1;
    const std::size_t colors = group.said.find('\n', host) + 1;
    text += fmt::format(
        "{:<20} {:<12} {}\n", group.said.substr(host, colors - 1 - host),
        describe_numbers(group.ranks), group.said.substr(colors));
  }
  text += '\n';
  text += lines_of("network", facts, network_of);
  text += lines_of("protection", facts,
                   [](const RankFact& fact) { return fact.protection; });
  text += lines_of("atomics", facts,
                   [](const RankFact& fact) { return fact.atomics; });
  return text;
}

std::string waiting_line(const RankFact& fact) {
  return fmt::format("rank {} on {} waits for the other ranks; network {}, {}",
                     fact.rank, fact.host, network_of(fact), colors_of(fact));
}

}  // namespace acp::info
