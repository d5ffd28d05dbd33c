// Counts the arrivals of a host's ranks at the phases. Called by HostWatch with
// its lock. Pure.
#include "runtime/host_phases.h"

#include <algorithm>
#include <utility>

namespace acp::runtime {

using protocol::Phase;

HostPhases::HostPhases(std::uint32_t own, std::vector<std::uint32_t> others)
    : own_(own),
      others_(std::move(others)),
      arrived_(others_.size()),
      arrivals_(others_.size(), 0) {}

void HostPhases::arrive(std::size_t other, Phase phase) {
  arrived_[other] = phase;
  arrivals_[other] += phase == Phase::kCollective ? 1 : 0;
}

void HostPhases::arrive_self(Phase phase) {
  own_arrivals_ += phase == Phase::kCollective ? 1 : 0;
}

void HostPhases::go(Phase phase) {
  arrived_.assign(others_.size(), std::nullopt);
  meetings_ += phase == Phase::kCollective ? 1 : 0;
}

bool HostPhases::have_others_arrived() const {
  return std::ranges::all_of(arrived_,
                             [](const auto& one) { return one.has_value(); });
}

std::vector<std::uint32_t> HostPhases::missing() const {
  std::vector<std::uint32_t> missing;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (!arrived_[i]) {
      missing.push_back(others_[i]);
    }
  }
  return missing;
}

std::optional<HostPhases::Elsewhere> HostPhases::elsewhere(Phase phase) const {
  const auto found = std::ranges::find_if(
      arrived_, [phase](const auto& one) { return one && *one != phase; });
  if (found == arrived_.end()) {
    return std::nullopt;
  }
  return Elsewhere{others_[static_cast<std::size_t>(found - arrived_.begin())],
                   **found};
}

std::optional<HostPhases::Waiting> HostPhases::waiting_in_meeting() const {
  const std::uint64_t meeting = meetings_ + 1;
  if (own_arrivals_ == meeting) {
    return Waiting{own_, meeting};
  }
  const auto found =
      std::ranges::find(arrived_, std::optional(Phase::kCollective));
  if (found == arrived_.end()) {
    return std::nullopt;
  }
  return Waiting{others_[static_cast<std::size_t>(found - arrived_.begin())],
                 meeting};
}

}  // namespace acp::runtime
