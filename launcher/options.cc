#include "launcher/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/spelling.h"
#include "launcher/acp_options.h"
#include "launcher/foreign_options.h"
#include "settings/networks.h"

#include <CLI/CLI.hpp>

namespace acp::launcher {

namespace {

EarlyExit error(std::string text) {
  return {kStatusLauncher, std::move(text)};
}

/// Texts that CLI11 fills; checked and converted afterwards.
struct RawOptions {
  std::string binding = "auto";
  std::string standard_input = "0";
  std::string timeout = "0";
  std::string grace = "5";
  std::string watchdog = "0";
  std::string init_timeout = "60";
  std::string wrap;
  std::string wrap_ranks;
  bool version = false;
};

void describe(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option("--host", options.hosts, "Hosts; only this one for now");
  app.add_option("--rsh", options.rsh,
                 "How to reach other hosts; not needed for this one");
  app.add_option("--wdir", options.directory, "Working directory of the ranks");
  app.add_option("--env", options.environment,
                 "NAME=VALUE for the ranks; may be given several times");
  app.add_option(
      "--bind", raw.binding,
      "Bind ranks: auto, none, core, numa, hwthread (default auto: to "
      "cores that no other job has taken)");
  app.add_flag("--report-bindings", options.report_bindings,
               "Print where each rank is bound");
  app.add_flag("--oversubscribe", options.oversubscribe,
               "Use a node file's lines again when it has too few");
  app.add_flag("--tag", options.tag, "Put \"[rank] \" before each output line");
  app.add_option("--output-dir", options.output_dir,
                 "Write rank.N.out and rank.N.err into this directory");
  app.add_option("--stdin", raw.standard_input,
                 "Who reads standard input: 0 or none (default 0)");
  app.add_option("--timeout", raw.timeout, "End the job after these seconds");
  app.add_option("--grace", raw.grace,
                 "Seconds between SIGTERM and SIGKILL (default 5)");
  app.add_option("--watchdog", raw.watchdog,
                 "End the job when all ranks wait for these seconds");
  app.add_option("--init-timeout", raw.init_timeout,
                 "Seconds for all ranks to reach acp_init (default 60)");
  app.add_option("--wrap", raw.wrap, "Command to put before the program");
  app.add_option("--wrap-ranks", raw.wrap_ranks,
                 "Ranks that --wrap is for, like 0,2-3 (default all)");
  app.add_flag("--dry-run", options.dry_run, "Print the plan, start nothing");
  app.add_flag("-v,--verbose", options.verbose, "Say what is being done");
  app.add_flag("--version", raw.version, "Print the version");
}

std::string usage(const CLI::App& app) {
  const std::string own = app.help();
  return "Usage: acprun [-np N] [options] program [arguments]\n\n"
         "Of the specification (before or behind the program, also as "
         "--name value):\n"
         "  -np N, --acp-nprocs=N       Number of ranks (default 1)\n"
         "  --acp-nodefile=FILE         Line i names the host of rank i\n"
         "  --acp-envnet=NET            " +
         std::string(networks_built_in()) +
         "; also --acp-envent\n"
         "  --acp-startermemsize=BYTES  Starter memory of each rank; K, M, G\n"
         "  --acp-heapsize=BYTES        Heap of each rank, for acp_malloc\n"
         "\n" +
         own.substr(std::min(own.find("Options:"), own.size()));
}

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, seconds);
  // A million seconds fit every clock that this becomes.
  if (failure != std::errc{} || rest != end || !(seconds >= 0) ||
      seconds > 1e6) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::lround(seconds * 1000.0));
}

std::optional<EarlyExit> convert_durations(const RawOptions& raw,
                                           Options& options) {
  struct Row {
    const char* name;
    const std::string& text;
    std::chrono::milliseconds& target;
  };

  for (const Row& row :
       {Row{"--timeout", raw.timeout, options.timeout},
        Row{"--grace", raw.grace, options.grace},
        Row{"--watchdog", raw.watchdog, options.watchdog},
        Row{"--init-timeout", raw.init_timeout, options.init_timeout}}) {
    const auto duration = parse_seconds(row.text);
    if (!duration) {
      return error(fmt::format("{}={}: must be seconds, like 5 or 0.5",
                               row.name, row.text));
    }
    row.target = *duration;
  }
  return std::nullopt;
}

std::optional<EarlyExit> convert_binding(const RawOptions& raw,
                                         Options& options) {
  static const std::map<std::string, Binding> bindings = {
      {"auto", Binding::kAuto},
      {"none", Binding::kNone},
      {"core", Binding::kCore},
      {"numa", Binding::kNuma},
      {"hwthread", Binding::kHwThread}};
  const auto binding = bindings.find(raw.binding);
  if (binding == bindings.end()) {
    return error(fmt::format(
        "--bind={}: must be auto, none, core, numa or hwthread", raw.binding));
  }
  options.binding = binding->second;
  return std::nullopt;
}

/// A setting given to the ranks by --env has to be ours, too: the host segment
/// is made after it.
std::optional<EarlyExit> follow_environment(std::string_view entry,
                                            std::size_t equals,
                                            Options& options) {
  const auto table = settings_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == entry.substr(0, equals) &&
        options.settings.set(static_cast<SettingId>(i),
                             entry.substr(equals + 1),
                             SettingSource::kEnvironment) != Status::kOk) {
      return error("");
    }
  }
  return std::nullopt;
}

std::optional<EarlyExit> convert(const RawOptions& raw, Options& options) {
  if (auto failure = convert_durations(raw, options)) return failure;
  if (auto failure = convert_binding(raw, options)) return failure;
  if (raw.standard_input != "0" && raw.standard_input != "none") {
    return error(
        fmt::format("--stdin={}: must be 0 or none", raw.standard_input));
  }
  options.reads_stdin = raw.standard_input == "0";
  for (const std::string& entry : options.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return error(fmt::format("--env={}: must be NAME=VALUE", entry));
    }
    if (auto failure = follow_environment(entry, equals, options)) {
      return failure;
    }
  }
  auto wrap = split_command(raw.wrap);
  if (!wrap) {
    return error(fmt::format("--wrap={}: a quote is not closed", raw.wrap));
  }
  options.wrap = std::move(*wrap);
  if (!raw.wrap_ranks.empty()) {
    options.wrap_ranks = RankSet::parse(raw.wrap_ranks);
    if (!options.wrap_ranks || options.wrap.empty()) {
      return error(fmt::format(
          "--wrap-ranks={}: must be a list like 0,2-3, and needs --wrap",
          raw.wrap_ranks));
    }
  }
  return std::nullopt;
}

/// The error for a word that is no option of acprun.
EarlyExit unknown_option(const CLI::App& app, std::string_view name) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names.push_back(option->get_name());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view foreign = advice_for_foreign(name);
  const std::string_view nearest = nearest_word(name, known);
  const std::string advice = !foreign.empty() ? std::string(foreign)
                             : !nearest.empty()
                                 ? fmt::format("did you mean {}?", nearest)
                                 : "acprun --help lists them";
  return error(fmt::format("{} is no option; {}", name, advice));
}

/// `words` are "--name", "--name=value" or "-v". CLI11 would take a word like
/// "-hostfile" for the options -h, -o, -s and so on: only names that it knows
/// whole get to it.
std::optional<EarlyExit> parse_own(CLI::App& app,
                                   const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (app.get_option_no_throw(name) == nullptr) {
      return unknown_option(app, name);
    }
  }
  // CLI11 takes a vector from its back.
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, usage(app)};
  } catch (const CLI::Error& failure) {
    return error(failure.what());
  }
  return std::nullopt;
}

}  // namespace

OrExit<Options> parse_options(std::span<const std::string> words,
                              const Settings::Lookup& lookup) {
  Options options;
  RawOptions raw;
  CLI::App app;
  describe(app, options, raw);
  auto split = split_words(words, [&app](std::string_view name) {
    const CLI::Option* option = app.get_option_no_throw(std::string(name));
    return option != nullptr && option->get_items_expected_max() > 0;
  });
  if (auto* exit = std::get_if<EarlyExit>(&split)) {
    return std::move(*exit);
  }
  auto& taken = std::get<SplitWords>(split);
  if (auto exit = parse_own(app, taken.own)) return std::move(*exit);
  if (raw.version) {
    return EarlyExit{0, "acprun (ACP) " ACP_VERSION "\n"};
  }
  Result<Settings> settings = Settings::from_environment(lookup);
  if (!settings.ok()) {
    return error("");
  }
  options.settings = std::move(*settings);
  if (auto exit = take_acp_words(taken.acp, options)) return std::move(*exit);
  if (auto exit = convert(raw, options)) return std::move(*exit);
  if (auto exit = check_net(options.settings)) return std::move(*exit);
  if (taken.command.empty()) {
    return error("no program given; acprun -np N program [arguments]");
  }
  options.command = std::move(taken.command);
  return options;
}

}  // namespace acp::launcher
