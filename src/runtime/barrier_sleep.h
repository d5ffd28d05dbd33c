// How long a rank sleeps in a barrier at a time.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace acp::runtime {

/// Longest sleep on a word of a barrier. When a transport of this process gives
/// a peer up (`TransportSet::dead_proc()`), nothing changes that word, so the
/// sleeper looks at `sync_health()` by itself.
inline constexpr Duration kLookForDeath = std::chrono::milliseconds(100);

}  // namespace acp::runtime
