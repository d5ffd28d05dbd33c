// acp_top's JSON: its members are the documented ones, and it can be read
// again.
#include <fstream>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>

#include "json.h"
#include "tests/tools/top_rows.h"

#include <nlohmann/json.hpp>

namespace acp::top {

namespace {

using nlohmann::json;
using rows::computing;
using rows::picture;
using rows::waiting;

Picture job() {
  RankRow row = waiting(0, "acp_wait_ch (receive)", 1, 9.5);
  row.core = 3;
  row.sent = 12;
  row.resent_per_s = 0.25;
  Picture job = picture({row, waiting(1, "acp_sync", 0, 2), computing(2)});
  job.end = "rank 2 failed";
  return job;
}

std::string why_refused(const std::string& text) {
  const auto read = picture_from_json(text);
  const auto* bad = std::get_if<BadJson>(&read);
  return bad == nullptr ? "" : bad->why;
}

std::set<std::string> members_of(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items())
    names.insert(name);
  return names;
}

}  // namespace

TEST_CASE("acp_top: JSON comes out as it went in", "[top]") {
  const auto read = picture_from_json(json_of(job()));
  REQUIRE(std::holds_alternative<Picture>(read));
  CHECK(std::get<Picture>(read) == job());
}

TEST_CASE("acp_top: JSON has the members of the schema", "[top]") {
  const json document = json::parse(json_of(job()));
  CHECK(members_of(document) ==
        std::set<std::string>{"schema", "acprun", "job_ranks", "hosts",
                              "program", "age_s", "end", "circles", "findings",
                              "ranks"});
  CHECK(document["schema"] == kJsonSchema);
  CHECK(document["circles"] == json::parse("[[0, 1]]"));
  CHECK(document["ranks"][0]["waited_s"] == 9.5);
  CHECK(document["ranks"][2]["peer"].is_null());
  std::set<std::string> names;
  for (const Column& column : columns())
    names.emplace(column.name);
  CHECK(members_of(document["ranks"][1]) == names);
}

TEST_CASE("acp_top: the page has every member and every state", "[top]") {
  std::ifstream file(OBSERVABILITY_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const json document = json::parse(json_of(job()));
  for (const std::string& name : members_of(document)) {
    INFO(name);
    CHECK(page.find("| `" + name + "` |") != std::string::npos);
  }
  for (const Column& column : columns()) {
    INFO(column.name);
    CHECK(page.find("| `" + std::string(column.name) + "` |") !=
          std::string::npos);
  }
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto name = std::string(name_of(static_cast<State>(i)));
    INFO(name);
    CHECK(page.find("| " + name + " |") != std::string::npos);
  }
}

TEST_CASE("acp_top: JSON of another kind is refused with the reason", "[top]") {
  CHECK(why_refused("{") == "it is not JSON");
  CHECK(why_refused("[]") == "member 'schema' is missing, or not of its type");
  json document = json::parse(json_of(job()));
  document["schema"] = 2;
  CHECK(why_refused(document.dump()) ==
        "it has schema 2, and this acp_top reads 1");
  document["schema"] = 1;
  document["ranks"][1].erase("state");
  CHECK(why_refused(document.dump()) ==
        "element 1 of 'ranks': member 'state' is missing, or not of its type");
  document["ranks"] = 3;
  CHECK(why_refused(document.dump()) ==
        "member 'ranks' is missing, or not of its type");
}

TEST_CASE("acp_top: texts of a file command no terminal", "[top]") {
  json document = json::parse(json_of(job()));
  document["ranks"][0]["call"] = "\x1b[2J";
  const auto read = picture_from_json(document.dump());
  REQUIRE(std::holds_alternative<Picture>(read));
  CHECK(std::get<Picture>(read).rows[0].call == "\\x1b[2J");
}

}  // namespace acp::top
