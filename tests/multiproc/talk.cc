// Small operations between two ranks: `talk PATTERN COUNT`. company_test.cc
// counts their datagrams.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "acp.h"
#include "acp/extension.h"

namespace {

/// Rank 0 has all of them in flight.
void put(std::uint64_t count) {
  const acp_ga_t mine = acp_query_starter_ga(0);
  const acp_ga_t theirs = acp_query_starter_ga(1);
  for (std::uint64_t i = 0; acp_rank() == 0 && i < count; ++i) {
    acp_copy(theirs, mine, 8, ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Each rank answers the signal of the other.
void answer(std::uint64_t count) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t theirs = acp_query_starter_ga(1 - acp_rank());
  for (std::uint64_t i = 0; i < count; ++i) {
    if (acp_rank() == 0) {
      acpx_put_signal(theirs + 64, mine, 8, theirs + 8, 1, ACP_HANDLE_NULL);
    }
    acpx_wait_word(mine + 8, i, -1, nullptr);
    if (acp_rank() == 1) {
      acpx_put_signal(theirs + 64, mine, 8, theirs + 8, 1, ACP_HANDLE_NULL);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0 || argc < 3) {
    return 1;
  }
  const std::string_view pattern(argv[1]);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  if (pattern == "put") {
    put(count);
  } else {
    answer(count);
  }
  return acp_finalize() == 0 ? 0 : 1;
}
