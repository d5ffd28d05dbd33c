// Reads the states of threads from /proc. Called by acprun, for the watchdog
// and the summary, and by the watch of a rank over its neighbor. Only reads; a
// thread that has ended meanwhile is no error.
#include "base/process_state.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace acp {

namespace {

namespace fs = std::filesystem;

/// Returns the letter behind the thread's name, which is in parentheses; '\0'
/// when the thread is gone.
char state_letter(const fs::path& directory) {
  std::ifstream file(directory / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t close = line.rfind(')');
  return close == std::string::npos || close + 2 >= line.size()
             ? '\0'
             : line[close + 2];
}

}  // namespace

ProcessState state_of_process(std::uint32_t pid, std::uint32_t thread) {
  ProcessState state;
  const std::string wanted = std::to_string(thread);
  std::error_code error;
  fs::directory_iterator tasks(fmt::format("/proc/{}/task", pid), error);
  while (!error && tasks != fs::directory_iterator()) {
    const char letter = state_letter(tasks->path());
    const bool is_running = letter == 'R' || letter == 'D';
    state.is_stopped |= letter == 'T';
    state.is_traced |= letter == 't';
    (tasks->path().filename() == wanted ? state.is_thread_running
                                        : state.are_others_running) |=
        is_running;
    tasks.increment(error);
  }
  return state;
}

}  // namespace acp
