// Tests acprun's options: defaults, values, and their order of precedence.
#include "launcher/options.h"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/acprun_options.h"

namespace acp::launcher {

namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

OrExit<Options> parse_line(const Words& words,
                           const Variables& variables = {}) {
  return parse_options(acprun_options(), words, [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Options parse_good_line(const Words& words, const Variables& variables = {}) {
  auto result = parse_line(words, variables);
  if (const auto* exit = std::get_if<EarlyExit>(&result)) FAIL(exit->text);
  return std::get<Options>(result);
}

}  // namespace

TEST_CASE("options: defaults", "[launcher][options]") {
  const Options options = parse_good_line({"prog"});
  CHECK(options.procs == 0);
  CHECK(options.reads_stdin);
  CHECK(options.timeout == milliseconds(0));
  CHECK(options.grace == milliseconds(5000));
  CHECK(options.init_timeout == milliseconds(60'000));
  CHECK(options.binding == Binding::kAuto);
  CHECK(options.command == Words{"prog"});
  CHECK(options.setting_variables.empty());
}

// Each option is given once. The word behind the program looks like an option,
// and belongs to the program.
TEST_CASE("options: every option of ours", "[launcher][options]") {
  const Options options = parse_good_line({"-np",
                                           "4",
                                           "--host",
                                           "localhost",
                                           "--rsh",
                                           "ssh -q",
                                           "--wdir",
                                           "/tmp",
                                           "--env",
                                           "A=1",
                                           "--env",
                                           "B=2",
                                           "--bind",
                                           "core",
                                           "--report-bindings",
                                           "--oversubscribe",
                                           "--tag",
                                           "--output-dir",
                                           "out",
                                           "--stdin",
                                           "none",
                                           "--timeout",
                                           "1.5",
                                           "--grace=0.25",
                                           "--watchdog",
                                           "7",
                                           "--wrap",
                                           "gdb --args",
                                           "--wrap-ranks",
                                           "1,3",
                                           "--dry-run",
                                           "-v",
                                           "prog",
                                           "--tag"});
  CHECK(options.procs == 4);
  CHECK(options.hosts == "localhost");
  CHECK(options.rsh == Words{"ssh", "-q"});
  CHECK(options.directory == "/tmp");
  CHECK(options.environment == Words{"A=1", "B=2"});
  CHECK(options.binding == Binding::kCore);
  CHECK(options.report_bindings);
  CHECK(options.oversubscribe);
  CHECK(options.tag);
  CHECK(options.output_dir == "out");
  CHECK_FALSE(options.reads_stdin);
  CHECK(options.timeout == milliseconds(1500));
  CHECK(options.grace == milliseconds(250));
  CHECK(options.watchdog == milliseconds(7000));
  CHECK(options.wrap == Words{"gdb", "--args"});
  REQUIRE(options.wrap_ranks.has_value());
  CHECK(options.wrap_ranks->contains(3));
  CHECK_FALSE(options.wrap_ranks->contains(2));
  CHECK(options.dry_run);
  CHECK(options.verbose);
  CHECK(options.command == Words{"prog", "--tag"});
}

TEST_CASE("options: an option beats the environment", "[launcher][options]") {
  const Options options =
      parse_good_line({"--acp-startermemsize=8K", "prog"},
                      {{"ACP_STARTER_MEMORY", "4096"}, {"ACP_NET", "udp"}});
  CHECK(options.settings.number(SettingId::kStarterMemory) == 8192);
  CHECK(options.settings.text(SettingId::kNet) == "udp");
  CHECK(options.setting_variables == Words{"ACP_STARTER_MEMORY=8K"});
}

TEST_CASE("options: --stats makes ranks count", "[launcher][options]") {
  Options options = parse_good_line({"--stats", "prog"});
  CHECK(options.stats);
  CHECK(options.stats_file.empty());
  CHECK(options.settings.number(SettingId::kCounters) == 1);
  CHECK(options.setting_variables == Words{"ACP_COUNTERS=1"});
  CHECK(options.command == Words{"prog"});

  options = parse_good_line({"--stats=json:a=b", "--stats", "prog", "--stats"},
                            {{"ACP_COUNTERS", "0"}});
  CHECK(options.stats);
  CHECK(options.stats_file == "a=b");
  CHECK(options.setting_variables == Words{"ACP_COUNTERS=1"});
  CHECK(options.command == Words{"prog", "--stats"});
  CHECK_FALSE(parse_good_line({"--stats=json:f", "prog"}).stats);

  options = parse_good_line({"--report", "page.html", "prog"});
  CHECK(options.report_page == "page.html");
  CHECK_FALSE(options.stats);
  CHECK(options.setting_variables == Words{"ACP_COUNTERS=1"});

  for (const char* bad : {"--stats=f", "--stats=json:", "--stats=table"}) {
    const auto exit = std::get<EarlyExit>(parse_line({bad, "prog"}));
    CHECK(exit.text.find("must be json:FILE, or without a value") !=
          std::string::npos);
  }
}

TEST_CASE("options: --env reaches our own settings, too",
          "[launcher][options]") {
  const Options options =
      parse_good_line({"--env", "ACP_STARTER_MEMORY=1M", "prog"});
  CHECK(options.settings.number(SettingId::kStarterMemory) == 1 << 20);
}

TEST_CASE("options: old scripts cannot make the heap smaller",
          "[launcher][options]") {
  const auto bytes = [](const std::string& value) {
    return parse_good_line({"-startermemsize-dl", value, "prog"})
        .settings.number(SettingId::kHeapSize);
  };
  CHECK(bytes("10240") == 1 << 30);
  CHECK(bytes("4G") == std::uint64_t{4} << 30);
}

TEST_CASE("options: networks and numbers of older scripts",
          "[launcher][options]") {
  const Options options =
      parse_good_line({"--acp-np=3", "-ndev", "UDP", "-smemsize-dl", "4G",
                       "-rsh", "rsh -x", "--acp-machinefile", "hosts", "prog"});
  CHECK(options.procs == 3);
  CHECK(options.settings.text(SettingId::kNet) == "udp");
  CHECK(options.settings.number(SettingId::kHeapSize) == std::uint64_t{4}
                                                             << 30);
  CHECK(options.rsh == Words{"rsh", "-x"});
  CHECK(options.nodefile == "hosts");
  // Ranks get the name that the library has.
  CHECK(options.setting_variables == Words{"ACP_NET=udp", "ACP_HEAP_SIZE=4G"});
}

TEST_CASE("options: the command of --wrap is split like a shell does",
          "[launcher][options]") {
  CHECK(split_command("a  b\tc") == Words{"a", "b", "c"});
  CHECK(split_command("a 'b  c' \"d \\\" e\" f\\ g ''") ==
        Words{"a", "b  c", "d \" e", "f g", ""});
  CHECK(split_command("") == Words{});
  CHECK_FALSE(split_command("a 'b").has_value());
}

TEST_CASE("options: lists of ranks", "[launcher][options]") {
  const auto set = RankSet::parse("0,2-4,9");
  REQUIRE(set.has_value());
  for (const std::uint32_t rank : {0U, 2U, 3U, 4U, 9U}) {
    CHECK(set->contains(rank));
  }
  for (const std::uint32_t rank : {1U, 5U, 8U, 10U}) {
    CHECK_FALSE(set->contains(rank));
  }
  for (const char* text : {"", ",", "1,", "a", "3-1", "1-", "-1", "1 2"}) {
    INFO(text);
    CHECK_FALSE(RankSet::parse(text).has_value());
  }
}

}  // namespace acp::launcher
