// A module of another build of this version, for module_test.cc.
#include "settings/module.h"

namespace {

const char* stale_stamp() noexcept {
  return ACP_VERSION " (interface 0000000000000000)";
}

}  // namespace

// The loader looks for this name.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default")))
const acp::ModuleTable acp_module;
const acp::ModuleTable acp_module = {stale_stamp, nullptr, nullptr};
// NOLINTEND(readability-identifier-naming)
