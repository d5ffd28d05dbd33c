// Times whole jobs for --start: starts acprun, waits for its end, and beside it
// starts plain processes. main.cc calls it outside of any job; it may not join
// one.
#include "start.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "timing.h"

namespace acp::perf {

namespace {

constexpr int kRunsAtLeast = 5;
constexpr int kRunsAtMost = 50;
constexpr std::int64_t kTimeNs = 3'000'000'000;

using Words = std::vector<std::string>;

/// Starts a program found in PATH. Returns no process, and an errno value in
/// `error`, when it cannot be started.
std::optional<pid_t> spawn(const Words& words, int& error) {
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  error = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) return std::nullopt;
  return pid;
}

/// Runs `count` copies of a program to their end. Returns "" when all exit with
/// 0, else a text about a copy that did not. Waits even after a failed start.
std::string run_copies(const Words& words, int count) {
  std::vector<pid_t> started;
  std::string failure;
  for (int i = 0; i < count; ++i) {
    int error = 0;
    const auto pid = spawn(words, error);
    if (!pid) {
      failure = fmt::format("{}: {}", words[0], std::strerror(error));
      break;
    }
    started.push_back(*pid);
  }
  for (const pid_t pid : started) {
    int status = 0;
    if (waitpid(pid, &status, 0) == pid && status == 0) continue;
    failure = WIFSIGNALED(status) ? fmt::format("{} was killed by signal {}",
                                                words[0], WTERMSIG(status))
                                  : fmt::format("{} exited with status {}",
                                                words[0], WEXITSTATUS(status));
  }
  return failure;
}

Result time_runs(const Row& row, const Words& words, int copies) {
  Result result;
  result.row = &row;
  const std::int64_t end = now_ns() + kTimeNs;
  for (int run = 0; run < kRunsAtMost; ++run) {
    if (run >= kRunsAtLeast && now_ns() >= end) break;
    const std::int64_t before = now_ns();
    result.outcome.failure = run_copies(words, copies);
    const std::int64_t after = now_ns();
    if (!result.outcome.failure.empty()) break;
    result.samples.add(static_cast<double>(after - before), 1);
  }
  return result;
}

std::string own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "acp_perf" : path.string();
}

/// The acprun beside this program, where builds and installations have it, or
/// else the acprun in PATH.
std::string acprun_beside(const std::string& program) {
  const auto path = std::filesystem::path(program).replace_filename("acprun");
  std::error_code error;
  return std::filesystem::exists(path, error) ? path.string() : "acprun";
}

}  // namespace

/// Each number of ranks gives a raw row, which starts as many processes that
/// end at once, and a row that is compared with it.
std::vector<Result> run_starts(const Options& options, Rows& rows) {
  rows.clear();
  rows.reserve(2 * options.start.size());  // Results keep addresses of rows.
  const std::string program = own_program();
  const std::string acprun =
      options.acprun.empty() ? acprun_beside(program) : options.acprun;
  std::vector<Result> results;
  for (const int ranks : options.start) {
    Row raw;
    raw.name = fmt::format("raw.start.{}", ranks);
    raw.what = "start of as many processes without ACP";
    rows.push_back(std::move(raw));
    results.push_back(time_runs(rows.back(), {"true"}, ranks));

    Row row;
    row.name = fmt::format("start.{}", ranks);
    row.what = "acprun from start to end, acp_init and acp_finalize";
    rows.push_back(std::move(row));
    results.push_back(time_runs(
        rows.back(),
        {acprun, "-np", std::to_string(ranks), program, "--nothing"}, 1));
    results.back().raw = rows[rows.size() - 2].name;
  }
  return results;
}

}  // namespace acp::perf
