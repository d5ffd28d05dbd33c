// acp_info --check: tells whether this machine is set up so that ACP runs well,
// and which command mends it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acp::info {

enum class CheckState : std::uint8_t {
  kOk,
  kOptional,  ///< Could be better; matters to some jobs only.
  kWarning,   ///< A part of ACP is slow here, or fails.
};

struct Check {
  std::string name;
  CheckState state = CheckState::kOk;
  std::string found;
  std::string fix;  ///< Empty when there is nothing to do.
};

/// Runs all checks; takes some milliseconds.
std::vector<Check> run_checks();

/// "ok", "optional" or "warning".
const char* state_name(CheckState state);

}  // namespace acp::info
