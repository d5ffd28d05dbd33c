// A module of another version, for module_test.cc.
#include "settings/module.h"

namespace {

const char* old_stamp() noexcept {
  return "0.0.7 (modules 0)";
}

}  // namespace

// The loader looks for this name.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default")))
const acp::ModuleTable acp_module;
const acp::ModuleTable acp_module = {old_stamp, nullptr, nullptr};
// NOLINTEND(readability-identifier-naming)
