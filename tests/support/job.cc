// Implements Job and the searches for leftovers of a job. Tests that start
// programs use it.
#include "support/job.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace job {

namespace {

using std::chrono::milliseconds;

int milliseconds_left(Clock::time_point limit) {
  const auto left =
      std::chrono::duration_cast<milliseconds>(limit - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 3'600'000));
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) {
    all.push_back(const_cast<char*>(word.c_str()));
  }
  all.push_back(nullptr);
  return all;
}

/// Polls `condition` until it holds; yields the processor in between.
template <typename Condition>
bool comes_true(milliseconds limit, Condition condition) {
  const Clock::time_point end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

/// Standard input is /dev/null, standard output and error share a pipe.
/// `environment` stands first, so that its words win over the inherited ones.
Job::Job(const std::vector<std::string>& words,
         const std::vector<std::string>& environment) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe2");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  std::vector<std::string> all = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  const int error =
      posix_spawnp(&pid_, words.front().c_str(), &actions, nullptr,
                   pointers(words).data(), pointers(all).data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  output_ = pipe_ends[0];
  if (error != 0) {
    pid_ = -1;
    throw std::runtime_error("cannot start " + words.front());
  }
}

Job::~Job() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

void Job::send(int signal) const {
  kill(pid_, signal);
}

bool Job::ends_unread(milliseconds limit) const {
  pollfd process{static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
  const bool has_ended = poll(&process, 1, static_cast<int>(limit.count())) > 0;
  close(process.fd);
  return has_ended;
}

/// Reads output before it looks at the end of the process. poll reports both,
/// and output that is still in the pipe must not be lost.
Outcome Job::wait(milliseconds limit, const std::function<void()>& on_limit) {
  const Clock::time_point end = Clock::now() + limit;
  Outcome outcome;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  std::array<char, 4096> buffer{};
  bool has_output = true;
  while (!outcome.is_over) {
    std::array<pollfd, 2> waits = {
        pollfd{process, POLLIN, 0},
        pollfd{has_output ? output_ : -1, POLLIN, 0}};
    if (poll(waits.data(), waits.size(), milliseconds_left(end)) == 0) {
      break;
    }
    if (waits[1].revents != 0) {
      const ssize_t n = read(output_, buffer.data(), buffer.size());
      has_output = n > 0;
      outcome.output.append(buffer.data(),
                            n > 0 ? static_cast<std::size_t>(n) : 0);
    } else if (waits[0].revents != 0) {
      outcome.is_over = true;
    }
  }
  outcome.ended = Clock::now();
  close(process);
  if (!outcome.is_over) {
    on_limit();
    kill(pid_, SIGKILL);
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  outcome.status =
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

std::vector<pid_t> processes_with(const std::string& marker) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (!is_number(name) || name == std::to_string(getpid())) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    // A process that ends meanwhile makes read() fail; getline() survives it.
    std::string words;
    std::getline(file, words, '\x01');
    if (words.find(marker) != std::string::npos) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

bool all_gone(const std::string& marker, milliseconds limit) {
  return comes_true(limit, [&] { return processes_with(marker).empty(); });
}

std::set<std::string> shared_memory_names() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/dev/shm", error)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

bool no_new_shared_memory(const std::set<std::string>& before,
                          milliseconds limit) {
  // Other jobs of this machine come and go. Only a name that stays until the
  // time is over was left behind.
  std::set<std::string> left = shared_memory_names();
  for (const std::string& name : before) {
    left.erase(name);
  }
  return comes_true(limit, [&] {
    const std::set<std::string> now = shared_memory_names();
    for (auto name = left.begin(); name != left.end();) {
      name = now.count(*name) == 0 ? left.erase(name) : std::next(name);
    }
    return left.empty();
  });
}

std::string unique_marker() {
  static std::atomic<int> count{0};
  return "acp-test-marker-" + std::to_string(getpid()) + "-" +
         std::to_string(count.fetch_add(1));
}

std::string scratch_file(const std::string& stem) {
  static std::atomic<int> count{0};
  const auto path = std::filesystem::temp_directory_path() /
                    ("acp-" + stem + "-" + std::to_string(getpid()) + "-" +
                     std::to_string(count.fetch_add(1)));
  std::filesystem::remove(path);
  return path.string();
}

}  // namespace job
