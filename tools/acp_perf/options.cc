// Parses the command line of acp_perf; main.cc calls it on every rank. It
// prints nothing and ends no process: main.cc does. It is the only file here
// that uses regular expressions, whose header takes long to compile.
#include "options.h"

#include <regex>
#include <sstream>

#include "memory.h"

#include <CLI/CLI.hpp>

namespace acp::perf {

namespace {

constexpr std::int64_t kQuickTimeMs = 20;
constexpr std::uint64_t kLeastSize = 8;

/// Reads "4K" or "8M"; 0 if it is no size.
std::uint64_t size_in(const std::string& text) {
  static const std::regex expression("([0-9]{1,9})([KM]?)");
  std::smatch match;
  if (!std::regex_match(text, match, expression)) return 0;
  const std::string suffix = match[2];
  return std::stoull(match[1]) << (suffix == "M" ? 20 : suffix == "K" ? 10 : 0);
}

/// Reads "8:8M" into the options. Returns the error, or "".
std::string take_sweep(const std::string& text, Options& options) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    options.sweep_least = size_in(text.substr(0, colon));
    options.sweep_most = size_in(text.substr(colon + 1));
  }
  return options.sweep_least >= kLeastSize &&
                 options.sweep_least <= options.sweep_most &&
                 options.sweep_most <= kBufferBytes
             ? ""
             : "'" + text + "' is not LEAST:MOST, sizes from 8 to 8M";
}

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
  std::string sweep;
  CLI::App app(
      "Measures the basic layer: acprun -np 2 acp_perf. Every figure stands "
      "beside a raw one of the same machine and run.",
      "acp_perf");
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
  app.add_option("--sweep", sweep,
                 "Measure put, get and channel in these sizes instead, and "
                 "atomics in windows: --sweep 8:8M")
      ->check([&options](const std::string& text) {
        return take_sweep(text, options);
      });
  app.add_option("--svg", options.svg, "Draw the plots of --sweep into a file")
      ->needs("--sweep");
  app.add_option("--html", options.html,
                 "Write a page with these plots and the table")
      ->needs("--sweep");
  app.add_option("--compare", options.compare,
                 "Compare two reports of --json; run without acprun: --compare "
                 "before.json after.json")
      ->expected(2);
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
               "Only acp_init and acp_finalize: what --start runs")
      ->group("");  // It is not in --help.
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
