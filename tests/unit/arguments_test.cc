// The options --acp-...: they are taken out of the command line of a program.
#include "runtime/arguments.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

/// A command line in the form that main() gets.
class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> words)
      : words_(std::move(words)) {
    for (std::string& word : words_) {
      pointers_.push_back(word.data());
    }
    pointers_.push_back(nullptr);
    argc = static_cast<int>(words_.size());
    argv = pointers_.data();
  }

  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  std::vector<std::string> now() const {
    std::vector<std::string> words(argv, argv + argc);
    CHECK(argv[argc] == nullptr);
    return words;
  }

  int argc = 0;
  char** argv = nullptr;

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("arguments: known options are taken out, the rest stays in order",
          "[runtime][arguments]") {
  CommandLine line({"program", "one", "--acp-startermemsize=1M", "--two",
                    "--acp-envnet=udp", "three"});
  Settings settings;
  REQUIRE(take_arguments(&line.argc, &line.argv, settings) == Status::kOk);
  CHECK(line.now() == Words{"program", "one", "--two", "three"});
  CHECK(settings.number(SettingId::kStarterMemory) == 1 << 20);
  CHECK(settings.text(SettingId::kNet) == "udp");
  CHECK(settings.source(SettingId::kNet) == SettingSource::kOption);
  CHECK(settings.source(SettingId::kLog) == SettingSource::kDefault);
}

TEST_CASE("arguments: the last of several counts", "[runtime][arguments]") {
  CommandLine line({"program", "--acp-envnet=udp", "--acp-envnet=auto"});
  Settings settings;
  REQUIRE(take_arguments(&line.argc, &line.argv, settings) == Status::kOk);
  CHECK(line.now() == Words{"program"});
  CHECK(settings.text(SettingId::kNet) == "auto");
}

TEST_CASE("arguments: two dashes end them", "[runtime][arguments]") {
  const Words words = {"program", "--", "--acp-envnet=udp", "--acp-nothing"};
  CommandLine line(words);
  Settings settings;
  REQUIRE(take_arguments(&line.argc, &line.argv, settings) == Status::kOk);
  CHECK(line.now() == words);
  CHECK(settings.text(SettingId::kNet) == "auto");
}

TEST_CASE("arguments: an unknown or bad one is refused, nothing is removed",
          "[runtime][arguments]") {
  for (const char* bad :
       {"--acp-nothing=1", "--acp-envnte=udp", "--acp-envnet",
        "--acp-envnet=token-ring", "--acp-startermemsize=many",
        "--acp-startermemsize=", "--acp-", "--acp-=1"}) {
    const Words words = {"program", "--acp-envnet=udp", "x", bad, "y"};
    CommandLine line(words);
    Settings settings;
    INFO(bad);
    CHECK(take_arguments(&line.argc, &line.argv, settings) ==
          Status::kBadOption);
    CHECK(line.now() == words);
  }
}

TEST_CASE("arguments: the program's name is not an option",
          "[runtime][arguments]") {
  CommandLine line({"--acp-nothing"});
  Settings settings;
  CHECK(take_arguments(&line.argc, &line.argv, settings) == Status::kOk);
  CHECK(line.now() == Words{"--acp-nothing"});
}

TEST_CASE("arguments: none at all", "[runtime][arguments]") {
  Settings settings;
  CHECK(take_arguments(nullptr, nullptr, settings) == Status::kOk);
  int argc = 0;
  char** argv = nullptr;
  CHECK(take_arguments(&argc, nullptr, settings) == Status::kInvalidArgument);
  CHECK(take_arguments(&argc, &argv, settings) == Status::kOk);
  CommandLine line({});
  CHECK(take_arguments(&line.argc, &line.argv, settings) == Status::kOk);
  CHECK(line.now().empty());
}

}  // namespace acp::runtime
