// Renders the results as a table, CSV or JSON; main.cc calls it on rank 0. It
// only computes text: it measures and prints nothing.
#include "report.h"

#include <fmt/core.h>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace acp::perf {

namespace {

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kTime: return "ns";
    case Unit::kRate: return "Mop/s";
    case Unit::kBandwidth: return "GB/s";
    case Unit::kTimes: return "times";
  }
  return "";
}

const char* state_of(const Result& result) {
  if (!result.outcome.failure.empty()) return "FAILED";
  if (!result.outcome.skipped.empty()) return "skipped";
  return "ok";
}

std::string note_of(const Result& result) {
  return result.outcome.failure.empty() ? result.outcome.skipped
                                        : result.outcome.failure;
}

double figure(const Result& result, double fraction) {
  return in_unit(*result.row, result.samples.percentile(fraction));
}

/// Unit of a figure in the table, and the factor to get there from ns. Large
/// times are shown in us or ms.
struct Scale {
  double factor;
  const char* unit;
};

Scale scale_of(const Row& row, double median) {
  if (row.unit != Unit::kTime) return {1, unit_name(row.unit)};
  if (median >= 1e7) return {1e-6, "ms"};
  if (median >= 1e4) return {1e-3, "us"};
  return {1, "ns"};
}

std::string table_line(const Result& result, const std::vector<Result>& all) {
  const Row& row = *result.row;
  if (result.samples.empty() || !result.outcome.failure.empty()) {
    return fmt::format("{:<22} {} {}\n", row.name, state_of(result),
                       note_of(result));
  }
  const double ratio = ratio_of(result, all);
  const std::string compared =
      ratio > 0 ? fmt::format("{:>8} x {}", digits(ratio), result.raw) : "";
  const Scale scale = scale_of(row, figure(result, 0.5));
  std::string line = fmt::format("{:<22} {:>10} {:>10} {:<6}{}", row.name,
                                 digits(figure(result, 0.5) * scale.factor),
                                 digits(figure(result, 0.99) * scale.factor),
                                 scale.unit, compared);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string table(const Machine& machine, const std::vector<Result>& results) {
  std::string text = head_line(machine);
  text += fmt::format("\n{:<22} {:>10} {:>10} {:<6}{:>8}\n", "row", "p50",
                      "p99", "unit", "ratio");
  for (const Result& result : results) {
    text += table_line(result, results);
  }
  return text;
}

std::string csv(const Machine& machine, const std::vector<Result>& results) {
  std::string text = "row,state,p50,p99,unit,raw,ratio,ops,batches,note";
  for (const auto& [name, value] : machine) {
    text += "," + name;
  }
  text += '\n';
  for (const Result& result : results) {
    text += fmt::format(
        "{},{},{:.4f},{:.4f},{},{},{:.4f},{},{},\"{}\"", result.row->name,
        state_of(result), figure(result, 0.5), figure(result, 0.99),
        unit_name(result.row->unit), result.raw, ratio_of(result, results),
        result.samples.ops(), result.samples.batches(), note_of(result));
    for (const auto& [name, value] : machine) {
      text += fmt::format(",\"{}\"", value);
    }
    text += '\n';
  }
  return text;
}

/// A row that has not run has neither figures nor rounds.
nlohmann::json json_row(const Result& result, const std::vector<Result>& all) {
  nlohmann::json row = {{"name", result.row->name},
                        {"what", result.row->what},
                        {"state", state_of(result)},
                        {"unit", unit_name(result.row->unit)}};
  if (!note_of(result).empty()) row["note"] = note_of(result);
  if (result.samples.empty()) return row;
  row["p50"] = figure(result, 0.5);
  row["p99"] = figure(result, 0.99);
  row["ops"] = result.samples.ops();
  row["batches"] = result.samples.batches();
  row["rounds"] = nlohmann::json::array();
  for (const double ns : result.rounds) {
    row["rounds"].push_back(in_unit(*result.row, ns));
  }
  if (const double ratio = ratio_of(result, all); ratio > 0) {
    row["raw"] = result.raw;
    row["ratio"] = ratio;
  }
  return row;
}

std::string json(const Machine& machine, const std::vector<Result>& results) {
  nlohmann::json document;
  for (const auto& [name, value] : machine) {
    nlohmann::json& field = document["machine"][name];
    if (name == "cores" || name == "ranks") {
      field = std::stoll(value);
    } else {
      field = value;
    }
  }
  document["rows"] = nlohmann::json::array();
  for (const Result& result : results) {
    document["rows"].push_back(json_row(result, results));
  }
  return document.dump(2) + '\n';
}

}  // namespace

std::string digits(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  if (value >= 10) return fmt::format("{:.1f}", value);
  if (value >= 0.1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.2g}", value);
}

std::string head_line(const Machine& machine) {
  std::string text = "acp_perf:";
  const char* separator = " ";
  for (const auto& [name, value] : machine) {
    text += fmt::format("{}{} {}", separator, name, value);
    separator = ", ";
  }
  return text;
}

double in_unit(const Row& row, double ns) {
  if (row.unit == Unit::kTime || row.unit == Unit::kTimes) return ns;
  if (ns <= 0) return 0;
  const double scale =
      row.unit == Unit::kRate ? 1e3 : static_cast<double>(row.bytes);
  return scale / ns;
}

double ratio_of(const Result& result, const std::vector<Result>& all) {
  const auto raw = std::find_if(
      all.begin(), all.end(),
      [&](const Result& other) { return other.row->name == result.raw; });
  if (raw == all.end() || raw->samples.empty() || result.samples.empty()) {
    return 0;
  }
  // If both rows have one unit, each is scaled by its own operation size, so
  // bandwidths compare although the sizes differ.
  const Row& scale =
      raw->row->unit == result.row->unit ? *raw->row : *result.row;
  const double ours = figure(result, 0.5);
  const double theirs = in_unit(scale, raw->samples.percentile(0.5));
  return theirs > 0 ? ours / theirs : 0;
}

std::string render(const Machine& machine,
                   const std::vector<Result>& results,
                   Format format) {
  switch (format) {
    case Format::kCsv: return csv(machine, results);
    case Format::kJson: return json(machine, results);
    case Format::kTable: break;
  }
  return table(machine, results);
}

}  // namespace acp::perf
