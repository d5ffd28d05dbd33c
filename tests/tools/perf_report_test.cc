// Tests the table, the CSV and the JSON that acp_perf prints.
#include <catch2/catch.hpp>

#include "report.h"

#include <nlohmann/json.hpp>

using namespace acp::perf;

namespace {

Row row_named(const char* name, Unit unit, std::uint64_t bytes) {
  Row row;
  row.name = name;
  row.what = "a row of a test";
  row.unit = unit;
  row.bytes = bytes;
  return row;
}

Result result_of(const Row& row, double ns, const char* raw) {
  Result result;
  result.row = &row;
  result.raw = raw;
  result.samples.add(ns, 1);
  return result;
}

struct Report {
  Row raw_add = row_named("raw.add", Unit::kTime, 0);
  Row add = row_named("add", Unit::kTime, 0);
  Row raw_copy = row_named("raw.copy", Unit::kBandwidth, 1000);
  Row copy = row_named("copy", Unit::kBandwidth, 1000);
  Row rate = row_named("rate", Unit::kRate, 0);
  std::vector<Result> results = {
      result_of(raw_add, 5, ""), result_of(add, 8, "raw.add"),
      result_of(raw_copy, 10, ""), result_of(copy, 20, "raw.copy"),
      result_of(rate, 10, "raw.add")};
  Machine machine = {{"ranks", "2"}, {"net", "auto"}};
};

}  // namespace

TEST_CASE("acp_perf: figures come in the row's unit", "[perf]") {
  const Report report;
  CHECK(in_unit(report.add, 8) == 8);
  CHECK(in_unit(report.copy, 20) == 50);   // 1000 bytes in 20 ns: 50 GB/s
  CHECK(in_unit(report.rate, 10) == 100);  // one in 10 ns: 100 Mop/s
}

TEST_CASE("acp_perf: a ratio is ours to raw in our unit", "[perf]") {
  const Report report;
  CHECK(ratio_of(report.results[1], report.results) == Approx(1.6));
  CHECK(ratio_of(report.results[3], report.results) == Approx(0.5));
  CHECK(ratio_of(report.results[4], report.results) == Approx(0.5));
  CHECK(ratio_of(report.results[0], report.results) == 0);
}

TEST_CASE("acp_perf: a bandwidth may stand beside one of another size",
          "[perf]") {
  Report report;
  report.copy.bytes = 4000;
  CHECK(ratio_of(report.results[3], report.results) == Approx(2));
}

TEST_CASE("acp_perf: the table shows a row that failed, not its figures",
          "[perf]") {
  Report report;
  report.results[1].outcome.failure = "sum is wrong";
  report.results[3].outcome.skipped = "needs two ranks";
  report.results[3].samples = {};
  const std::string text =
      render(report.machine, report.results, Format::kTable);
  CHECK(text.find("acp_perf: ranks 2, net auto\n") == 0);
  CHECK(text.find("FAILED sum is wrong\n") != std::string::npos);
  CHECK(text.find("skipped needs two ranks\n") != std::string::npos);
  CHECK(text.find("x raw.add") != std::string::npos);
  CHECK(text.find("x raw.copy") == std::string::npos);
}

TEST_CASE("acp_perf: JSON has figures, ratio, state and machine", "[perf]") {
  Report report;
  report.results[3].outcome.failure = "bytes differ";
  const auto document = nlohmann::json::parse(
      render(report.machine, report.results, Format::kJson));
  CHECK(document["machine"]["ranks"] == 2);
  REQUIRE(document["rows"].size() == 5);
  const auto& add = document["rows"][1];
  CHECK(add["p50"] == 8);
  CHECK(add["unit"] == "ns");
  CHECK(add["raw"] == "raw.add");
  CHECK(add["ratio"].get<double>() == Approx(1.6));
  CHECK(document["rows"][3]["state"] == "FAILED");
  CHECK(document["rows"][3]["note"] == "bytes differ");
}

TEST_CASE("acp_perf: every CSV line has as many fields as the first",
          "[perf]") {
  const Report report;
  const std::string text = render(report.machine, report.results, Format::kCsv);
  std::size_t lines = 0;
  std::size_t commas = 0;
  for (const char c : text) {
    commas += c == ',' ? 1 : 0;
    lines += c == '\n' ? 1 : 0;
  }
  CHECK(lines == report.results.size() + 1);
  CHECK(commas == lines * 11);
}
