// The search through the schedules of a scenario, or of a case of a kernel.
//
// An exploration has run(), which runs one schedule and returns its error, and
// contention().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "explore/choosers.h"

namespace explore {

/// The part of the command line that all explorers have.
struct SearchOptions {
  std::string pattern;
  int bound = 3;
  std::size_t limit = 100'000;
  std::size_t random = 0;  ///< Schedules by random priorities; 0: depth first.
  std::uint64_t seed = 1;
  bool is_replay = false;
  Departures departures;
  bool is_failure_wanted = false;  ///< An error is planted.

  /// Whether `word` is one of these options. It takes `value`.
  bool take(const std::string& word, const char* value);

  /// Whether a name contains one of the texts between the commas of `pattern`.
  bool wants(const std::string& name) const;
};

/// The outcome of a search.
struct Result {
  std::size_t schedules = 0;
  std::size_t whole = 0;  ///< Schedules that did not end early.
  bool is_complete = false;
  std::string wrong;
};

/// All schedules, from the beginning again when memory turns out to be
/// contended.
template <class Exploration>
Result search_depth_first(Exploration& exploration,
                          const SearchOptions& options) {
  Result result;
  do {
    DepthFirst chooser(options.bound);
    bool has_next = true;
    while (has_next && result.schedules < options.limit) {
      End end = End::kDone;
      result.wrong = exploration.run(chooser, end);
      ++result.schedules;
      result.whole += end == End::kCut ? 0 : 1;
      if (!result.wrong.empty()) {
        return result;
      }
      has_next = chooser.next();
    }
    result.is_complete = !has_next;
  } while (exploration.contention().grow() && result.is_complete);
  return result;
}

template <class Random, class Exploration>
Result search_randomly(Exploration& exploration, const SearchOptions& options) {
  Result result;
  std::size_t length = 50;
  while (result.schedules < options.random && result.wrong.empty()) {
    Random chooser(options.seed + result.schedules, options.bound, length);
    End end = End::kDone;
    result.wrong = exploration.run(chooser, end);
    length = chooser.length();
    ++result.schedules;
    ++result.whole;
    exploration.contention().grow();
  }
  result.is_complete = true;
  return result;
}

/// Leaves out departures as long as the schedule fails: first large runs of
/// them, then halves of these, and at last single ones, until each is needed.
template <class Exploration>
Departures shrink(Exploration& exploration, Departures departures) {
  std::size_t length = std::max<std::size_t>(departures.size() / 2, 1);
  bool has_shrunk = false;  // since the begin of the pass
  for (std::size_t begin = 0; !departures.empty();) {
    Departures fewer;
    std::size_t place = 0;
    for (const auto& departure : departures) {
      if (place < begin || place >= begin + length) {
        fewer.insert(departure);
      }
      ++place;
    }
    Replay replay(fewer);
    End end = End::kDone;
    if (!exploration.run(replay, end).empty()) {
      departures = std::move(fewer);
      has_shrunk = true;
    } else {
      begin += length;
    }
    if (begin >= departures.size()) {
      if (length == 1 && !has_shrunk) {
        break;
      }
      begin = 0;
      has_shrunk = false;
      length = std::max<std::size_t>(length / 2, 1);
    }
  }
  return departures;
}

/// Finds the departures of the schedule that `follow` repeats step by step, and
/// shrinks them. From here on each single step is a step of the schedule.
template <class Follow, class Exploration>
Departures departures_of_failure(Exploration& exploration, Follow& follow) {
  exploration.contention().take_everything();
  End end = End::kDone;
  if (exploration.run(follow, end).empty()) {
    std::printf("  the schedule does not repeat itself step by step\n");
  }
  return shrink(exploration, follow.departures());
}

}  // namespace explore
