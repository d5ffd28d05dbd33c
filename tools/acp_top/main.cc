// acp_top's main: finds a job of this user, and shows the states of its ranks.
// Users run it beside a job, which it neither joins nor changes.
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "json.h"
#include "live_job.h"
#include "screen.h"
#include "table.h"

#include <CLI/CLI.hpp>

namespace acp::top {

namespace {

using protocol::JobView;
using protocol::ViewRequest;
using std::chrono::milliseconds;

/// acprun answers within a second and a half, also when a host of the job does
/// not.
constexpr milliseconds kAnswerLimit{5000};

struct Options {
  std::uint32_t job = 0;  ///< acprun's process; 0: the only job.
  bool once = false;
  bool json = false;
  double interval_s = 1.0;
  std::string from;
};

int fail(std::string_view text) {
  fmt::print(stderr, "acp_top: {}", text);
  return 1;
}

/// Characters of a line: the width of the terminal, or room for all columns.
std::size_t width_of_output() {
  winsize size{};
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0 &&
                           ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_terminal && size.ws_col > 0 ? size.ws_col : 400;
}

/// Prints the picture for programs and for files. Returns the exit status.
int print(const Picture& picture, const Options& options) {
  const std::string text =
      options.json ? json_of(picture) : plain_text(picture, width_of_output());
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) return fail("cannot write its output\n");
  return 0;
}

/// A view of the ranks. Empty, with a text on standard error, when none comes.
std::optional<JobView> look(LiveJob& job) {
  job.ask(ViewRequest::kRanks);
  auto view = job.wait(kAnswerLimit);
  if (view) return view;
  if (!job.is_over()) {
    fail(
        fmt::format("acprun {} does not answer within {} s: is it stopped "
                    "(state T)?\n",
                    job.pid(), kAnswerLimit.count() / 1000));
  } else {
    fail(job.error().empty() ? "the job has ended\n" : job.error() + "\n");
  }
  return std::nullopt;
}

/// Takes two looks, because rates and long waits need time. When the job ends
/// meanwhile, the last view says so.
int print_live(LiveJob& job, const Options& options) {
  const auto interval =
      milliseconds(static_cast<std::int64_t>(options.interval_s * 1000));
  const auto before = look(job);
  if (!before) return 1;
  auto now = job.wait(interval);
  if (!now && !job.is_over()) now = look(job);
  return print(now ? picture_of(*now, &*before) : picture_of(*before, nullptr),
               options);
}

int show_live(LiveJob& job, const Options& options) {
  if (options.once || options.json) return print_live(job, options);
  const auto first = look(job);
  if (!first) return 1;
  std::string error;
  const int status = run_screen(
      picture_of(*first, nullptr), &job,
      milliseconds(static_cast<std::int64_t>(options.interval_s * 1000)),
      error);
  return error.empty() ? status : fail(error);
}

/// The rates and times of the file are shown as they are.
int show_file(const Options& options) {
  std::ifstream file(options.from, std::ios::binary);
  if (!file) return fail(fmt::format("cannot read {}\n", options.from));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto read = picture_from_json(text);
  if (const auto* bad = std::get_if<BadJson>(&read)) {
    return fail(fmt::format("{} is no output of acp_top --json: {}\n",
                            options.from, bad->why));
  }
  auto& picture = std::get<Picture>(read);
  if (options.once || options.json) return print(picture, options);
  std::string error;
  const int status =
      run_screen(std::move(picture), nullptr, milliseconds(0), error);
  return error.empty() ? status : fail(error);
}

/// CLI11 parses these options, and prints them for --help.
void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", "acp_top (ACP) " ACP_VERSION);
  app.add_option("JOB", options.job,
                 "Process number of the job's acprun; needed only where "
                 "several jobs of this user run");
  auto* once = app.add_flag("--once", options.once,
                            "Print one table; needs no terminal");
  app.add_flag("--json", options.json, "Print one JSON object")->excludes(once);
  app.add_option("--interval", options.interval_s,
                 "Seconds between two looks; 1 unless given")
      ->check(CLI::Range(0.25, 3600.0));
  app.add_option("--from", options.from,
                 "Show a file that --json has written instead of a job")
      ->excludes("JOB")
      ->excludes("--interval");
}

/// A file needs no job, so it comes first. Without a terminal only the forms
/// for programs and files are possible.
int run(int argc, char** argv) {
  set_log_prefix("acp_top");
  Options options;
  CLI::App app(
      "Shows what the ranks of a running job do, and who waits for "
      "whom.",
      "acp_top");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  const bool needs_terminal = !options.once && !options.json;
  if (needs_terminal &&
      (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0)) {
    return fail("no terminal: give --once or --json\n");
  }
  if (!options.from.empty()) return show_file(options);
  auto found = find_job(options.job, protocol::searched_view_folders());
  if (const auto* none = std::get_if<NoJob>(&found)) return fail(none->text);
  return show_live(std::get<LiveJob>(found), options);
}

}  // namespace

}  // namespace acp::top

int main(int argc, char** argv) {
  return acp::top::run(argc, argv);
}
