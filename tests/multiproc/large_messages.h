// The constants and functions that the tests of large messages of channels
// share. Rank 0 sends to rank 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acp/channel.h"
#include "support/spmd.h"

/// Result of a wait for a message that has failed.
inline constexpr std::size_t kFailed = SIZE_MAX;
/// Messages of this size and more are offered.
inline constexpr std::size_t kLarge = std::size_t{64} << 10;

inline bool is_sender() {
  return acp_rank() == 0;
}

inline bool is_over_network() {
  const acp_ga_t other = acp_query_starter_ga(1 - acp_rank());
  return acpx_pointer(other) == nullptr;
}

/// Waits in the library, so that all that is under way can come.
inline void let_all_come() {
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(acpx_wait_until([](void*) { return 0; }, nullptr, 50), 1);
  EXPECT_EQ(acp_sync(), 0);
}

/// Completes what this rank has issued, and collects the failures.
inline void collect_failures() {
  (void)acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience);
  acp_errno = 0;
}
