// The report of acp_info --job: what each rank says of itself, and one table of
// that for the whole job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace acp::info {

/// The facts of one rank; api/job_facts.h has the meaning.
struct RankFact {
  std::uint32_t rank = 0;
  std::string host;
  std::uint32_t leader = 0;
  std::string network;
  std::string why;
  std::vector<std::string> colors;
  std::string protection;
  std::string atomics;
};

nlohmann::json json_of(const RankFact& fact);

/// The inverse of json_of(). Precondition: the value comes from json_of().
RankFact rank_fact_of(const nlohmann::json& document);

/// The table. A host has one line for each set of colors that its ranks use. A
/// fact that differs between ranks is printed with the ranks of each value.
/// `facts` is sorted by rank.
std::string text_of(const std::vector<RankFact>& facts);

/// "rank 2 on h2 waits for the other ranks; network udp (...), 0: eth0 at ...".
std::string waiting_line(const RankFact& fact);

}  // namespace acp::info
