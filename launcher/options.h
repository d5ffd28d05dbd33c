// acprun's options as values: the command line and the environment together.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/early_exit.h"
#include "launcher/rank_set.h"
#include "settings/settings.h"

namespace acp::launcher {

enum class Binding : std::uint8_t { kAuto, kNone, kCore, kNuma, kHwThread };

/// Plain value. Zero durations mean "no limit".
struct Options {
  std::uint32_t procs = 0;  ///< 0: not given.
  std::optional<std::string> nodefile;
  Settings settings;  ///< From the environment, options and --env.
  /// Settings given as options, as "NAME=value" for the ranks.
  std::vector<std::string> setting_variables;

  std::string hosts;
  std::vector<std::string> rsh;  ///< Words of the remote shell; empty: ssh.
  std::chrono::milliseconds rsh_timeout{30'000};
  std::uint32_t fan_out = 32;  ///< Daemons that each process starts.
  bool preload = false;        ///< Copy the program to the other hosts.
  std::string directory;       ///< "": acprun's own.
  std::vector<std::string> environment;  ///< "NAME=value".
  Binding binding = Binding::kAuto;
  bool report_bindings = false;
  bool stats = false;       ///< Print tables of counters at the end.
  std::string report_page;  ///< Write a page about the job there; "": nowhere.
  std::string stats_file;   ///< Write them there as JSON; "": nowhere.
  bool oversubscribe = false;
  bool tag = false;
  bool dry_run = false;
  bool verbose = false;
  bool reads_stdin = true;  ///< Rank 0 gets acprun's standard input.
  std::string output_dir;   ///< "": acprun's own output.
  std::chrono::milliseconds timeout{0};
  std::chrono::milliseconds grace{5000};
  std::chrono::milliseconds watchdog{0};
  /// Say after this time that the job stands still, and let it go on.
  std::chrono::milliseconds hang_notice{0};
  std::chrono::milliseconds init_timeout{60'000};
  std::vector<std::string> wrap;  ///< Words before the program.
  std::optional<RankSet> wrap_ranks;
  std::string wrap_rank_list;  ///< The text of wrap_ranks.

  std::vector<std::string> command;  ///< At least the program.
};

struct OptionTable;

/// Reads a launcher's command line, without the launcher's own name, and the
/// settings that `lookup` finds in the environment. A bad value of a setting is
/// logged, and the exit has no text then.
OrExit<Options> parse_options(const OptionTable& table,
                              std::span<const std::string> words,
                              const Settings::Lookup& lookup);

/// Splits a command at blanks as a shell does, with quotes and backslashes.
/// Returns nothing when a quote is not closed.
std::optional<std::vector<std::string>> split_command(std::string_view text);

}  // namespace acp::launcher
