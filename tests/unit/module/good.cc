// A module for module_test.cc: logs its argument, and returns it doubled.
#include "base/log.h"
#include "settings/module.h"

namespace {

int doubled(int number) {
  acp::log_warning("number {}", number);
  return 2 * number;
}

}  // namespace

ACP_MODULE(doubled);
