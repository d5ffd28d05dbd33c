// main() of SPMD test programs: joins the job, runs the cases, leaves.
#include <cstdio>

#include "support/spmd.h"
#include "support/spmd_memory.h"

int main(int argc, char** argv) {
  if (spmd::list_cases(argc, argv)) {
    return 0;
  }
  spmd::watch_time();
  spmd::add_memory_module();
  if (acp_init(&argc, &argv) != 0) {
    std::fprintf(stderr, "acp_init: %s\n", acpx_strerror(acp_errno));
    return 1;
  }
  const int result = spmd::run_chosen(argc, argv);
  return acp_finalize() == 0 ? result : 1;
}
