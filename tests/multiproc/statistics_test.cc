// Tests what acprun --stats and ACP_STATS tell about a job over udp. The
// program is talk.cc.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/job.h"

#include <nlohmann/json.hpp>

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

/// A folder that exists as long as the object.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "stats.XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

Json read_json(const std::string& file) {
  std::ifstream stream(file);
  REQUIRE(stream);
  return Json::parse(stream);
}

bool contains(const job::Outcome& outcome, const std::string& text) {
  return outcome.output.find(text) != std::string::npos;
}

}  // namespace

// The faults make sure that each count is more than 0. With one peer, most
// counts of the peer are those of the sum.
TEST_CASE("statistics: a file for each rank, and a table of all",
          "[statistics]") {
  const Folder folder;
  job::Job run({ACPRUN, "-np", "2", "--stats", TALK, "answer", "3000"},
               {"ACP_NET=udp", "ACP_STATS=" + folder.file("s"),
                "ACP_UDP_FAULTS=loss=0.05,corrupt=0.05,duplicate=0.05"});
  const job::Outcome outcome = run.wait(120s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  REQUIRE(outcome.status == 0);
  CHECK(contains(outcome, "acprun: 0 on "));
  CHECK(contains(outcome, "acprun: 1 on "));
  CHECK(contains(outcome, "acprun: all "));
  CHECK(contains(outcome, " corrupt"));
  CHECK(contains(outcome, " replayed"));

  for (const int rank : {0, 1}) {
    const Json whole = read_json(folder.file("s." + std::to_string(rank)));
    INFO(whole.dump(1));
    CHECK(whole["process"] == rank);
    const Json& sum = whole["sum"];
    const Json& peer = whole["peers"].at(0);
    CHECK(whole["peers"].size() == 1);
    CHECK(peer["process"] == 1 - rank);
    CHECK(peer["failed"] == false);
    CHECK(sum["sent"] >= 3000);
    CHECK(peer["sent"] == sum["sent"]);
    CHECK(peer["sent_bytes"] == sum["sent_bytes"]);
    CHECK(sum["sent_bytes"] >= 56 * sum["sent"].get<long>());
    CHECK(sum["sent_again"] > 0);
    CHECK(peer["sent_again"] == sum["sent_again"]);
    CHECK(sum["corrupt"] > 0);
    CHECK(sum["replayed"] > 0);
    CHECK(peer["corrupt"] == sum["corrupt"]);
    CHECK(peer["replayed"] == sum["replayed"]);
    CHECK(sum["received"] ==
          peer["received"].get<long>() + sum["malformed"].get<long>() +
              sum["strays"].get<long>() + sum["unknown"].get<long>() +
              sum["corrupt"].get<long>() + sum["replayed"].get<long>());
    CHECK(peer["rtt_us"] > 0);
    CHECK(peer["window_bytes"] > 0);
    CHECK(peer["datagram_bytes"] == 60000);
  }
}

TEST_CASE("statistics: a job that ends badly has a line about its packets",
          "[statistics]") {
  const Folder folder;
  job::Job run(
      {ACPRUN, "-np", "2", TALK, "stop_sync", "0"},
      {"ACP_NET=udp", "ACP_UDP_SILENCE=1", "ACP_STATS=" + folder.file("s")});
  const job::Outcome outcome = run.wait(60s);
  INFO(outcome.output);
  REQUIRE(outcome.is_over);
  CHECK(outcome.status != 0);
  CHECK(contains(outcome, "acprun: udp sent "));
  const Json whole = read_json(folder.file("s.0"));
  CHECK(whole["peers"].at(0)["failed"] == true);
}

TEST_CASE("statistics: a job without packets says so", "[statistics]") {
  job::Job run({ACPRUN, "-np", "2", "--stats", TALK, "answer", "10"}, {});
  const job::Outcome outcome = run.wait(60s);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome, "no rank has sent a packet over udp"));
}
