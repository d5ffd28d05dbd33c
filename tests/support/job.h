// Runs a command as a user would: starts it, sends it signals, waits for it
// with a deadline, keeps its output. Also finds processes and shared memory
// that a job has left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace job {

using Clock = std::chrono::steady_clock;

struct Outcome {
  bool is_over = false;  ///< False if it was killed after the deadline.
  int status = -1;       ///< Exit status, or 128 + signal.
  std::string output;    ///< stdout and stderr, in the order of writing.
  Clock::time_point ended;
};

/// One running command. Kills its own child when it is destroyed early.
class Job {
 public:
  /// `environment`: NAME=VALUE words on top of this process's own.
  explicit Job(const std::vector<std::string>& words,
               const std::vector<std::string>& environment = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  pid_t pid() const { return pid_; }

  void send(int signal) const;

  /// Whether it ends within the limit while nobody reads its output.
  bool ends_unread(std::chrono::milliseconds limit) const;

  /// Reads its output until it ends or the time is over. Then it calls
  /// `on_limit` and kills the launcher.
  Outcome wait(
      std::chrono::milliseconds limit,
      const std::function<void()>& on_limit = [] {});

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

/// Processes that have `marker` as part of a word of their command line.
std::vector<pid_t> processes_with(const std::string& marker);

/// Whether no process with `marker` is left. Looks again until `limit` is over.
bool all_gone(const std::string& marker, std::chrono::milliseconds limit);

/// Names in /dev/shm.
std::set<std::string> shared_memory_names();

/// Whether /dev/shm has no name that `before` lacks. Looks again until `limit`
/// is over.
bool no_new_shared_memory(const std::set<std::string>& before,
                          std::chrono::milliseconds limit);

/// A word that is on no other command line.
std::string unique_marker();

/// A name for a file of the test in the temporary folder. No such file exists.
std::string scratch_file(const std::string& stem);

}  // namespace job
