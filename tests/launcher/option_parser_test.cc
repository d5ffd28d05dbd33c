// Tests which words of a command line are options, and which are the command.
#include "launcher/option_parser.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/acprun_options.h"

namespace acp::launcher {

namespace {

using Words = std::vector<std::string>;

OrExit<ParsedWords> parse(const Words& words) {
  return parse_words(acprun_options(), words);
}

ParsedWords parse_well(const Words& words) {
  auto result = parse(words);
  if (const auto* exit = std::get_if<EarlyExit>(&result)) FAIL(exit->text);
  return std::get<ParsedWords>(result);
}

std::string names(const ParsedWords& words) {
  std::string text;
  for (const GivenOption& given : words.options) {
    text += std::string(given.row->name) + "=" + given.value + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("option parser: the command begins at the first word that is none",
          "[launcher][options]") {
  const ParsedWords words = parse_well(
      {"-np", "2", "--tag", "--wdir", "/tmp", "prog", "-np", "3", "--tag"});
  CHECK(names(words) == "--acp-nprocs=2 --tag= --wdir=/tmp ");
  CHECK(words.command == Words{"prog", "-np", "3", "--tag"});
}

TEST_CASE("option parser: --acp- words are taken behind the program, too",
          "[launcher][options]") {
  const ParsedWords words =
      parse_well({"-np", "2", "prog", "a", "--acp-envnet=udp", "b",
                  "--acp-startermemsize", "4K", "--", "--acp-mine", "c"});
  CHECK(names(words) ==
        "--acp-nprocs=2 --acp-envnet=udp --acp-startermemsize=4K ");
  CHECK(words.command == Words{"prog", "a", "b", "--", "--acp-mine", "c"});
}

TEST_CASE("option parser: behind a leading -- everything is the program's",
          "[launcher][options]") {
  const ParsedWords words =
      parse_well({"-np", "2", "--", "-prog", "--acp-mine"});
  CHECK(words.command == Words{"-prog", "--acp-mine"});
}

// Scripts that were written for the first implementation of ACP run unchanged.
TEST_CASE("option parser: spellings of older scripts", "[launcher][options]") {
  const ParsedWords words = parse_well({"-n",
                                        "2",
                                        "-nodefile",
                                        "a",
                                        "-machinefile",
                                        "b",
                                        "-net",
                                        "udp",
                                        "-envnet",
                                        "shm",
                                        "--acp-envent=auto",
                                        "-smemsize",
                                        "1",
                                        "-startermemsize",
                                        "2",
                                        "-startermemsize-dl",
                                        "3",
                                        "-host",
                                        "h",
                                        "prog"});
  CHECK(names(words) ==
        "--acp-nprocs=2 --acp-nodefile=a --acp-nodefile=b --acp-envnet=udp "
        "--acp-envnet=shm --acp-envnet=auto --acp-startermemsize=1 "
        "--acp-startermemsize=2 --acp-startermemsize-dl=3 --host=h ");
}

TEST_CASE("option parser: more spellings of older scripts",
          "[launcher][options]") {
  const ParsedWords words = parse_well(
      {"--acp-np", "2", "--acp-machinefile=a", "-ndev", "UDP", "-smemsize-dl",
       "1", "-smemsize-cl", "2", "-startermemsize-cl", "3", "-rsh", "rsh",
       "prog", "--acp-net=INFINIBAND", "--acp-startermemsize-cl", "4"});
  CHECK(names(words) ==
        "--acp-nprocs=2 --acp-nodefile=a --acp-envnet=UDP "
        "--acp-startermemsize-dl=1 --acp-startermemsize-cl=2 "
        "--acp-startermemsize-cl=3 --rsh=rsh --acp-envnet=INFINIBAND "
        "--acp-startermemsize-cl=4 ");
  CHECK(words.command == Words{"prog"});
}

TEST_CASE("option parser: an unknown --acp- word is refused with a hint",
          "[launcher][options]") {
  for (const Words& words :
       {Words{"--acp-nproc=2", "prog"}, Words{"prog", "--acp-nproc=2"}}) {
    const auto result = parse(words);
    REQUIRE(std::holds_alternative<EarlyExit>(result));
    const auto& exit = std::get<EarlyExit>(result);
    CHECK(exit.status == 125);
    CHECK(exit.text.find("--acp-nprocs") != std::string::npos);
  }
}

TEST_CASE("option parser: an option without its value is refused",
          "[launcher][options]") {
  for (const Words& words :
       {Words{"-np"}, Words{"--wdir"}, Words{"prog", "--acp-envnet"}}) {
    CHECK(std::holds_alternative<EarlyExit>(parse(words)));
  }
}

TEST_CASE("option parser: what may not be given twice is refused with both",
          "[launcher][options]") {
  const auto result = parse({"--timeout", "1", "--timeout=2", "prog"});
  REQUIRE(std::holds_alternative<EarlyExit>(result));
  CHECK(std::get<EarlyExit>(result).text ==
        "--timeout is given twice, as 1 and 2");
  parse_well({"--tag", "--tag", "--env=A=1", "--env=B=2", "prog"});
}

TEST_CASE("option parser: a flag takes no value", "[launcher][options]") {
  const auto result = parse({"--tag=1", "prog"});
  REQUIRE(std::holds_alternative<EarlyExit>(result));
  CHECK(std::get<EarlyExit>(result).text == "--tag takes no value");
}

TEST_CASE("option parser: an option may need another", "[launcher][options]") {
  Options options;
  const auto exit =
      take_values(parse_well({"--wrap-ranks", "0,2-3", "prog"}), options);
  REQUIRE(exit.has_value());
  CHECK(exit->text ==
        "--wrap-ranks=0,2-3: must be a list like 0,2-3, and needs --wrap");
}

}  // namespace acp::launcher
