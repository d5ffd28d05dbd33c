// The table of a launcher's options: one row for each option. The parser, the
// checks, --help, the manual page and the bash completion all read these rows.
// acprun's rows are in acprun_options.cc. Another launcher has a table of its
// own and may share rows with acprun.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/early_exit.h"
#include "launcher/options.h"
#include "settings/settings.h"

namespace acp::launcher {

/// The heading under which --help and the manual show a row.
enum class OptionGroup : std::uint8_t {
  kSpecification,
  kHosts,
  kRanks,
  kStreams,
  kTimeLimits,
  kMessages,
};

/// The form of a value. The parser checks it, and the completion offers
/// values of it.
enum class OptionKind : std::uint8_t {
  kFlag,        ///< No value.
  kFlagOrText,  ///< "--name", or "--name=VALUE". May be given several times.
  kText,
  kChoice,      ///< One of choices_of(row).
  kSeconds,     ///< "5" or "0.5".
  kAssignment,  ///< "NAME=VALUE"; a row with a value per host is one, too.
  kRankList,    ///< "0,2-3".
  kFile,
  kDirectory,
  kCommand,
};

/// Stores a value that has the row's form, or says why it cannot be used.
using TakeValue = std::optional<EarlyExit> (*)(const std::string& value,
                                               Options& options);

/// Where a value goes: a member of Options, a setting of the library, or a
/// function. Rows like --help have std::monostate: the caller of the parser
/// looks for them.
using OptionTarget = std::variant<std::monostate,
                                  bool Options::*,
                                  std::string Options::*,
                                  std::vector<std::string> Options::*,
                                  std::chrono::milliseconds Options::*,
                                  SettingId,
                                  TakeValue>;

/// Whether an option may be given several times.
enum class OptionRepeat : std::uint8_t { kRefused, kAllowed };

struct OptionRow {
  std::string_view name{};        ///< "--acp-nprocs".
  std::string_view short_name{};  ///< "-np", or "".
  std::string_view old_names{};   ///< Names in older scripts, between blanks.
  OptionGroup group = OptionGroup::kMessages;
  OptionKind kind = OptionKind::kFlag;
  OptionRepeat repeat = OptionRepeat::kRefused;  ///< Flags always may.
  std::string_view argument{};                   ///< "FILE"; "" for a flag.
  std::string_view choices{};  ///< kChoice without a setting: "core|numa".
  std::string_view default_value{};  ///< Shown to users; "" shows none.
  std::string_view needs{};    ///< Name of an option that must be given, too.
  std::string_view summary{};  ///< Line of --help, without a full stop.
  std::string_view manual{};   ///< Sentences in Markdown for the manual.
  OptionTarget target{};
};

struct OptionTable {
  std::string_view program;    ///< "acprun".
  std::string_view arguments;  ///< Behind the name in the usage line.
  std::span<const OptionRow> rows;
  std::string_view operand = "program";  ///< The first word of the command.
};

/// The row that has this name in any of its spellings, or nullptr.
const OptionRow* find_row(const OptionTable& table, std::string_view name);

/// The values that a kChoice row takes in this build. A network that is not
/// built in is none of them.
std::vector<std::string_view> choices_of(const OptionRow& row);

std::string_view title_of(OptionGroup group);

/// The words of `text` between separators; empty words are left out.
std::vector<std::string_view> split_text(std::string_view text, char separator);

/// Joins words as people do: "a, b `conjunction` c".
std::string join_words(std::span<const std::string_view> words,
                       std::string_view conjunction);

}  // namespace acp::launcher
