// acp_info's main: prints the version of ACP, the networks that work on this
// machine, and all settings. Users run it, and need no acprun. Without --job it
// may not join a job.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "gmm/global_address.h"
#include "job.h"
#include "json.h"
#include "settings/module.h"
#include "text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace acp::info {

namespace {

struct Options {
  bool json = false;
  bool check = false;
  bool job = false;
  std::string address;
  std::uint32_t ranks = 1;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}

void print(const nlohmann::json& document) {
  print(text_of(document, 2) + '\n');
}

/// Returns the exit status: 1 when the machine lacks a necessary setting.
int print_checks(const Options& options) {
  const std::vector<Check> checks = run_checks();
  const bool is_well = std::none_of(
      checks.begin(), checks.end(),
      [](const Check& check) { return check.state == CheckState::kWarning; });
  if (options.json) {
    print(nlohmann::json{{"ok", is_well}, {"checks", json_of(checks)}});
  } else {
    print(text_of(checks));
  }
  return is_well ? 0 : 1;
}

/// Returns the exit status: 1 when it is no address of such a job.
int print_address(const Options& options) {
  const std::uint64_t address =
      std::strtoull(options.address.c_str(), nullptr, 0);
  const AddressFact fact = take_apart(address, options.ranks);
  if (options.json) {
    print(json_of(fact));
  } else {
    print(text_of(fact, limits_of(options.ranks)));
  }
  return fact.is_rank_of_job ? 0 : 1;
}

/// Prints all facts, for a command line without options.
int print_everything(const Options& options, const Settings& settings) {
  const auto transports = transport_facts(settings);
  const RdmaFact rdma = rdma_fact();
  const auto colors = udp_addresses(settings).size();
  const Limits limits = limits_of(options.ranks);
  const auto table = setting_facts(settings);
  const auto hmpi_table = hmpi_setting_facts();
  if (options.json) {
    print(nlohmann::json{{"version", ACP_VERSION},
                         {"specification", "2.1"},
                         {"transports", json_of(transports)},
                         {"udp_colors", colors},
                         {"rdma", json_of(rdma)},
                         {"limits", json_of(limits)},
                         {"settings", json_of(table)},
                         {"hmpi_settings", json_of(hmpi_table)}});
    return 0;
  }
  print(fmt::format(
      "ACP {}, specification 2.1\n\n{}  udp has {} color{}\n\n"
      "{}{}\nSettings\n{}\nSettings of HMPI, for MPI programs under "
      "hmpirun\n{}",
      ACP_VERSION, text_of(transports), colors, colors == 1 ? "" : "s",
      text_of(rdma), text_of(limits), text_of(table), text_of(hmpi_table)));
  return 0;
}

std::string check_address(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const bool is_number =
      !text.empty() && text[0] != '-' &&
      (static_cast<void>(std::strtoull(text.c_str(), &end, 0)),
       *end == '\0' && errno == 0);
  return is_number ? std::string()
                   : "'" + text + "' is no address such as 0x8000010000000040";
}

/// CLI11 parses these options, and prints them for --help.
void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", "acp_info (ACP) " ACP_VERSION);
  app.add_flag("--json", options.json, "Print JSON");
  auto* check = app.add_flag(
      "--check", options.check,
      "Check how this machine is set up; status 1 when something should be "
      "changed, with what to type");
  app.add_option("--ga", options.address,
                 "Take a global address apart; give the job's --ranks too")
      ->check(check_address)
      ->excludes(check);
  app.add_flag("--job", options.job,
               "Print what each host of a job uses; as the program of acprun, "
               "mpiexec, mpirun or srun, or alone")
      ->excludes(check)
      ->excludes("--ga");
  app.add_option("--ranks", options.ranks,
                 "Ranks of the job for --ga and the limits; 1 unless given")
      ->check(CLI::Range(std::uint32_t{1}, gmm::kMaxProcs));
}

/// The program's own words. Launchers give a job's program words for acp_init,
/// which takes them itself.
std::vector<std::string> own_words(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (std::ranges::find(words, "--job") != words.end()) {
    std::erase_if(words, [](const std::string& word) {
      return word.starts_with("--acp-");
    });
  }
  std::ranges::reverse(words);  // CLI11 takes them from the end
  return words;
}

/// Prints one report, which the options choose, and returns the exit status.
/// The report on a job comes first, because acp_init warns of unknown
/// variables.
int run(int argc, char** argv) {
  set_log_prefix("acp_info");
  Options options;
  CLI::App app("What ACP is and can do on this machine.", "acp_info");
  add_options(app, options);
  try {
    app.parse(own_words(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (options.job) {
    return print_job(argc, argv,
                     options.json ? JobFormat::kJson : JobFormat::kText);
  }
  if (options.check) return print_checks(options);
  if (!options.address.empty()) return print_address(options);
  warn_of_unknown_variables(environ);
  if (const char* folders = std::getenv("ACP_MODULE_PATH")) {
    warn_of_missing_folders(folders);
  }
  const auto settings = Settings::from_environment(
      [](const char* name) { return std::getenv(name); });
  return settings.ok() ? print_everything(options, settings.value()) : 1;
}

}  // namespace

}  // namespace acp::info

int main(int argc, char** argv) {
  return acp::info::run(argc, argv);
}
