// A program with more log lines than any pipe holds; stalled_reader_test.cc
// runs it. Rank 0 makes failing calls, each of which logs an error. The other
// ranks count in memory of rank 0 meanwhile, so they need its answers. The
// second argument is the number of calls. The first one is "go on", or "abort":
// then rank 0 ends the job after its calls.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <acp.h>

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0 || argc != 3) return 1;
  const std::string_view how = argv[1];
  const long calls = std::strtol(argv[2], nullptr, 10);
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t beyond = acp_query_starter_ga(1) + (1UL << 30);
  for (long i = 0; i < calls; ++i) {
    if (acp_rank() == 0) {
      acp_complete(acp_copy(mine, beyond + static_cast<acp_ga_t>(i) * 8, 8,
                            ACP_HANDLE_NULL));
    } else {
      acp_complete(
          acp_add8(mine + 8, acp_query_starter_ga(0) + 64, 1, ACP_HANDLE_NULL));
    }
  }
  if (how == "abort" && acp_rank() == 0) acp_abort("enough");
  if (acp_sync() != 0) return 2;
  if (acp_rank() == 0) std::printf("all are here\n");
  return acp_finalize();
}
