// The bans that follow lost turns. Called by HostBarrier; may not look at a
// clock.
#include "runtime/lost_turns.h"

#include <algorithm>

namespace acp::runtime {

bool LostTurns::may_yield(TimePoint now) noexcept {
  if (!is_banned()) {
    return true;
  }
  if (now < banned_until_) {
    return false;
  }
  banned_until_ = TimePoint{};
  allowed_since_ = now;
  return true;
}

void LostTurns::ran_again(TimePoint now, Duration late) noexcept {
  if (late < kLate) {
    return;
  }
  ++lost_;
  const bool is_soon = now - allowed_since_ - late < last_ban_;
  last_ban_ =
      std::min(is_soon ? std::max(2 * last_ban_, late) : late, kLongestBan);
  banned_until_ = now + last_ban_;
}

}  // namespace acp::runtime
