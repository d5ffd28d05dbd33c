// A job as acp_top shows it: facts about the job, and a row for each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns.h"
#include "protocol/job_view.h"

namespace acp::top {

/// Plain value.
struct Picture {
  std::int64_t acprun = 0;  ///< Process of acprun.
  std::int64_t ranks = 0;   ///< Number of ranks of the job.
  std::int64_t hosts = 0;
  std::string program;
  double age_s = 0;
  std::string end;  ///< Why the job ends; "" while it runs.
  /// In the order of the numbers at launch. Empty for a job that is too large.
  std::vector<RankRow> rows;

  bool operator==(const Picture&) const = default;
};

/// `before` is an earlier view of the job, or nullptr. Without it there are no
/// rates, and no rank is in progress. Pure.
Picture picture_of(const protocol::JobView& now,
                   const protocol::JobView* before);

}  // namespace acp::top
