// The entry points of an image with a conformance program.
#include "middle/modules.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"

extern "C" {

thread_local int explore_thread_variable = 0;

int explore_add_modules(int (*add)(const acpx_module_t*)) {
  const int result = acp::middle::add_modules(add);
  spmd::add_memory_module();
  return result;
}

int explore_run_cases(int argc, char** argv) {
  return spmd::run_chosen(argc, argv);
}

}  // extern "C"
