// Tests what acprun --stats tells about jobs on one host with known traffic.
// The program is counted.cc, and the traffic stands in counted_traffic.cc.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "counted_traffic.h"
#include "support/job.h"

#include <nlohmann/json.hpp>

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

/// A name for the report, which is removed at the end.
class ReportName {
 public:
  ReportName() : path_(job::scratch_file("counters")) {}

  ReportName(const ReportName&) = delete;
  ReportName& operator=(const ReportName&) = delete;

  ~ReportName() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

  std::string text() const {
    std::ifstream file(path_);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

/// Runs counted.cc with a report; the text of the report.
std::string report_of(const counted::Run& run,
                      int ranks,
                      const std::vector<std::string>& environment = {},
                      int status = 0) {
  const ReportName report;
  job::Job running({ACPRUN, "-np", std::to_string(ranks),
                    "--stats=json:" + report.path(), COUNTED, run.pattern,
                    std::to_string(run.bytes), std::to_string(run.times)},
                   environment);
  const job::Outcome outcome = running.wait(120s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  REQUIRE(outcome.status == status);
  return report.text();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The members in the first column of a table of docs/observability.md, which
/// stands behind the line `heading`.
std::set<std::string> documented(const std::string& heading) {
  std::ifstream page(OBSERVABILITY);
  REQUIRE(page);
  std::set<std::string> members;
  std::string line;
  while (std::getline(page, line) && line != heading) {
  }
  while (std::getline(page, line) && !line.starts_with("### ")) {
    if (!line.starts_with("| `")) continue;
    members.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return members;
}

std::set<std::string> members_of(const Json& object) {
  std::set<std::string> members;
  for (const auto& [name, value] : object.items())
    members.insert(name);
  return members;
}

}  // namespace

TEST_CASE("counters: a ring, all to one and a halo exchange are exact",
          "[counters]") {
  for (const char* pattern : {"ring", "all_to_one", "halo", "turned"}) {
    const counted::Run run = {pattern, 1000, 25, "direct", "none"};
    CHECK(counted::difference(report_of(run, 4), run).empty());
  }
}

TEST_CASE("counters: threads that put at the same time lose no count",
          "[counters]") {
  counted::Run run = {"threads", 64, 5000, "direct", "none"};
  CHECK(counted::difference(report_of(run, 2), run).empty());
  run.near_way = "udp";
  run.times = 200;
  CHECK(counted::difference(report_of(run, 2, {"ACP_NET=udp"}), run).empty());
}

TEST_CASE("counters: copies between registered memories go by the kernel",
          "[counters]") {
  const counted::Run run = {"registered", 100'000, 7, "cma", "none"};
  const std::string text = report_of(run, 3);
  CHECK(counted::difference(text, run).empty());
  const Json report = Json::parse(text);
  for (const Json& rank : report.at("ranks")) {
    CHECK(rank.at("registered_bytes") == 0);
    CHECK(rank.at("registered_most_bytes") == 200'000);
  }
}

TEST_CASE("counters: without copies by the kernel they are messages",
          "[counters]") {
  counted::Run run = {"registered", 3000, 7, "shm", "none"};
  const Json report = Json::parse(report_of(run, 2, {"ACP_CMA=off"}));
  const Json rows = report.at("ranks").at(0).at("traffic");
  CHECK(rows == Json::parse(R"([[1,"direct","get",1,8],
                                [1,"shm","put",7,21000]])"));
}

TEST_CASE("counters: udp between ranks of one host", "[counters]") {
  for (const char* pattern : {"ring", "all_to_one", "halo", "registered"}) {
    const counted::Run run = {pattern, 1000, 25, "udp", "none"};
    CHECK(counted::difference(report_of(run, 3, {"ACP_NET=udp"}), run).empty());
  }
}

TEST_CASE("counters: messages of channels", "[counters]") {
  for (const std::uint64_t bytes : {8, 300'000}) {
    counted::Run run = {"channel", bytes, 12, "direct", "none"};
    CHECK(counted::difference(report_of(run, 3), run).empty());
    run.near_way = "udp";
    CHECK(counted::difference(report_of(run, 3, {"ACP_NET=udp"}), run).empty());
  }
}

// The rank dies by a signal, so its counts are the numbers in memory.
TEST_CASE("counters: a killed rank is counted", "[counters]") {
  const counted::Run run = {"killed", 500, 9, "direct", "none"};
  const std::string text = report_of(run, 3, {}, 137);
  CHECK(counted::difference(text, run).empty());
  const Json report = Json::parse(text);
  CHECK(report.at("status") == 137);
  CHECK(contains(report.at("end"), "was killed by signal 9"));
  const Json& waits = report.at("ranks").at(1).at("calls");
  CHECK(contains(waits.dump(), "acp_init"));
}

TEST_CASE("counters: waits are named, and are part of the time", "[counters]") {
  const counted::Run run = {"channel", 100, 50, "direct", "none"};
  const Json report = Json::parse(report_of(run, 2));
  for (const Json& rank : report.at("ranks")) {
    CHECK(rank.at("waited_s") > 0);
    CHECK(rank.at("waited_s") <= rank.at("elapsed_s"));
    bool has_init = false;
    bool has_finalize = false;
    for (const Json& call : rank.at("calls")) {
      CHECK(call.at("waits") > 0);
      CHECK(call.at("waited_s") <= rank.at("elapsed_s"));
      CHECK(call.at("peer_s") <= call.at("waited_s"));
      has_init = has_init || call.at("name") == "acp_init";
      has_finalize = has_finalize || call.at("name") == "acp_finalize";
      if (contains(call.at("name"), "acp_wait_ch")) {
        CHECK(call.at("peer") == 1 - rank.at("rank").get<int>());
      }
    }
    CHECK(has_init);
    CHECK(has_finalize);
    CHECK(rank.at("heap_bytes") > 0);
    CHECK(rank.at("library_bytes") > 0);
  }
}

TEST_CASE("counters: the JSON has the members of docs/observability.md",
          "[counters]") {
  const counted::Run run = {"channel", 100, 5, "udp", "none"};
  const Json report =
      Json::parse(report_of(run, 2, {"ACP_NET=udp", "ACP_CH_BUFFER=32K"}));
  CHECK(members_of(report) == documented("### Members of the report"));
  CHECK(report.at("schema") == 1);
  const Json& rank = report.at("ranks").at(1);
  CHECK(members_of(rank) == documented("### Members of a rank"));
  CHECK(members_of(rank.at("calls").at(0)) ==
        documented("### Members of a call"));
  CHECK(rank.at("udp").at("sent") > 0);
  CHECK(report.at("settings").dump() ==
        R"([{"default":"auto","name":"ACP_NET","value":"udp"},)"
        R"({"default":"64K","name":"ACP_CH_BUFFER","value":"32K"},)"
        R"({"default":"0","name":"ACP_COUNTERS","value":"1"}])");
}

TEST_CASE("counters: counts of the program", "[counters]") {
  const counted::Run run = {"own", 10, 1000, "", ""};
  const Json report = Json::parse(report_of(run, 3));
  for (const Json& rank : report.at("ranks")) {
    const Json& counts = rank.at("counts");
    CHECK(counts.at("bytes") == 4 * 1000 * 10);
    // 63 names have a row each: this one, and the first 62 of 70.
    CHECK(counts.size() == 64);
    CHECK(counts.at("name 61") == 1);
    CHECK(counts.at("other counts") == 8);
  }
}

TEST_CASE("counters: the table of counts of the program", "[counters]") {
  job::Job running({ACPRUN, "-np", "2", "--stats", COUNTED, "own", "3", "5"});
  const job::Outcome outcome = running.wait(60s);
  INFO(outcome.output);
  REQUIRE(outcome.status == 0);
  const auto row = [](const char* name, int all, int most) {
    return fmt::format("acprun: {:<48} {:>16} {:>16} {:>8}\n", name, all, most,
                       0);
  };
  CHECK(contains(outcome.output, row("bytes", 120, 60)));
  CHECK(contains(outcome.output, row("other counts", 16, 8)));
}

TEST_CASE("counters: the tables", "[counters]") {
  job::Job running(
      {ACPRUN, "-np", "2", "--stats", COUNTED, "ring", "1000", "2000"});
  const job::Outcome outcome = running.wait(60s);
  INFO(outcome.output);
  REQUIRE(outcome.status == 0);
  CHECK(contains(outcome.output, "acprun: by rank "));
  CHECK(contains(outcome.output, "acprun: 1 on "));
  CHECK(contains(outcome.output,
                 "acprun: direct                     4000        4.0"));
  CHECK(contains(outcome.output, "acprun: waits in "));
  CHECK(contains(outcome.output, "acprun: acp_finalize "));
}

TEST_CASE("counters: a file that cannot be written ends acprun at once",
          "[counters]") {
  job::Job running({ACPRUN, "-np", "2", "--stats=json:/nowhere/at/all", COUNTED,
                    "ring", "8", "1"});
  const job::Outcome outcome = running.wait(60s);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.output, "/nowhere/at/all: No such file"));
}
