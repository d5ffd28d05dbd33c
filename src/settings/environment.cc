// Warns about mistyped environment variables. acp_init and acp_info call it. It
// may not refuse one, because a job script may serve several versions of the
// library.
#include <algorithm>
#include <array>
#include <vector>

#include "base/log.h"
#include "base/spelling.h"
#include "settings/settings.h"

namespace acp {

namespace {

constexpr std::string_view kPrefix = "ACP_";

/// Names that the library, its launcher, its compiler wrappers and its tests
/// use among themselves.
constexpr std::array<std::string_view, 17> kInternalNames = {
    "ACP_BOOTSTRAP_FD", "ACP_RANK",       "ACP_PROCS",   "ACP_LOCAL_RANK",
    "ACP_LOCAL_PROCS",  "ACP_TEST_SCALE", "ACP_RDMA_VM", "ACP_JOBS",
    "ACP_TEST_JOBS",    "ACP_TIDY_CACHE", "ACP_CC",      "ACP_CXX",
    "ACP_FC",           "ACP_FC_MODULES", "ACP_MPICC",   "ACP_MPICXX",
    "ACP_MPIFC"};

}  // namespace

/// A variable that begins with ACP_ and is in no table is most likely a slip.
void warn_of_unknown_variables(char* const* environment) {
  std::vector<std::string_view> names(kInternalNames.begin(),
                                      kInternalNames.end());
  for (const Setting& setting : settings_table()) {
    names.push_back(setting.name);
  }
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(kPrefix) ||
        std::find(names.begin(), names.end(), name) != names.end()) {
      continue;
    }
    const std::string_view nearest = nearest_word(name, names, kPrefix);
    if (nearest.empty()) {
      log_warning("{} is no setting of ACP; acp_info lists them", name);
    } else {
      log_warning("{} is no setting of ACP; did you mean {}?", name, nearest);
    }
  }
}

}  // namespace acp
