// Makes Options of acprun's or macprun's command line and environment: parses
// by the table, takes the values, then makes the checks that need several
// options. Called by their main functions. It ends no process: main prints the
// error.
#include "launcher/options.h"

#include <fmt/core.h>

#include "base/log.h"
#include "launcher/option_pages.h"
#include "launcher/option_parser.h"
#include "settings/networks.h"

namespace acp::launcher {

namespace {

/// Settings that --env gives to the ranks count for acprun as well, because it
/// makes the host segment by them. The ranks get --env after the settings that
/// are options, so --env wins here, too.
std::optional<EarlyExit> follow_environment(Options& options) {
  for (const std::string& entry : options.environment) {
    const std::size_t equals = entry.find('=');
    const SettingId id =
        setting_named(std::string_view{entry}.substr(0, equals));
    if (id != SettingId::kCount &&
        options.settings.set(id, entry.substr(equals + 1),
                             SettingSource::kEnvironment) != Status::kOk) {
      return launcher_error("");
    }
  }
  return std::nullopt;
}

/// The network may come from the environment, so no row can check it.
std::optional<EarlyExit> check_net(const Settings& settings) {
  const std::string& net = settings.text(SettingId::kNet);
  if (is_network_built_in(net)) {
    return std::nullopt;
  }
  return launcher_error(
      fmt::format("network '{}' is not built in; this build has {}", net,
                  networks_built_in()));
}

bool is_number(std::string_view word) {
  return !word.empty() &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "acprun ./ring -np 2" starts one rank, and the program gets the option. That
/// may be meant: there are programs with such an option. So this is a warning,
/// and none where the number of ranks is given or a "--" stands in front.
void warn_of_late_count(const OptionTable& table, const ParsedWords& given) {
  if (find_row(table, "-np") == nullptr || given.has("--acp-nprocs")) {
    return;
  }
  for (std::size_t i = 1; i + 1 < given.plain_words; ++i) {
    if (given.command[i] == "-np" && is_number(given.command[i + 1])) {
      log_warning(
          "-np {0} stands behind {1}, so {1} gets it: to start {0} ranks, "
          "write {2} -np {0} {1}; a -- before {1} says that it is meant",
          given.command[i + 1], given.command[0], table.program);
    }
  }
}

}  // namespace

/// --help and --version come before all values, so that they work with a bad
/// environment, too.
OrExit<Options> parse_options(const OptionTable& table,
                              std::span<const std::string> words,
                              const Settings::Lookup& lookup) {
  auto parsed = parse_words(table, words);
  if (auto* exit = std::get_if<EarlyExit>(&parsed)) {
    return std::move(*exit);
  }
  auto& given = std::get<ParsedWords>(parsed);
  if (given.has("--help")) return EarlyExit{0, help_text(table)};
  if (given.has("--version")) {
    return EarlyExit{0,
                     fmt::format("{} (ACP) " ACP_VERSION "\n", table.program)};
  }
  Result<Settings> settings = Settings::from_environment(lookup);
  if (!settings.ok()) {
    return launcher_error("");
  }
  Options options;
  options.settings = std::move(*settings);
  if (auto exit = take_values(given, options)) return std::move(*exit);
  if (auto exit = follow_environment(options)) return std::move(*exit);
  if (auto exit = check_net(options.settings)) return std::move(*exit);
  if (given.command.empty()) {
    return launcher_error(fmt::format("no {} given; {} {}", table.operand,
                                      table.program, table.arguments));
  }
  warn_of_late_count(table, given);
  options.command = std::move(given.command);
  return options;
}

}  // namespace acp::launcher
