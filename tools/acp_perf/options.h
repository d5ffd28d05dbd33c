// The options of the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace acp::perf {

enum class Format : std::uint8_t { kTable, kCsv, kJson };

struct Options {
  std::int64_t time_ms = 150;  ///< For each row, all rounds together.
  int rounds = 3;              ///< Passes over the whole table.
  std::string rows;            ///< Regular expression of names; empty: all.
  Format format = Format::kTable;
  bool pin = true;  ///< Ranks 0 and 1 on cores of their own.
  bool list = false;
  std::vector<int> start;  ///< Numbers of ranks whose start is timed.
  std::string acprun;      ///< Empty: acprun beside acp_perf, or in PATH.
  bool nothing = false;    ///< Only acp_init and acp_finalize.
  /// Sizes of --sweep; the first is 0 when the table runs.
  std::uint64_t sweep_least = 0;
  std::uint64_t sweep_most = 0;
  std::string svg;   ///< File of the plots; empty: none.
  std::string html;  ///< File of the plots and the table; empty: none.
  std::vector<std::string> compare;  ///< Two reports; empty: rows run.
  int resets = 0;  ///< Calls of acp_reset to time; 0: the table runs.
};

/// The options; or, when is_done, a text to print and the exit status.
struct Parsed {
  Options options;
  bool is_done = false;
  int status = 0;
  std::string text;
};

/// Parses the program's own arguments. The caller has removed the arguments of
/// the library (--acp-...).
Parsed parse_options(int argc, const char* const* argv);

/// The function that says whether --rows chooses the row of that name: the
/// regular expression matches a part of the name. An empty expression chooses
/// all rows. Precondition: parse_options() has accepted `expression`.
std::function<bool(const std::string& name)> row_filter(
    const std::string& expression);

}  // namespace acp::perf
