// Gathers what the report of a job needs while the job runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/job_report.h"
#include "launcher/plan.h"
#include "launcher/report_file.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields. In a
/// job without --stats and --report it keeps nothing.
class ReportMaker {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ReportMaker(const JobPlan& plan);

  /// Opens the files. kSystem, logged.
  [[nodiscard]] Status open();

  /// A rank has started on these processors.
  void note_start(std::uint32_t rank, std::string_view cpus);
  /// Takes the text of kCounters. Bytes that make no sense are dropped.
  void take_counters(std::string_view bytes);
  void note_counters(std::vector<RankCounters> counters);

  /// The job is over: writes the files, and returns the tables that --stats
  /// asks for, or "".
  std::string finish(int status, std::string end);

 private:
  bool is_wanted() const noexcept { return !report_.ranks.empty(); }

  const JobPlan& plan_;
  const Clock::time_point start_ = Clock::now();
  JobReport report_;
  std::optional<ReportFile> json_;  ///< --stats=json:FILE
  std::optional<ReportFile> page_;  ///< --report
};

}  // namespace acp::launcher
