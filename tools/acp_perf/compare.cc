// Compares two reports of --json; see compare.h. Called by main.cc, without a
// job.
#include "compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

#include "report.h"

#include <nlohmann/json.hpp>

namespace acp::perf {

namespace {

/// A difference that chance makes in fewer than one of a hundred comparisons is
/// none of chance, and one of less than a hundredth is of no interest.
constexpr double kMostChance = 0.01;
constexpr double kLeastChange = 0.01;
/// With fewer rounds in each report no difference is that improbable.
constexpr std::size_t kLeastRounds = 5;

struct Figures {
  double median = 0;
  std::string unit;
  std::vector<double> rounds;
  std::vector<double> ratios;  ///< To the raw row, round by round, or empty.
};

using Report = std::map<std::string, Figures>;

double median_of(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Adds the ratios of the rows that have a raw row with as many rounds.
void add_ratios(const nlohmann::json& rows, Report& report) {
  for (const auto& row : rows) {
    const auto own = report.find(row.at("name"));
    const auto raw = report.find(row.value("raw", ""));
    if (own == report.end() || raw == report.end() ||
        own->second.rounds.size() != raw->second.rounds.size()) {
      continue;
    }
    for (std::size_t i = 0; i < raw->second.rounds.size(); ++i) {
      own->second.ratios.push_back(own->second.rounds[i] /
                                   std::max(raw->second.rounds[i], 1e-9));
    }
  }
}

/// Throws what nlohmann::json throws, or std::runtime_error.
Report read_report(const std::string& path,
                   std::vector<std::string>* order = nullptr) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("it cannot be read");
  const nlohmann::json document = nlohmann::json::parse(file);
  Report report;
  for (const auto& row : document.at("rows")) {
    if (!row.contains("p50")) continue;
    const std::string name = row.at("name");
    report[name] = {row.at("p50"),
                    row.at("unit"),
                    row.value("rounds", std::vector<double>{}),
                    {}};
    if (order != nullptr) order->push_back(name);
  }
  add_ratios(document.at("rows"), report);
  return report;
}

/// The statistic U of the rank-sum test counts the pairs in which the value of
/// the first sample is the larger one. Entry u of the result is the number of
/// orders of `n` and `m` values in which U is u. The largest value of an order
/// is one of the first sample, and larger than all `m` of the second, or one of
/// the second.
std::vector<double> orders_by_u(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> ways(m + 1);
  for (std::size_t j = 0; j <= m; ++j)
    ways[j] = {1};
  for (std::size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> next(m + 1);
    next[0] = {1};
    for (std::size_t j = 1; j <= m; ++j) {
      next[j].assign(i * j + 1, 0);
      for (std::size_t u = 0; u < ways[j].size(); ++u)
        next[j][u + j] += ways[j][u];
      for (std::size_t u = 0; u < next[j - 1].size(); ++u)
        next[j][u] += next[j - 1][u];
    }
    ways = std::move(next);
  }
  return ways[m];
}

struct Verdict {
  double change = 0;  ///< 0.1: the figure of `after` is a tenth larger.
  const char* text = "noise";
};

/// Nothing when there are too few rounds.
std::optional<Verdict> judge(const Figures& before, const Figures& after) {
  const bool has_ratios = !before.ratios.empty() && !after.ratios.empty();
  const auto& old_values = has_ratios ? before.ratios : before.rounds;
  const auto& new_values = has_ratios ? after.ratios : after.rounds;
  if (std::min(old_values.size(), new_values.size()) < kLeastRounds) {
    return std::nullopt;
  }
  Verdict verdict;
  verdict.change =
      median_of(new_values) / std::max(median_of(old_values), 1e-9) - 1;
  if (std::abs(verdict.change) >= kLeastChange &&
      probability_of_chance(old_values, new_values) < kMostChance) {
    const bool is_less_better = before.unit == "ns" || before.unit == "times";
    verdict.text = (verdict.change < 0) == is_less_better ? "faster" : "slower";
  }
  return verdict;
}

}  // namespace

double probability_of_chance(const std::vector<double>& one,
                             const std::vector<double>& other) {
  if (one.empty() || other.empty()) return 1;
  double u = 0;  // Pairs in which the first is larger; equal ones count half.
  for (const double a : one) {
    for (const double b : other) {
      u += a > b ? 1 : a == b ? 0.5 : 0;
    }
  }
  const auto n = static_cast<double>(one.size());
  const auto m = static_cast<double>(other.size());
  const double smaller = std::min(u, n * m - u);
  if (one.size() + other.size() > 40) {
    const double deviation = std::sqrt(n * m * (n + m + 1) / 12);
    return std::erfc((n * m / 2 - smaller) / deviation / std::sqrt(2.0));
  }
  const std::vector<double> orders = orders_by_u(one.size(), other.size());
  double all = 0;
  double as_far = 0;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    all += orders[i];
    if (static_cast<double>(i) <= std::ceil(smaller)) as_far += orders[i];
  }
  return std::min(1.0, 2 * as_far / all);
}

/// The rows in the order of the first report, and then those that only one of
/// the reports has.
Comparison compare_reports(const std::string& before,
                           const std::string& after) {
  Comparison result;
  std::vector<std::string> order;
  Report reports[2];
  const std::string* paths[] = {&before, &after};
  for (int i = 0; i < 2; ++i) {
    try {
      reports[i] = read_report(*paths[i], i == 0 ? &order : nullptr);
    } catch (const std::exception& error) {
      return {
          fmt::format("acp_perf: --compare {}: no report of acp_perf --json: "
                      "{}\n",
                      *paths[i], error.what()),
          2};
    }
  }
  result.text = fmt::format("{:<22} {:>10} {:>10} {:<6} {:>8}  {}\n", "row",
                            "before", "after", "unit", "change", "verdict");
  bool has_few_rounds = false;
  for (const std::string& name : order) {
    const auto other = reports[1].find(name);
    if (other == reports[1].end()) {
      result.text += fmt::format("{:<22} is in {} only\n", name, before);
      continue;
    }
    const Figures& old = reports[0][name];
    const auto verdict = judge(old, other->second);
    has_few_rounds = has_few_rounds || !verdict;
    result.text += fmt::format(
        "{:<22} {:>10} {:>10} {:<6} {:>8}  {}\n", name, digits(old.median),
        digits(other->second.median), old.unit,
        verdict ? fmt::format("{:+.1f} %", 100 * verdict->change) : "",
        verdict ? verdict->text : "unknown");
    // A slower raw row is a slower machine.
    if (verdict && verdict->text == std::string("slower") &&
        !name.starts_with("raw.")) {
      result.status = 1;
    }
  }
  for (const auto& [name, figures] : reports[1]) {
    if (reports[0].count(name) == 0) {
      result.text += fmt::format("{:<22} is in {} only\n", name, after);
    }
  }
  if (has_few_rounds) {
    result.text += fmt::format(
        "A verdict needs {} rounds in each report: acp_perf --rounds 9 "
        "--json\n",
        kLeastRounds);
  }
  return result;
}

}  // namespace acp::perf
