// acp_info --check: is this machine set up so that ACP runs well, and what to
// type when it is not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acp::info {

enum class CheckState : std::uint8_t {
  kOk,
  kOptional,  ///< Could be better; only matters to some jobs.
  kWarning,   ///< Something will be slow, or will not work.
};

struct Check {
  std::string name;
  CheckState state = CheckState::kOk;
  std::string found;
  std::string fix;  ///< Empty when there is nothing to do.
};

std::vector<Check> run_checks();

const char* state_name(CheckState state);

}  // namespace acp::info
