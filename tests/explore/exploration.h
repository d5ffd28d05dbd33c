// One scenario: runs schedules of it and checks each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "explore/fairness.h"
#include "explore/linearize.h"
#include "explore/scenario.h"
#include "explore/world.h"

namespace explore {

/// The job of a scenario, ready to begin its schedules. One in a process.
class Exploration {
 public:
  Exploration(const Scenario& scenario,
              const Mode& mode,
              const std::string& image);
  Exploration(const Exploration&) = delete;
  Exploration& operator=(const Exploration&) = delete;
  ~Exploration() = default;

  /// Runs one schedule. Returns its error, or an empty text. Sets `end`.
  std::string run(Chooser& chooser, End& end);

  /// The rank that dies before its n-th step, in the schedules from now on.
  void kill(int rank, std::uint64_t step);

  /// Whether that has happened in any schedule since.
  bool has_killed() const { return has_killed_; }

  /// The steps of the next schedules go to `trace`; null: nowhere.
  void record(Trace* trace);

  const Scenario& scenario() const { return scenario_; }

  const Model& model() const { return *before_; }

  World& world() { return world_; }

  Contention& contention() { return world_.contention(); }

  const std::vector<Call>& calls() const { return calls_; }

  const std::vector<std::uint64_t>& content() const { return content_; }

 private:
  void prepare();
  void run_phase(const std::function<void(int, Program&)>& work);
  void run_program(int number);
  std::string check(End end);
  std::string audit();
  bool is_right(const std::vector<std::uint64_t>* content);
  void note(int rank, const std::string& what);

  const Scenario scenario_;
  World world_;
  Fairness fairness_;
  std::unique_ptr<Model> before_;
  Trace* trace_ = nullptr;
  int victim_ = -1;
  bool has_killed_ = false;
  bool has_ended_ = true;  ///< run_phase() writes it.
  std::vector<Call> calls_;
  std::uint64_t events_ = 0;  ///< Begins and ends of calls.
  std::vector<std::uint64_t> content_;
  /// Verdicts, by a hash of calls and content.
  std::unordered_map<std::uint64_t, bool> known_;
};

}  // namespace explore
