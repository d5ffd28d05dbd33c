// Tests the parser of macprun's input file.
#include "launcher/macprun_file.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using Words = std::vector<std::string>;

std::vector<MacprunLine> parse_well(std::string_view text) {
  auto result = parse_macprun_file(text);
  if (const auto* wrong = std::get_if<MacprunFileError>(&result)) {
    FAIL("line " << wrong->line << ": " << wrong->text);
  }
  return std::get<std::vector<MacprunLine>>(result);
}

MacprunFileError parse_badly(std::string_view text) {
  auto result = parse_macprun_file(text);
  REQUIRE(std::holds_alternative<MacprunFileError>(result));
  return std::get<MacprunFileError>(result);
}

bool says(const MacprunFileError& error, std::string_view part) {
  return error.text.find(part) != std::string::npos;
}

}  // namespace

// The text is the example of appendix A.4, with its comments, so the lines that
// are kept show what the parser drops.
TEST_CASE("macprun file: the example of the specification", "[macprun]") {
  const auto lines = parse_well(R"(
-----
# Number of runtime environments
3
# Runtime environments
acprun -smemsize 10240          # options can be specified
mpirun                        # options can be specified
mpirun                        # options can be specified
# Number of processes
1
2
3
# Commands
./hello_world_acp            # options can be specified
./hello_world_macp          # options can be specified
./hello_world_macp          # options can be specified
-----
)");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].launcher == Words{"acprun", "-smemsize", "10240"});
  CHECK(lines[0].procs == 1);
  CHECK(lines[0].command == Words{"./hello_world_acp"});
  CHECK(lines[0].launcher_line == 6);
  CHECK(lines[0].command_line == 14);
  CHECK(lines[2].launcher == Words{"mpirun"});
  CHECK(lines[2].procs == 3);
  CHECK(lines[2].command == Words{"./hello_world_macp"});
}

TEST_CASE("macprun file: quotes, comments and line ends", "[macprun]") {
  const auto lines = parse_well(
      "1\r\nmpirun -x 'A=b c' \\# # all of it\r\n4\r\n"
      "./prog#1 \"a # b\" '' c\\ d");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].launcher == Words{"mpirun", "-x", "A=b c", "#"});
  CHECK(lines[0].procs == 4);
  CHECK(lines[0].command == Words{"./prog#1", "a # b", "", "c d"});
}

TEST_CASE("macprun file: each error names the line and what to write",
          "[macprun]") {
  auto error = parse_badly("");
  CHECK(error.line == 0);
  CHECK(says(error, "number of runtime environments"));

  error = parse_badly("two\n");
  CHECK(error.line == 1);
  CHECK(says(error, "'two'"));
  CHECK(says(error, "number of runtime environments"));

  for (const char* number : {"0", "-1", "1.5", "65537", "1 2"}) {
    CHECK(parse_badly(std::string(number) + "\nacprun\n1\n./a\n").line == 1);
  }

  error = parse_badly("9\nacprun\n1\n./a\n");
  CHECK(error.line == 1);
  CHECK(says(error, "fewer lines"));

  error = parse_badly("2\nacprun\nmpirun\n1\n");
  CHECK(error.line == 4);
  CHECK(says(error, "number of processes of runtime environment 2"));

  error = parse_badly("2\nacprun\n1\n2\n./a\n./b\n");
  CHECK(error.line == 3);
  CHECK(says(error, "'1' is a number; write runtime environment 2 of 2"));

  error = parse_badly("1\nacprun\nmpirun\n1\n./a\n");
  CHECK(error.line == 3);
  CHECK(says(error, "'mpirun'"));
  CHECK(says(error, "number of processes"));

  error = parse_badly("1\nacprun\n1\n./a\n./b\n");
  CHECK(error.line == 5);
  CHECK(says(error, "'./b'"));

  error = parse_badly("1\nacprun\n1\n./a 'b\n");
  CHECK(error.line == 4);
  CHECK(says(error, "quote"));
}

TEST_CASE("macprun file: any bytes are an error, not a crash", "[macprun]") {
  std::string text;
  std::uint32_t state = 7;
  for (int round = 0; round < 2000; ++round) {
    text = "2\nacprun a\nmpirun\n1\n2\n./a b\n./c\n";
    for (int i = 0; i < 3; ++i) {
      state = state * 1664525U + 1013904223U;
      text[(state >> 8) % text.size()] = static_cast<char>(state >> 24);
    }
    const auto result = parse_macprun_file(text);
    if (const auto* lines = std::get_if<std::vector<MacprunLine>>(&result)) {
      for (const MacprunLine& line : *lines) {
        CHECK_FALSE(line.launcher.empty());
        CHECK_FALSE(line.command.empty());
        CHECK(line.procs > 0);
      }
    }
  }
}

}  // namespace acp::launcher
