// Tests the plots of acp_perf: which rows they have, and where the points lie.
#include <cstdlib>
#include <memory>

#include <catch2/catch.hpp>

#include "plot.h"

using namespace acp::perf;

namespace {

struct Sweep {
  Sweep() {
    add("raw.memmove.8", Unit::kBandwidth, 8, 10);
    add("raw.memmove.64", Unit::kBandwidth, 64, 10);
    add("put.time.8", Unit::kTime, 8, 10);
    add("put.time.64", Unit::kTime, 64, 1000);
    add("add8.window.4", Unit::kRate, 4, 20);
    add("not.plotted", Unit::kTime, 0, 20);
  }

  void add(const char* name, Unit unit, std::uint64_t at, double ns) {
    Row row;
    row.name = name;
    row.unit = unit;
    row.bytes = row.plotted_at = at;
    rows.push_back(std::make_unique<Row>(row));
    Result result;
    result.row = rows.back().get();
    result.samples.add(ns, 1);
    results.push_back(result);
  }

  std::string svg() const { return render_svg({{"net", "a<b"}}, results); }

  std::vector<std::unique_ptr<Row>> rows;
  std::vector<Result> results;
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// The point whose tip begins with `tip`.
std::pair<double, double> place_of(const std::string& svg,
                                   const std::string& tip) {
  const std::size_t at = svg.find("<title>" + tip);
  REQUIRE(at != std::string::npos);
  const std::size_t circle = svg.rfind("<circle cx=\"", at);
  const std::size_t y = svg.find("cy=\"", circle);
  return {std::strtod(svg.c_str() + circle + 12, nullptr),
          std::strtod(svg.c_str() + y + 4, nullptr)};
}

}  // namespace

TEST_CASE("acp_perf: a plot has a line for each series", "[perf]") {
  const std::string svg = Sweep().svg();
  CHECK(count_of(svg, "<polyline") == 3);
  CHECK(count_of(svg, "<polyline class=\"line raw\"") == 1);
  CHECK(count_of(svg, "<circle") == 5);
  CHECK(count_of(svg, "not.plotted") == 0);
  CHECK(svg.find("put.time 64: 1000 ns") != std::string::npos);
  CHECK(svg.find("add8.window 4: 50.0 Mop/s") != std::string::npos);
  CHECK(svg.find("net a&lt;b") != std::string::npos);
}

/// Both axes are logarithmic and end at these points.
TEST_CASE("acp_perf: points lie where their figures are", "[perf]") {
  const std::string svg = Sweep().svg();
  const auto [x8, y10] = place_of(svg, "put.time 8:");
  const auto [x64, y1000] = place_of(svg, "put.time 64:");
  CHECK(x8 == Approx(80));
  CHECK(x64 == Approx(580));
  CHECK(y10 - y1000 == Approx(250));
}

TEST_CASE("acp_perf: a row that failed or was skipped has no point", "[perf]") {
  Sweep sweep;
  sweep.results[2].outcome.failure = "copied bytes differ";
  sweep.results[3].samples = {};
  CHECK(count_of(sweep.svg(), "put.time") == 0);
}

TEST_CASE("acp_perf: the page has the picture and the table", "[perf]") {
  const Sweep sweep;
  const std::string page = render_html({}, sweep.results);
  CHECK(count_of(page, "<svg") == 1);
  CHECK(page.find("not.plotted") != std::string::npos);
  CHECK(page.find("http") == page.find("http://www.w3.org/2000/svg"));
}
