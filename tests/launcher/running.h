// Runs acprun as a user would. Feeds it, listens to it, kills it or parts of
// it, and looks for files and processes that it left. Nothing here sleeps for a
// fixed time: it waits for output or for the end, with a deadline.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace running {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Limit of each wait that is short, except on a busy machine.
inline constexpr milliseconds kPatience{60'000};

/// Within this time no process of a job that has ended badly is left, and
/// acprun has said why.
inline constexpr milliseconds kGoneWithin{2000};

/// Time that the machine gave to this test. Where a wait of a few milliseconds
/// takes many, other tests have the processors. The processes of the job get no
/// more of them than this test. So a wait counts for little more than it was
/// meant to take.
class GivenTime {
 public:
  /// Runs `wait`, which is meant to take at most `limit`.
  template <typename Wait>
  auto during(milliseconds limit, Wait wait) {
    const Clock::time_point begin = Clock::now();
    const auto result = wait();
    const auto took = Clock::now() - begin;
    total_ += std::min<Clock::duration>(took, limit + kSlack);
    return result;
  }

  milliseconds total() const {
    return std::chrono::duration_cast<milliseconds>(total_);
  }

 private:
  static constexpr milliseconds kSlack{5};
  Clock::duration total_{0};
};

struct Setup {
  std::string input;                     ///< Standard input; then closed.
  std::vector<std::string> environment;  ///< NAME=value, added.
  std::string directory;                 ///< "": the test's own.
  bool holds_input = false;              ///< Open until close_input().
  bool is_slow_reader = false;           ///< A small pipe, read in small steps.
  bool is_joined = false;                ///< stderr goes where stdout goes.
};

struct Outcome {
  bool is_over = false;  ///< False: not within the time.
  int status = -1;       ///< Exit status, or 128 + signal.
  std::string out;
  std::string err;
  milliseconds took{0};  ///< Time that the machine gave to this test.
};

/// One acprun. Killed with everything that it started when destroyed.
class Running {
 public:
  /// `words`: acprun's arguments.
  explicit Running(const std::vector<std::string>& words,
                   const Setup& setup = {});
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  pid_t pid() const { return pid_; }

  /// The keeper, acprun's only child.
  pid_t keeper() const;

  void send(int signal) const;

  /// Reads until standard output holds `text` so many times.
  bool wait_for(std::string_view text, int times = 1);

  /// The process of a rank; acprun has to be run with -v.
  pid_t rank(int number);

  /// Ends its standard input.
  void close_input() { in_.reset(); }

  /// Closes our end of its standard output.
  void close_output();

  /// Reads until it ends.
  Outcome finish();

  /// Time that the machine has given to this test while it read so far.
  milliseconds given_time() const { return given_.total(); }

  /// Whether no process started by it is left, within kGoneWithin.
  bool is_all_gone() const;

  /// Processes started by it, itself included.
  std::vector<pid_t> everybody() const;

 private:
  void start(const std::vector<std::string>& words, const Setup& setup);
  bool pump(milliseconds limit);
  bool has_ended();

  pid_t pid_ = -1;
  std::string mark_;  ///< In the environment of all processes.
  acp::UniqueFd in_;
  acp::UniqueFd out_;
  acp::UniqueFd err_;
  std::string input_;
  std::size_t fed_ = 0;
  std::size_t step_ = 65536;  ///< Bytes per read.
  Outcome outcome_;
  GivenTime given_;
};

/// Runs to the end.
Outcome run(const std::vector<std::string>& words, const Setup& setup = {});

/// Looks again and again until it holds; false when that takes too long.
bool eventually(const std::function<bool()>& condition);

bool contains(std::string_view text, std::string_view part);
int count_of(std::string_view text, std::string_view part);

/// A directory of this test, removed with everything in it.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  const std::string& path() const { return path_; }

  /// Writes a file and returns its path.
  std::string file(const std::string& name, std::string_view text) const;
  /// The text of a file in it; "" when there is none.
  std::string read(const std::string& name) const;
  bool is_empty() const;

 private:
  std::string path_;
};

}  // namespace running
