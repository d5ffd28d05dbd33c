// Makes Options of acprun's command line and environment: parses by the table,
// takes the values, then makes the checks that need several options.
#include "launcher/options.h"

#include <fmt/format.h>

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
  options.command = std::move(given.command);
  return options;
}

}  // namespace acp::launcher
