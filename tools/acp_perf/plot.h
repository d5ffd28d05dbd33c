// Plots of the rows of --sweep, as SVG that any browser shows.
#pragma once

#include <string>
#include <vector>

#include "report.h"

namespace acp::perf {

/// A picture with one plot for each unit: times and bandwidths over the size,
/// rates over the window, on logarithmic axes. Raw rows are dashed. Each point
/// tells its figure when the pointer is on it.
std::string render_svg(const Machine& machine,
                       const std::vector<Result>& results);

/// A page with this picture and the table of all rows. It loads nothing.
std::string render_html(const Machine& machine,
                        const std::vector<Result>& results);

}  // namespace acp::perf
