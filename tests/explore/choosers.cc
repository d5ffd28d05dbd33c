// The ways to choose the process that goes on.
#include "explore/choosers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace explore {

std::string text_of(const Departures& departures) {
  std::string text;
  for (const auto& [step, index] : departures) {
    text += (text.empty() ? "" : ",") + std::to_string(step) + ":" +
            std::to_string(index);
  }
  return text.empty() ? "default" : text;
}

Departures departures_in(const std::string& text) {
  Departures departures;
  const char* at = text.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const std::size_t step = std::strtoull(at, &end, 10);
    if (*end != ':') {
      break;
    }
    departures[step] = std::strtoull(end + 1, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  return departures;
}

std::size_t Replay::choose(const std::vector<Choice>& choices,
                           std::uint64_t /*signature*/) {
  const auto found = departures_.find(next_++);
  if (found == departures_.end()) {
    return 0;
  }
  has_missed_ = has_missed_ || found->second >= choices.size();
  return found->second < choices.size() ? found->second : 0;
}

std::size_t Follow::choose(const std::vector<Choice>& choices,
                           std::uint64_t /*signature*/) {
  const std::size_t step = next_++;
  for (std::size_t i = 0; step < processes_.size() && i < choices.size(); ++i) {
    if (choices[i].process == processes_[step]) {
      if (i != 0) {
        departures_[step] = i;
      }
      return i;
    }
  }
  return 0;
}

// ---- Depth first ----------------------------------------------------------

/// The schedules that can follow a state depend on the rank of the last step,
/// if that rank can go on: any other choice is then a departure.
std::size_t DepthFirst::choose(const std::vector<Choice>& choices,
                               std::uint64_t signature) {
  const std::size_t depth = depth_++;
  if (depth < path_.size()) {
    if (path_[depth].index >= choices.size()) {
      std::fputs("explore: a schedule did not repeat itself\n", stderr);
      std::abort();
    }
    return path_[depth].index;
  }
  int spent = 0;
  if (!path_.empty()) {
    const Node& last = path_.back();
    spent = last.spent + last.costs[last.index];
  }
  const bool is_bound = choices.back().strand != choices.front().strand &&
                        choices.back().cost == 1;
  const std::uint64_t key =
      signature * 31 +
      (is_bound ? static_cast<std::uint64_t>(choices.front().strand) + 1 : 0);
  const auto [at, is_new] = seen_.emplace(key, spent);
  if (!is_new && at->second <= spent) {
    return kCut;
  }
  at->second = spent;
  Node node{0, {}, {}, spent};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    node.costs.push_back(choices[i].cost);
    if (i > 0 && spent + choices[i].cost <= bound_) {
      node.others.push_back(i);
    }
  }
  path_.push_back(std::move(node));
  return 0;
}

bool DepthFirst::next() {
  depth_ = 0;
  while (!path_.empty() && path_.back().others.empty()) {
    path_.pop_back();
  }
  if (path_.empty()) {
    return false;
  }
  path_.back().index = path_.back().others.back();
  path_.back().others.pop_back();
  return true;
}

// ---- Random priorities ----------------------------------------------------

RandomPriorities::RandomPriorities(std::uint64_t seed,
                                   int changes,
                                   std::size_t length)
    : state_(seed) {
  for (int i = 0; i < changes; ++i) {
    changes_[random() % (length == 0 ? 1 : length)] = true;
  }
}

/// The generator splitmix64.
std::uint64_t RandomPriorities::random() {
  state_ += 0x9e37'79b9'7f4a'7c15;
  std::uint64_t number = state_;
  number = (number ^ number >> 30) * 0xbf58'476d'1ce4'e5b9;
  number = (number ^ number >> 27) * 0x94d0'49bb'1331'11eb;
  return number ^ number >> 31;
}

std::size_t RandomPriorities::choose(const std::vector<Choice>& choices,
                                     std::uint64_t /*signature*/) {
  const auto priority_of = [&](std::uint32_t process) -> std::uint64_t& {
    std::uint64_t& priority = priorities_[process];
    if (priority == 0) {
      priority = 2'000'000 + random() % 1'000'000;
    }
    return priority;
  };
  const auto highest = [&] {
    std::size_t best = 0;
    for (std::size_t i = 1; i < choices.size(); ++i) {
      if (priority_of(choices[i].process) >
          priority_of(choices[best].process)) {
        best = i;
      }
    }
    return best;
  };
  std::size_t index = highest();
  if (changes_.count(depth_) != 0 || depth_ % kPatience == kPatience - 1) {
    priority_of(choices[index].process) = --lowest_;
    index = highest();
  }
  ++depth_;
  return index;
}

}  // namespace explore
