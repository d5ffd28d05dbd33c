// Collects the looks of all hosts for the watchdog. Called by job.cc alone.
// Pure.
#include "launcher/look_round.h"

#include <algorithm>
#include <iterator>

namespace acp::launcher {

std::int64_t LookRound::begin() {
  looks_.clear();
  looked_.clear();
  return ++round_;
}

void LookRound::take(std::uint32_t host,
                     std::int64_t round,
                     std::vector<RankLook> looks) {
  if (round != round_) return;
  std::ranges::move(looks, std::back_inserter(looks_));
  looked_.insert(host);
}

std::span<const RankLook> LookRound::looks() {
  std::ranges::sort(looks_, {}, &RankLook::launch_rank);
  return looks_;
}

}  // namespace acp::launcher
