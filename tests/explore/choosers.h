// Ways to go through the schedules of a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explore/world.h"

namespace explore {

/// The choices of a schedule that are not the default: choice number to index.
using Departures = std::map<std::size_t, std::size_t>;

/// "12:1,19:2", as the command line has it.
std::string text_of(const Departures& departures);
Departures departures_in(const std::string& text);

/// Runs one schedule. Used again and again to shrink it.
class Replay : public Chooser {
 public:
  explicit Replay(Departures departures) : departures_(std::move(departures)) {}

  std::size_t choose(const std::vector<Choice>& choices,
                     std::uint64_t signature) override;

  /// Whether a departure was not possible, so that another schedule ran.
  bool has_missed() const { return has_missed_; }

  std::size_t length() const { return next_; }

 private:
  const Departures departures_;
  std::size_t next_ = 0;
  bool has_missed_ = false;
};

/// Runs the schedule whose processes are given, with all words contended.
class Follow : public Chooser {
 public:
  explicit Follow(std::vector<std::uint32_t> processes)
      : processes_(std::move(processes)) {}

  std::size_t choose(const std::vector<Choice>& choices,
                     std::uint64_t signature) override;

  const Departures& departures() const { return departures_; }

 private:
  const std::vector<std::uint32_t> processes_;
  std::size_t next_ = 0;
  Departures departures_;
};

/// All schedules up to a number of departures from the default order, depth
/// first. A schedule ends early at a state that has been
/// explored.
class DepthFirst : public Chooser {
 public:
  explicit DepthFirst(int bound) : bound_(bound) {}

  std::size_t choose(const std::vector<Choice>& choices,
                     std::uint64_t signature) override;

  /// Goes to the next schedule. False: there is none.
  bool next();

 private:
  struct Node {
    std::size_t index;                ///< The choice taken.
    std::vector<std::size_t> others;  ///< Choices to be taken later.
    std::vector<int> costs;           ///< Costs of the choices.
    int spent;                        ///< Departures before this node.
  };

  const int bound_;
  std::vector<Node> path_;
  std::size_t depth_ = 0;
  /// The fewest departures with which each state was reached.
  std::unordered_map<std::uint64_t, int> seen_;
};

/// Probabilistic concurrency testing: processes have random priorities, and the
/// highest goes on. At a few random steps the running one gets the lowest, and
/// from time to time as well: what it waits for may have a lower one.
class RandomPriorities : public Chooser {
 public:
  /// `changes` such steps among `length`.
  RandomPriorities(std::uint64_t seed, int changes, std::size_t length);

  std::size_t choose(const std::vector<Choice>& choices,
                     std::uint64_t signature) override;

  std::size_t length() const { return depth_; }

 private:
  /// More steps than a schedule without waits has.
  static constexpr std::size_t kPatience = 2000;

  std::uint64_t random();

  std::uint64_t state_;  ///< State of the generator.
  std::map<std::size_t, bool> changes_;
  std::map<std::uint32_t, std::uint64_t> priorities_;
  std::uint64_t lowest_ = 1'000'000;
  std::size_t depth_ = 0;
};

}  // namespace explore
