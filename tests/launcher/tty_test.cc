// acprun on a terminal: typed lines reach rank 0, ^C ends the job, and a
// job in the background leaves the terminal alone.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

namespace {

/// A command on a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    int master = -1;
    pid_ = ::forkpty(&master, nullptr, nullptr, nullptr);
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::execvp(argv[0], argv.data());
      ::_exit(99);
    }
    terminal_.reset(master);
  }

  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  ~OnTerminal() {
    if (status_ < 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void type(std::string_view text) {
    REQUIRE(::write(terminal_.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
  }

  /// Waits until the screen shows `text` so many times.
  bool shows(std::string_view text, int times = 1) {
    return eventually([&] {
      read_some();
      return count_of(screen_, text) >= times;
    });
  }

  /// Waits for the end: exit status, or 128 + signal.
  int finish() {
    eventually([&] {
      read_some();
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
      status_ =
          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return true;
    });
    return status_;
  }

  const std::string& screen() const { return screen_; }

 private:
  void read_some() {
    std::array<char, 4096> buffer{};
    pollfd ready{terminal_.get(), POLLIN, 0};
    while (::poll(&ready, 1, 10) == 1) {
      const ssize_t n = ::read(terminal_.get(), buffer.data(), buffer.size());
      if (n <= 0) return;
      screen_.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

  pid_t pid_ = -1;
  int status_ = -1;
  acp::UniqueFd terminal_;
  std::string screen_;
};

/// False where the system has no terminals to give, as in a chroot without
/// /dev/pts. CTest sees the text printed here and counts the test as skipped.
bool has_terminals() {
  const acp::UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal && ::grantpt(terminal.get()) == 0) return true;
  std::printf("skipped: no terminal: %s; mount devpts on /dev/pts\n",
              std::strerror(errno));
  return false;
}

}  // namespace

TEST_CASE("launcher terminal: typed lines reach rank 0, ^D ends them",
          "[launcher]") {
  if (!has_terminals()) return;
  OnTerminal job({ACPRUN, "-np", "2", PROBE, "say:ready", "hello", "cat",
                  "init", "say:end", "finalize", "finalized"});
  REQUIRE(job.shows("ready", 2));
  job.type("a typed line\n");
  // Once from the terminal's echo, once from rank 0.
  CHECK(job.shows("a typed line", 2));
  job.type("\x04");
  CHECK(job.shows("end", 2));
  CHECK(job.finish() == 0);
}

TEST_CASE("launcher terminal: ^C ends the job", "[launcher]") {
  if (!has_terminals()) return;
  OnTerminal job(
      {ACPRUN, "-np", "2", PROBE, "hello", "init", "say:ready", "pause"});
  REQUIRE(job.shows("ready", 2));
  job.type("\x03");
  CHECK(job.finish() == 130);
  CHECK(contains(job.screen(), "signal 2"));
}

TEST_CASE("launcher terminal: a job in the background is not stopped",
          "[launcher]") {
  if (!has_terminals()) return;
  // Job control gives the background job a process group of its own.
  OnTerminal shell({"sh", "-c",
                    "set -m; " ACPRUN " -np 2 " PROBE
                    " hello init say:here finalize finalized & wait $!; "
                    "echo status $?"});
  CHECK(shell.shows("here", 2));
  CHECK(shell.shows("status 0"));
  CHECK(shell.finish() == 0);
}
