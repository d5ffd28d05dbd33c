// The table of options: that acprun's rows are whole, and that another launcher
// can have a table of its own.
#include "launcher/option_table.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "launcher/acprun_options.h"
#include "launcher/man_page.h"
#include "launcher/option_pages.h"
#include "launcher/option_parser.h"
#include "settings/networks.h"

namespace acp::launcher {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

// Help, completion and manual are made from the rows. So each row has to have
// all texts, no name may stand in two rows, and a named option has to exist.
TEST_CASE("option table: every row of acprun is whole", "[launcher][options]") {
  std::set<std::string_view> names;
  for (const OptionRow& row : acprun_options().rows) {
    INFO(row.name);
    auto all = split_text(row.old_names, ' ');
    all.push_back(row.name);
    if (!row.short_name.empty()) all.push_back(row.short_name);
    for (const std::string_view name : all) {
      CHECK(name.starts_with('-'));
      CHECK(names.insert(name).second);
      CHECK(find_row(acprun_options(), name) == &row);
    }
    CHECK(row.argument.empty() == (row.kind == OptionKind::kFlag));
    CHECK(choices_of(row).empty() == (row.kind != OptionKind::kChoice));
    CHECK_FALSE(row.summary.empty());
    CHECK_FALSE(row.summary.ends_with('.'));
    CHECK(row.manual.ends_with('.'));
    CHECK((row.needs.empty() ||
           find_row(acprun_options(), row.needs) != nullptr));
  }
  CHECK(find_row(acprun_options(), "") == nullptr);
}

TEST_CASE("option table: settings with an option have a row, and its default",
          "[launcher][options]") {
  for (std::size_t i = 0; i < settings_table().size(); ++i) {
    const Setting& setting = settings_table()[i];
    if (setting.option.empty()) continue;
    INFO(setting.option);
    const OptionRow* row = find_row(acprun_options(), setting.option);
    REQUIRE(row != nullptr);
    CHECK(std::get<SettingId>(row->target) == static_cast<SettingId>(i));
    CHECK((row->default_value.empty() ||
           row->default_value == setting.default_value));
  }
}

TEST_CASE("option table: every choice of acprun's own is taken",
          "[launcher][options]") {
  for (const OptionRow& row : acprun_options().rows) {
    for (const std::string_view choice : split_text(row.choices, '|')) {
      INFO(row.name << " " << choice);
      ParsedWords parsed;
      parsed.options.push_back({&row, std::string(choice)});
      Options options;
      CHECK_FALSE(take_values(parsed, options).has_value());
    }
  }
}

TEST_CASE("option table: only networks of this build are offered",
          "[launcher][options]") {
  const auto nets = choices_of(*find_row(acprun_options(), "--acp-envnet"));
  CHECK(join_words(nets, "and") == networks_built_in());
}

TEST_CASE("option pages: --help fits a terminal", "[launcher][options]") {
  const std::string help = help_text(acprun_options());
  for (const std::string_view line : split_text(help, '\n')) {
    CHECK(line.size() < 80);
  }
}

// The table has a row of acprun and a row of its own. Parser, help and
// completion may not know the other rows of acprun.
TEST_CASE("option table: another launcher has rows of its own",
          "[launcher][options]") {
  const OptionRow* shared = find_row(acprun_options(), "--acp-nprocs");
  const OptionRow rows[] = {
      *shared,
      {.name = "--host-env",
       .kind = OptionKind::kAssignment,
       .repeat = OptionRepeat::kAllowed,
       .argument = "HOST=VALUE",
       .summary = "A value for each host",
       .target = &Options::environment},
  };
  const OptionTable table{"macprun", "[-np N] inputfile", rows};
  const std::vector<std::string> words = {
      "-np", "3", "--host-env", "a=1", "--host-env", "b=2", "inputfile"};
  auto parsed = parse_words(table, words);
  REQUIRE(std::holds_alternative<ParsedWords>(parsed));
  Options options;
  CHECK_FALSE(take_values(std::get<ParsedWords>(parsed), options).has_value());
  CHECK(options.procs == 3);
  CHECK(options.environment == std::vector<std::string>{"a=1", "b=2"});

  const std::vector<std::string> unknown = {"--tag", "inputfile"};
  parsed = parse_words(table, unknown);
  REQUIRE(std::holds_alternative<EarlyExit>(parsed));
  CHECK(contains(std::get<EarlyExit>(parsed).text, "macprun --help"));
  CHECK(contains(help_text(table), "--host-env=HOST=VALUE"));
  CHECK(contains(bash_completion(table), "complete -F _macprun macprun\n"));
  CHECK_FALSE(contains(bash_completion(table), "--bind"));
}

TEST_CASE("man page: each kind of text", "[launcher][options]") {
  CHECK(man_page("# a_b(1)\n\n## Name\n\na_b - does\n", "1.2") ==
        ".TH A_B 1 \"\" \"ACP 1.2\" \"ACP\"\n.SH NAME\na_b \\- does\n");
  CHECK(man_page("## S\n\nOne\n`two`.\n\n.three\n", "") ==
        ".SH S\nOne\n\\fBtwo\\fR.\n.PP\n\\&.three\n");
  CHECK(man_page("## S\n\n`-a`, [b](c.md)\n: d\n  e\n\nf\n", "") ==
        ".SH S\n.TP\n\\fB\\-a\\fR, b\nd\ne\n.PP\nf\n");
  CHECK(man_page("## S\n\n    a\n\n    b\\n\n\nc\n- d\n", "") ==
        ".SH S\n.RS 4\n.nf\na\n\nb\\en\n.fi\n.RE\n.PP\nc\n.IP \\(bu 2\nd\n");
}

TEST_CASE("man page: a table becomes definitions", "[launcher][options]") {
  CHECK(man_page("a\n\n| t | u |\n|---|---|\n| b | c d |\n\ne\n", "") ==
        "a\n.RS\n.TP\nb\nc d\n.RE\n.PP\ne\n");
}

TEST_CASE("man page: brackets of code and of synopses stay",
          "[launcher][options]") {
  CHECK(man_page("a [B] `[c](d)` e\n", "") == "a [B] \\fB[c](d)\\fR e\n");
}

}  // namespace acp::launcher
