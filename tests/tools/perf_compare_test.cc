// Tests the comparison of two reports of acp_perf.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <catch2/catch.hpp>

#include "compare.h"

#include <nlohmann/json.hpp>

using acp::perf::compare_reports;
using acp::perf::Comparison;
using acp::perf::probability_of_chance;

namespace {

/// A report in a file, which goes with this object.
class File {
 public:
  explicit File(const std::string& text)
      : path_("perf_compare_" + std::to_string(::getpid()) + "_" +
              std::to_string(++count) + ".json") {
    std::ofstream(path_) << text;
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  ~File() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  static inline int count = 0;
  std::string path_;
};

using Rounds = std::vector<double>;

nlohmann::json row_of(const char* name,
                      const char* unit,
                      const Rounds& rounds,
                      const char* raw = nullptr) {
  nlohmann::json row = {{"name", name},
                        {"unit", unit},
                        {"p50", rounds[rounds.size() / 2]},
                        {"rounds", rounds}};
  if (raw != nullptr) row["raw"] = raw;
  return row;
}

using Reported = std::vector<nlohmann::json>;

Comparison compare(const Reported& before, const Reported& after) {
  const File one(nlohmann::json({{"rows", before}}).dump());
  const File other(nlohmann::json({{"rows", after}}).dump());
  return compare_reports(one.path(), other.path());
}

/// The verdict on a row with these rounds before and after.
std::string verdict(const char* unit,
                    const Rounds& before,
                    const Rounds& after) {
  const std::string text =
      compare({row_of("row", unit, before)}, {row_of("row", unit, after)}).text;
  const std::size_t line = text.find('\n') + 1;
  const std::size_t end = text.find('\n', line);
  return text.substr(text.rfind(' ', end) + 1, end - text.rfind(' ', end) - 1);
}

const Rounds kTen = {10.0, 10.1, 9.9, 10.2, 10.0, 10.1};
const Rounds kTwelve = {12.0, 12.1, 11.9, 12.2, 12.0, 12.1};

}  // namespace

TEST_CASE("acp_perf: the rank-sum test has the published probabilities",
          "[perf]") {
  CHECK(probability_of_chance({1, 2, 3}, {4, 5, 6}) == Approx(0.1));
  CHECK(probability_of_chance({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) ==
        Approx(2.0 / 252));
  CHECK(probability_of_chance({1, 2, 3, 5, 6}, {4, 7, 8, 9, 10}) ==
        Approx(8.0 / 252));
  CHECK(probability_of_chance({5, 5, 5}, {5, 5, 5}) == 1);
  CHECK(probability_of_chance({}, {1}) == 1);
  // The approximation for 60 values: U is 242, 3.08 deviations from 450.
  Rounds low;
  Rounds high;
  for (int i = 0; i < 30; ++i) {
    low.push_back(i);
    high.push_back(i + 8);
  }
  CHECK(probability_of_chance(low, high) == Approx(0.0021).epsilon(0.02));
}

TEST_CASE("acp_perf: less time and more bandwidth are faster", "[perf]") {
  CHECK(verdict("ns", kTwelve, kTen) == "faster");
  CHECK(verdict("ns", kTen, kTwelve) == "slower");
  CHECK(verdict("GB/s", kTen, kTwelve) == "faster");
  CHECK(verdict("Mop/s", kTwelve, kTen) == "slower");
  CHECK(verdict("times", kTen, kTwelve) == "slower");
}

TEST_CASE("acp_perf: rounds that overlap are noise, and few rounds no reason",
          "[perf]") {
  CHECK(verdict("ns", kTen, {9.8, 10.3, 10.1, 10.0, 10.5, 9.9}) == "noise");
  CHECK(verdict("ns", kTen, {10.05, 10.15, 9.95, 10.25, 10.05, 10.15}) ==
        "noise");
  // One disturbed round of nine hides no difference.
  CHECK(verdict("ns", {10, 10, 10, 10, 10, 10, 10, 10, 10},
                {12, 12, 12, 12, 12, 9.5, 12, 12, 12}) == "slower");
  const Comparison few = compare({row_of("row", "ns", {1, 1, 1})},
                                 {row_of("row", "ns", {2, 2, 2})});
  CHECK(few.text.find("unknown") != std::string::npos);
  CHECK(few.text.find("--rounds 9") != std::string::npos);
  CHECK(few.status == 0);
}

TEST_CASE("acp_perf: a faster machine makes no row faster", "[perf]") {
  Rounds raw = kTen;
  Rounds own = kTwelve;
  const Reported before = {row_of("raw.x", "ns", raw),
                           row_of("x", "ns", own, "raw.x")};
  for (auto* rounds : {&raw, &own}) {
    for (double& value : *rounds) {
      value /= 2;
    }
  }
  const Reported after = {row_of("raw.x", "ns", raw),
                          row_of("x", "ns", own, "raw.x")};
  const Comparison result = compare(before, after);
  const std::string line = result.text.substr(result.text.find("\nx "));
  CHECK(line.find("+0.0 %  noise") != std::string::npos);
  CHECK(result.status == 0);
}

TEST_CASE("acp_perf: a slower raw row is no failure", "[perf]") {
  const Comparison result =
      compare({row_of("raw.x", "ns", kTen)}, {row_of("raw.x", "ns", kTwelve)});
  CHECK(result.text.find("slower") != std::string::npos);
  CHECK(result.status == 0);
}

TEST_CASE("acp_perf: the status says slower, and rows of one report are named",
          "[perf]") {
  const Comparison result =
      compare({row_of("a", "ns", kTen), row_of("b", "ns", kTen)},
              {row_of("a", "ns", kTwelve), row_of("c", "ns", kTen)});
  CHECK(result.status == 1);
  CHECK(result.text.find("\nb                      is in ") !=
        std::string::npos);
  CHECK(result.text.find("\nc                      is in ") !=
        std::string::npos);
}

TEST_CASE("acp_perf: a file that is no report is named", "[perf]") {
  const File wrong("{\"rows\": 5}");
  const File cut("{\"rows\": [");
  for (const std::string& path :
       {wrong.path(), cut.path(), std::string("/does/not/exist.json")}) {
    const Comparison result = compare_reports(path, path);
    CHECK(result.status == 2);
    CHECK(result.text.find(path) != std::string::npos);
  }
}
