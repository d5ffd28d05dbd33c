// Reads the rank and ACP_ERRORS out of the environment, for log lines before
// and early in acp_init. Called by acp_init and by calls outside of a job. It
// opens nothing.
#include "api/early_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "api/error_action.h"
#include "base/host_facts.h"
#include "base/log.h"
#include "protocol/bootstrap.h"

namespace acp::api {

namespace {

/// The rank in a variable of acprun, PMIx, PMI-1 or PMI-2; "": there is none.
std::string_view launched_rank() {
  for (const char* name : {protocol::kRankVariable, "PMIX_RANK", "PMI_RANK"}) {
    const char* value = std::getenv(name);
    const std::string_view rank(value == nullptr ? "" : value);
    if (!rank.empty() && std::all_of(rank.begin(), rank.end(), [](char letter) {
          return letter >= '0' && letter <= '9';
        })) {
      return rank;
    }
  }
  return {};
}

bool prepare_once() {
  const std::string_view rank = launched_rank();
  if (!rank.empty()) {
    set_log_prefix(fmt::format("rank {} on {}", rank, host_name()));
  }
  if (const char* errors = std::getenv("ACP_ERRORS")) {
    follow_errors(errors);
  }
  return true;
}

}  // namespace

void prepare_early_log() {
  [[maybe_unused]] static const bool is_prepared = prepare_once();
}

}  // namespace acp::api
