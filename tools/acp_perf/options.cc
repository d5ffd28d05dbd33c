// Parses the command line of acp_perf; main.cc calls it on every rank. It
// prints nothing and ends no process: main.cc does. It is the only file here
// that uses regular expressions, whose header takes long to compile.
#include "options.h"

#include <regex>
#include <sstream>

#include <CLI/CLI.hpp>

namespace acp::perf {

namespace {

constexpr std::int64_t kQuickTimeMs = 20;

std::string check_regex(const std::string& text) {
  try {
    const std::regex expression(text);
  } catch (const std::regex_error&) {
    return "'" + text + "' is no regular expression";
  }
  return {};
}

}  // namespace

std::function<bool(const std::string& name)> row_filter(
    const std::string& expression) {
  return [pattern = std::regex(expression)](const std::string& name) {
    return std::regex_search(name, pattern);
  };
}

/// Declares the options, parses, and then applies --quick last: CLI11 has
/// refused it beside the two options that it sets.
Parsed parse_options(int argc, const char* const* argv) {
  Parsed parsed;
  Options& options = parsed.options;
  bool csv = false;
  bool json = false;
  bool quick = false;
  CLI::App app(
      "Measures the basic layer: acprun -np 2 acp_perf. Every figure stands "
      "beside a raw one of the same machine and run.");
  app.add_option("--time-ms", options.time_ms, "Milliseconds for each row")
      ->check(CLI::Range(1, 600'000));
  app.add_option("--rounds", options.rounds,
                 "Times to go through the table; a row's time is shared out")
      ->check(CLI::Range(1, 1'000));
  auto* quick_flag = app.add_flag(
      "--quick", quick, "A rough table in seconds: --time-ms 20 --rounds 1");
  quick_flag->excludes("--time-ms")->excludes("--rounds");
  app.add_option("--rows", options.rows,
                 "Only rows whose name matches this regular expression, and "
                 "the raw rows that they are compared with")
      ->check(check_regex);
  auto* csv_flag = app.add_flag("--csv", csv, "Print comma-separated values");
  app.add_flag("--json", json, "Print JSON")->excludes(csv_flag);
  app.add_flag("--pin,!--no-pin", options.pin,
               "Bind ranks 0 and 1 to cores of their own (as is usual), or "
               "leave them to the system");
  app.add_flag("--list", options.list, "Print the rows, and what they are");
  app.add_option("--start", options.start,
                 "Time the start and end of this many ranks instead; run "
                 "without acprun. Several: --start 2,64")
      ->delimiter(',')
      ->check(CLI::Range(1, 65'536));
  app.add_option("--acprun", options.acprun,
                 "The acprun that --start runs; else the one beside "
                 "acp_perf, or in PATH");
  app.add_option("--resets", options.resets,
                 "Time acp_reset so many times instead, beside acp_sync")
      ->check(CLI::Range(1, 100'000))
      ->excludes("--start");
  app.add_flag("--nothing", options.nothing,
               "Only acp_init and acp_finalize: what --start runs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    parsed.is_done = true;
    parsed.status = app.exit(error, text, text) == 0 ? 0 : 1;
    parsed.text = parsed.status == 0 ? text.str() : "acp_perf: " + text.str();
    return parsed;
  }
  options.format = csv ? Format::kCsv : json ? Format::kJson : Format::kTable;
  if (quick) {
    options.time_ms = kQuickTimeMs;
    options.rounds = 1;
  }
  return parsed;
}

}  // namespace acp::perf
