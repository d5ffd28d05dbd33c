#include "launcher/option_words.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

OrExit<SplitWords> split(const std::vector<std::string>& words) {
  return split_words(words, [](std::string_view name) {
    return name == "--host" || name == "--wdir";
  });
}

SplitWords split_well(const std::vector<std::string>& words) {
  auto result = split(words);
  REQUIRE(std::holds_alternative<SplitWords>(result));
  return std::get<SplitWords>(result);
}

std::string names(const SplitWords& words) {
  std::string text;
  for (const AcpWord& word : words.acp) {
    text += word.name + "=" + word.value + " ";
  }
  return text;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("option words: the command begins at the first word that is none",
          "[launcher][options]") {
  const SplitWords words = split_well(
      {"-np", "2", "--tag", "--wdir", "/tmp", "prog", "-np", "3", "--tag"});
  CHECK(names(words) == "--acp-nprocs=2 ");
  CHECK(words.own == Words{"--tag", "--wdir=/tmp"});
  CHECK(words.command == Words{"prog", "-np", "3", "--tag"});
}

TEST_CASE("option words: --acp- words are taken behind the program, too",
          "[launcher][options]") {
  const SplitWords words =
      split_well({"-np", "2", "prog", "a", "--acp-envnet=udp", "b",
                  "--acp-startermemsize", "4K", "--", "--acp-mine", "c"});
  CHECK(names(words) ==
        "--acp-nprocs=2 --acp-envnet=udp --acp-startermemsize=4K ");
  CHECK(words.command == Words{"prog", "a", "b", "--", "--acp-mine", "c"});
}

TEST_CASE("option words: behind a leading -- everything is the program's",
          "[launcher][options]") {
  const SplitWords words =
      split_well({"-np", "2", "--", "-prog", "--acp-mine"});
  CHECK(words.command == Words{"-prog", "--acp-mine"});
}

TEST_CASE("option words: spellings of older scripts", "[launcher][options]") {
  const SplitWords words =
      split_well({"-n", "2", "-nodefile", "a", "-machinefile", "b", "-net",
                  "udp", "-envnet", "shm", "-smemsize", "1", "-startermemsize",
                  "2", "-startermemsize-dl", "3", "-host", "h", "prog"});
  CHECK(names(words) ==
        "--acp-nprocs=2 --acp-nodefile=a --acp-nodefile=b --acp-envnet=udp "
        "--acp-envnet=shm --acp-startermemsize=1 --acp-startermemsize=2 "
        "--acp-startermemsize-dl=3 ");
  CHECK(words.own == Words{"--host=h"});
}

TEST_CASE("option words: an unknown --acp- word is refused with a hint",
          "[launcher][options]") {
  for (const Words& words :
       {Words{"--acp-nproc=2", "prog"}, Words{"prog", "--acp-nproc=2"}}) {
    const auto result = split(words);
    REQUIRE(std::holds_alternative<EarlyExit>(result));
    const auto& exit = std::get<EarlyExit>(result);
    CHECK(exit.status == 125);
    CHECK(exit.text.find("--acp-nprocs") != std::string::npos);
  }
}

TEST_CASE("option words: an option without its value is refused",
          "[launcher][options]") {
  for (const Words& words :
       {Words{"-np"}, Words{"--wdir"}, Words{"prog", "--acp-envnet"}}) {
    CHECK(std::holds_alternative<EarlyExit>(split(words)));
  }
}

}  // namespace acp::launcher
