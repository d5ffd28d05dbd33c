// Reads the states of threads from /proc. Called by acprun, for the watchdog
// and the summary, and by the watch of a rank over its neighbor. Only reads; a
// thread that has ended meanwhile is no error.
#include "base/process_state.h"

#include <fmt/core.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace acp {

namespace {

namespace fs = std::filesystem;

/// The words of a line of /proc/PID/stat that are used here.
struct ThreadFacts {
  char letter = '\0';  ///< State; '\0' when the thread is gone.
  std::uint32_t core = ProcessState::kNoCore;
};

/// The state stands behind the thread's name, which is in parentheses and may
/// have blanks. The core is the 36th word behind the state.
ThreadFacts facts_of(const fs::path& directory) {
  constexpr int kWordsToCore = 36;
  std::ifstream file(directory / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos || close + 2 >= line.size()) return {};
  ThreadFacts facts{line[close + 2]};
  std::size_t at = close + 2;
  for (int i = 0; i < kWordsToCore && at != std::string::npos; ++i)
    at = line.find(' ', at + 1);
  if (at != std::string::npos) {
    std::from_chars(line.data() + at + 1, line.data() + line.size(),
                    facts.core);
  }
  return facts;
}

}  // namespace

/// The main thread has the number of the process.
ProcessState state_of_process(std::uint32_t pid, std::uint32_t thread) {
  ProcessState state;
  const std::string wanted = std::to_string(thread);
  const std::string on_core = thread == 0 ? std::to_string(pid) : wanted;
  std::error_code error;
  fs::directory_iterator tasks(fmt::format("/proc/{}/task", pid), error);
  while (!error && tasks != fs::directory_iterator()) {
    const ThreadFacts facts = facts_of(tasks->path());
    const std::string number = tasks->path().filename();
    const bool is_running = facts.letter == 'R' || facts.letter == 'D';
    state.is_stopped |= facts.letter == 'T';
    state.is_traced |= facts.letter == 't';
    (number == wanted ? state.is_thread_running : state.are_others_running) |=
        is_running;
    if (number == on_core) state.core = facts.core;
    tasks.increment(error);
  }
  return state;
}

}  // namespace acp
