// Findings about a job that may be stuck: which ranks wait for which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "picture.h"

namespace acp::top {

/// A wait that is as long as this counts as long. Healthy ranks wait for each
/// other all the time, but seldom for so long.
inline constexpr double kLongWait = 1.0;

bool is_long_wait(const RankRow& row) noexcept;

/// The circles of ranks that have long waited for each other. A circle is in
/// the order of the waits: each rank waits for the next one, and the last for
/// the first. Each begins with its smallest rank. Pure.
std::vector<std::vector<std::int64_t>> find_circles(const Picture& picture);

/// A line for each finding, the most telling first; empty for a job that runs
/// well. Pure.
std::vector<std::string> findings_of(const Picture& picture);

}  // namespace acp::top
