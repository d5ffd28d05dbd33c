// Each rank writes what it uses into its memory of a module, and rank 0 reads
// the memory of all. A module has this memory whatever the user says of starter
// memory. Called by main.cc for acp_info --job. While ranks keep away, only one
// rank of each host may write a line.
#include "job.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "acp.h"
#include "acp/extension.h"
#include "api/job_facts.h"
#include "job_report.h"
#include "json.h"

#include <nlohmann/json.hpp>

namespace acp::info {

namespace {

/// Bytes of what one rank says; 16 colors take some 2 KiB.
constexpr std::size_t kRoom = 8192;
/// Ranks that do not meet within this time may never do so. A network gives a
/// silent peer up later.
constexpr int kPatienceMs = 3000;

int fail(std::string_view what) {
  fmt::print(stderr, "acp_info: {}: {}\n", what, acpx_strerror(acp_errno));
  return 1;
}

RankFact my_fact() {
  api::JobFacts mine = api::job_facts();
  return {.rank = static_cast<std::uint32_t>(acp_rank()),
          .host = std::move(mine.host),
          .leader = mine.leader,
          .network = std::move(mine.network),
          .why = std::move(mine.why),
          .colors = std::move(mine.colors),
          .protection = std::move(mine.protection),
          .atomics = std::move(mine.atomics)};
}

/// The text ends with a 0, since the module's memory is 0 at the start.
bool write(const RankFact& mine, int module) {
  const std::string text = text_of(json_of(mine), -1);
  if (text.size() >= kRoom) {
    fmt::print(stderr, "acp_info: {} bytes of facts, room for {}\n",
               text.size(), kRoom);
    return false;
  }
  std::memcpy(acpx_pointer(acpx_module_ga(module, acp_rank())), text.data(),
              text.size());
  return true;
}

/// Reads all ranks one after the other, into the second half of the memory of
/// rank 0. False: a copy failed.
bool read_all(int module, std::vector<RankFact>& facts) {
  const acp_ga_t target = acpx_module_ga(module, 0) + kRoom;
  const auto* const text = static_cast<const char*>(acpx_pointer(target));
  for (int rank = 0; rank < acp_procs(); ++rank) {
    const acp_handle_t copy =
        acp_copy(target, acpx_module_ga(module, rank), kRoom, ACP_HANDLE_NULL);
    if (copy == ACP_HANDLE_NULL || acpx_complete_timeout(copy, -1) != 0) {
      return false;
    }
    facts.push_back(rank_fact_of(nlohmann::json::parse(text)));
  }
  return true;
}

void print(const std::vector<RankFact>& facts, JobFormat format) {
  if (format == JobFormat::kText) {
    fmt::print("ACP {}, {}", acpx_version(), text_of(facts));
    return;
  }
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankFact& fact : facts) {
    ranks.push_back(json_of(fact));
  }
  const nlohmann::json document{{"version", acpx_version()}, {"ranks", ranks}};
  fmt::print("{}\n", text_of(document, 2));
}

/// Meets all ranks. If they keep away, a rank of each host says which addresses
/// it uses. No rank will read its memory on a network that is broken.
bool meet(const RankFact& mine) {
  const int met = acpx_sync_timeout(kPatienceMs);
  if (met == 1 && mine.leader == mine.rank) {
    fmt::print(stderr, "acp_info: {}\n", waiting_line(mine));
  }
  return met == 0 || (met == 1 && acp_sync() == 0);
}

/// The first meeting shows the stores of all ranks, and the second one keeps
/// their memory until rank 0 has read it.
int gather(int module, JobFormat format) {
  const RankFact mine = my_fact();
  std::vector<RankFact> facts;
  if (!write(mine, module) || !meet(mine)) {
    return 1;
  }
  if (acp_rank() == 0 && !read_all(module, facts)) {
    return fail("reading what a rank says");
  }
  if (acp_sync() != 0) {
    return 1;
  }
  if (acp_rank() == 0) {
    print(facts, format);
  }
  return 0;
}

}  // namespace

int print_job(int& argc, char**& argv, JobFormat format) {
  acpx_module_t module{};
  module.name = "acp_info";
  module.bytes = 2 * kRoom;
  const int number = acpx_add_module(&module);
  if (number < 0 || acp_init(&argc, &argv) != 0) {
    return fail("acp_init");
  }
  const int status = gather(number, format);
  if (status != 0) {
    acp_abort("acp_info --job");
  }
  return acp_finalize() == 0 ? 0 : 1;
}

}  // namespace acp::info
