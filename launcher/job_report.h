// A report has all that acprun knows of a job at its end. The table of acprun
// --stats, its JSON and the page of --report are made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/rank_counters.h"

namespace acp::launcher {

/// A setting whose value is not the default. Plain value.
struct ChangedSetting {
  std::string name;
  std::string value;
  std::string default_value;
};

/// A rank of the job. Plain value.
struct RankReport {
  std::uint32_t host = 0;  ///< Index in JobReport::hosts.
  std::string cpus;        ///< Its processors, for people; "": not started.
  /// Empty: it counted nothing, or its host was lost.
  std::optional<RankCounters> counters;
};

/// Plain value.
struct JobReport {
  std::string version;  ///< The version of acprun.
  std::string program;  ///< The command, as one line.
  std::uint32_t pid = 0;
  int status = 0;        ///< Exit status of acprun.
  std::string end;       ///< Why the job has ended.
  double elapsed_s = 0;  ///< Since acprun started the ranks.
  std::vector<std::string> hosts;
  std::vector<ChangedSetting> settings;
  std::vector<RankReport> ranks;  ///< By number at launch.
};

/// The report as JSON, as docs/observability.md describes it. Pure.
std::string report_as_json(const JobReport& report);

/// A page that shows the report in a browser, without any other file. Pure.
std::string report_as_page(const JobReport& report);

/// The tables that `acprun --stats` prints about counters. Pure.
std::string counters_table(const JobReport& report);

}  // namespace acp::launcher
