// Counts errors by rank, and says the sum in one line. Called by job.cc.
#include "launcher/rank_errors.h"

#include <fmt/core.h>

#include <vector>

#include "launcher/program_name.h"
#include "launcher/rank_set.h"

namespace acp::launcher {

void RankErrors::note(std::uint32_t rank, std::int64_t errors) {
  if (errors > 0 && errors <= UINT32_MAX) {
    errors_[rank] = static_cast<std::uint64_t>(errors);
  }
}

std::string RankErrors::line(bool fails_by_errors) const {
  if (errors_.empty()) return "";
  std::uint64_t sum = 0;
  std::vector<std::uint32_t> ranks;
  for (const auto& [rank, errors] : errors_) {
    sum += errors;
    ranks.push_back(rank);
  }
  return fmt::format(
      "{}: the job ends with status {}, and {} reported {} error{}; with "
      "--debug it ends at the first one and says where the call stands\n",
      program_name(), fails_by_errors ? "1 (ACP_ERRORS=fail)" : "0",
      describe_ranks(ranks) + (ranks.size() == 1 ? " has" : " have"), sum,
      sum == 1 ? "" : "s");
}

}  // namespace acp::launcher
