// Draws the rows of --sweep; see plot.h. main.cc calls it on rank 0. It only
// computes text.
#include "plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "rows.h"

namespace acp::perf {

namespace {

// All lengths are in the units of the picture, which are pixels at its own
// size.
constexpr double kWidth = 740;
constexpr double kLeft = 80;  ///< The figures of the y-axis stand there.
constexpr double kPlotWidth = 500;
constexpr double kPlotHeight = 250;
constexpr double kHead = 48;     ///< It stands above the first plot.
constexpr double kBetween = 80;  ///< Two plots are so far apart.
constexpr double kLegendLine = 20;

/// Colours that people with any sight tell apart, on white and on black.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#999999"};

constexpr const char* kStyle =
    "svg{background:#fff;font:13px sans-serif}"
    "text{fill:#222}.grid{stroke:#ddd}.frame{stroke:#888;fill:none}"
    ".line{fill:none;stroke-width:2}.raw{stroke-dasharray:6 4}"
    "@media(prefers-color-scheme:dark){svg{background:#111}text{fill:#ddd}"
    ".grid{stroke:#333}}";

struct Point {
  double x;
  double y;
};

/// Rows that differ in their size or window only.
struct Series {
  std::string name;
  bool is_raw;
  std::vector<Point> points;
};

struct Plot {
  const char* title;
  const char* y_unit;
  std::vector<Series> series;
};

/// "put.time.4K" is a point of the series "put.time".
void add_to(Plot& plot, const Result& result) {
  const std::string& name = result.row->name;
  const std::string of = name.substr(0, name.rfind('.'));
  auto series = std::find_if(plot.series.begin(), plot.series.end(),
                             [&](const Series& one) { return one.name == of; });
  if (series == plot.series.end()) {
    plot.series.push_back({of, name.starts_with("raw."), {}});
    series = plot.series.end() - 1;
  }
  series->points.push_back(
      {static_cast<double>(result.row->plotted_at),
       in_unit(*result.row, result.samples.percentile(0.5))});
}

/// Rows without a unit that is plotted, and rows without a figure, are left
/// out.
std::vector<Plot> plots_of(const std::vector<Result>& results) {
  std::vector<Plot> plots = {
      {"Time of one operation over its bytes", "ns", {}},
      {"Bandwidth over the bytes of an operation", "GB/s", {}},
      {"Rate over the operations under way", "Mop/s", {}}};
  for (const Result& result : results) {
    if (result.row->plotted_at == 0 || result.samples.empty() ||
        !result.outcome.failure.empty()) {
      continue;
    }
    switch (result.row->unit) {
      case Unit::kTime: add_to(plots[0], result); break;
      case Unit::kBandwidth: add_to(plots[1], result); break;
      case Unit::kRate: add_to(plots[2], result); break;
      case Unit::kTimes: break;
    }
  }
  std::erase_if(plots, [](const Plot& plot) { return plot.series.empty(); });
  return plots;
}

/// A logarithmic axis from `least` to `most`, which it widens to whole powers
/// of `base`.
class Axis {
 public:
  Axis(double base, double least, double most)
      : base_(base),
        first_(std::floor(power_of(least) + 1e-9)),
        last_(std::max(std::ceil(power_of(most) - 1e-9), first_ + 1)) {}

  /// Place of `value` between 0 and 1.
  double at(double value) const {
    return (power_of(value) - first_) / (last_ - first_);
  }

  /// Powers of the base, at most about ten of them.
  std::vector<double> marks() const {
    const double step = std::max(1.0, std::ceil((last_ - first_) / 10));
    std::vector<double> marks;
    for (double power = first_; power <= last_ + 1e-9; power += step) {
      marks.push_back(std::pow(base_, power));
    }
    return marks;
  }

 private:
  double power_of(double value) const {
    return std::log(std::max(value, 1e-9)) / std::log(base_);
  }

  double base_;
  double first_;
  double last_;
};

/// The axis of all values that `value_of` takes from the points.
template <typename ValueOf>
Axis axis_of(const Plot& plot, double base, ValueOf value_of) {
  double least = 0;
  double most = 0;
  for (const Series& series : plot.series) {
    for (const Point& point : series.points) {
      const double value = value_of(point);
      least = least == 0 ? value : std::min(least, value);
      most = std::max(most, value);
    }
  }
  return {base, least, most};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string text_at(double x,
                    double y,
                    const char* anchor,
                    const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, escaped(text));
}

std::string size_text(double x) {
  return size_name(static_cast<std::uint64_t>(std::llround(x)));
}

/// A power of ten at the y-axis. Large times are in us or ms.
std::string figure_text(double y, std::string_view unit) {
  if (unit != "ns" || y < 1e3) return fmt::format("{:g} {}", y, unit);
  return y < 1e6 ? fmt::format("{:g} us", y / 1e3)
                 : fmt::format("{:g} ms", y / 1e6);
}

/// A line, and a point with its text for each figure.
std::string draw(const Series& series,
                 const Plot& plot,
                 const Axis& x_axis,
                 const Axis& y_axis,
                 double top,
                 const char* colour) {
  std::string line;
  std::string points;
  for (const Point& point : series.points) {
    const double x = kLeft + kPlotWidth * x_axis.at(point.x);
    const double y = top + kPlotHeight * (1 - y_axis.at(point.y));
    line += fmt::format("{:.1f},{:.1f} ", x, y);
    points += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\">"
        "<title>{} {}: {} {}</title></circle>\n",
        x, y, colour, escaped(series.name), size_text(point.x), digits(point.y),
        plot.y_unit);
  }
  line.pop_back();
  return fmt::format(
             "<polyline class=\"line{}\" stroke=\"{}\" points=\"{}\"/>\n",
             series.is_raw ? " raw" : "", colour, line) +
         points;
}

/// Grid, figures of the axes, lines, and a legend on the right.
std::string draw(const Plot& plot, double top) {
  const Axis x_axis =
      axis_of(plot, 2, [](const Point& point) { return point.x; });
  const Axis y_axis =
      axis_of(plot, 10, [](const Point& point) { return point.y; });
  const double bottom = top + kPlotHeight;
  std::string text = text_at(kLeft, top - 10, "start", plot.title);
  for (const double mark : x_axis.marks()) {
    const double x = kLeft + kPlotWidth * x_axis.at(mark);
    text += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                        x, top, bottom);
    text += text_at(x, bottom + 18, "middle", size_text(mark));
  }
  for (const double mark : y_axis.marks()) {
    const double y = top + kPlotHeight * (1 - y_axis.at(mark));
    text += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n",
                        kLeft, y, kLeft + kPlotWidth);
    text += text_at(kLeft - 8, y + 4, "end", figure_text(mark, plot.y_unit));
  }
  text += fmt::format(
      "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
      kLeft, top, kPlotWidth, kPlotHeight);
  double legend = top + 14;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    const char* colour = kColours[i % std::size(kColours)];
    text += draw(series, plot, x_axis, y_axis, top, colour);
    const double x = kLeft + kPlotWidth + 14;
    text += fmt::format(
        "<path class=\"line{}\" stroke=\"{}\" d=\"M{:.1f} {:.1f}h24\"/>\n",
        series.is_raw ? " raw" : "", colour, x, legend - 4);
    text += text_at(x + 30, legend, "start", series.name);
    legend += kLegendLine;
  }
  return text;
}

}  // namespace

std::string render_svg(const Machine& machine,
                       const std::vector<Result>& results) {
  std::string body;
  double top = kHead;
  for (const Plot& plot : plots_of(results)) {
    body += draw(plot, top);
    top += kPlotHeight + kBetween;
  }
  const double height = top - kBetween + 34;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" role=\"img\">\n<title>{2}</title>\n"
      "<style>{3}</style>\n{4}</svg>\n",
      kWidth, height, escaped(head_line(machine)), kStyle, body);
}

std::string render_html(const Machine& machine,
                        const std::vector<Result>& results) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>acp_perf</title>\n"
      "<style>:root{{color-scheme:light dark}}body{{font:14px sans-serif}}"
      "svg{{max-width:100%;height:auto}}pre{{overflow-x:auto}}</style>\n"
      "<p>{}</p>\n{}<pre>{}</pre>\n</html>\n",
      escaped(head_line(machine)), render_svg(machine, results),
      escaped(render(machine, results, Format::kTable)));
}

}  // namespace acp::perf
