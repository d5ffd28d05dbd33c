// Tests the parsing of node files.
#include "launcher/nodefile.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/host_facts.h"
#include "launcher/this_host.h"

namespace acp::launcher {

namespace {

std::vector<Node> parse_nodes(std::string_view text) {
  auto parsed = parse_nodefile(text);
  REQUIRE(std::holds_alternative<std::vector<Node>>(parsed));
  return std::get<std::vector<Node>>(parsed);
}

std::size_t bad_line(std::string_view text) {
  const auto parsed = parse_nodefile(text);
  REQUIRE(std::holds_alternative<NodefileError>(parsed));
  return std::get<NodefileError>(parsed).line;
}

}  // namespace

TEST_CASE("node file: one host a line", "[launcher][nodefile]") {
  CHECK(parse_nodes("pc01\npc01\npc02\npc02") ==
        std::vector<Node>{
            {"pc01", 1, 1}, {"pc01", 1, 2}, {"pc02", 1, 3}, {"pc02", 1, 4}});
}

TEST_CASE("node file: counts, comments, blanks", "[launcher][nodefile]") {
  CHECK(parse_nodes("# all\n\n  pc01:3  # three\r\npc02 slots=4\n\tpc03\t\n") ==
        std::vector<Node>{
            {"pc01", 3, 3, true}, {"pc02", 4, 4, true}, {"pc03", 1, 5}});
}

TEST_CASE("node file: addresses with colons", "[launcher][nodefile]") {
  CHECK(parse_nodes("::1\n[::1]:2\n[fe80::1]\n127.0.0.1:2") ==
        std::vector<Node>{{"::1", 1, 1},
                          {"::1", 2, 2, true},
                          {"fe80::1", 1, 3},
                          {"127.0.0.1", 2, 4, true}});
}

TEST_CASE("node file: what makes no sense is named by its line",
          "[launcher][nodefile]") {
  CHECK(bad_line("a\nb:\n") == 2);
  CHECK(bad_line("a:0") == 1);
  CHECK(bad_line("a:1048576") == 1);
  CHECK(bad_line("a:-1") == 1);
  CHECK(bad_line("a:2x") == 1);
  CHECK(bad_line(":2") == 1);
  CHECK(bad_line("\n\na slots=") == 3);
  CHECK(bad_line("a slots=2 more") == 1);
  CHECK(bad_line("a:2 slots=2") == 1);
  CHECK(bad_line("a b") == 1);
  CHECK(bad_line("[::1:2") == 1);
  CHECK(bad_line("[::1]x") == 1);
}

TEST_CASE(
    "node file: a host that a remote shell takes for an option is refused",
    "[launcher][nodefile]") {
  for (const char* line : {"-oProxyCommand=x", "  -p:2", "[-p]:2", "-"}) {
    INFO(line);
    CHECK(bad_line(std::string("a\n") + line) == 2);
  }
  CHECK(parse_nodes("a-b\nuser@a-") ==
        std::vector<Node>{{"a-b", 1, 1}, {"user@a-", 1, 2}});
}

TEST_CASE("node file: counts add up to the largest job",
          "[launcher][nodefile]") {
  CHECK(capacity_of(parse_nodes("")) == 0);
  CHECK(capacity_of(parse_nodes("a\nb:2\nc slots=3")) == 6);
  CHECK(capacity_of(parse_nodes("a:1048575\nb:1048575")) == kMaxRanks);
}

TEST_CASE("this host: its names and no others", "[launcher][nodefile]") {
  for (const std::string& name :
       {std::string("localhost"), std::string("LOCALHOST"),
        std::string("127.0.0.1"), std::string("127.1.2.3"), std::string("::1"),
        host_name()}) {
    INFO(name);
    CHECK(is_this_host(name));
  }
  for (const std::string& name :
       {std::string("elsewhere.invalid"), std::string("192.0.2.1"),
        std::string("2001:db8::1"), host_name() + "x",
        host_name() + ".elsewhere.invalid", std::string()}) {
    INFO(name);
    CHECK_FALSE(is_this_host(name));
  }
}

}  // namespace acp::launcher
