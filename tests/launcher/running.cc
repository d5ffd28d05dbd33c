// Starts acprun with pipes, and reads its output until it ends.
#include "tests/launcher/running.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "launcher/descendants.h"

namespace running {

namespace {

constexpr const char* kMarkName = "LAUNCHER_TEST_MARK=";

std::string new_mark() {
  static int count = 0;
  return kMarkName + std::to_string(::getpid()) + "." + std::to_string(++count);
}

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends, O_CLOEXEC) == 0); }

  int ends[2] = {-1, -1};
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) {
    list.push_back(const_cast<char*>(word.c_str()));
  }
  list.push_back(nullptr);
  return list;
}

bool has_mark(pid_t pid, const std::string& mark) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ",
                     std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string entry = mark + '\0';
  return text.find(entry) != std::string::npos;
}

}  // namespace

Running::Running(const std::vector<std::string>& words, const Setup& setup)
    : mark_(new_mark()), input_(setup.input) {
  if (setup.is_slow_reader) step_ = 512;
  start(words, setup);
}

void Running::start(const std::vector<std::string>& words, const Setup& setup) {
  Pipe in;
  Pipe out;
  Pipe err;
  if (setup.is_slow_reader) ::fcntl(out.ends[0], F_SETPIPE_SZ, 4096);
  std::vector<std::string> command = {ACPRUN};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::string> environment = setup.environment;
  environment.push_back(mark_);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  const auto argv = pointers(command);
  const auto envp = pointers(environment);
  std::signal(SIGPIPE, SIG_IGN);  // acprun may have closed its input.
  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    ::dup2(in.ends[0], 0);
    ::dup2(out.ends[1], 1);
    ::dup2(setup.is_joined ? out.ends[1] : err.ends[1], 2);
    if (!setup.directory.empty() && ::chdir(setup.directory.c_str()) != 0) {
      ::_exit(99);
    }
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(99);
  }
  ::close(in.ends[0]);
  ::close(out.ends[1]);
  ::close(err.ends[1]);
  in_.reset(in.ends[1]);
  out_.reset(out.ends[0]);
  err_.reset(err.ends[0]);
  ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
  if (input_.empty() && !setup.holds_input) in_.reset();
}

Running::~Running() {
  if (!outcome_.is_over) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const pid_t pid : everybody())
    ::kill(pid, SIGKILL);
}

pid_t Running::keeper() const {
  const auto children = acp::launcher::children_of(pid_);
  return children.empty() ? -1 : children.front();
}

pid_t Running::rank(int number) {
  const std::string line = "rank " + std::to_string(number) + " is pid ";
  const auto deadline = Clock::now() + kPatience;
  while (!contains(outcome_.err, line)) {
    if (Clock::now() > deadline || !pump(milliseconds(100))) return -1;
  }
  return std::stoi(outcome_.err.substr(outcome_.err.find(line) + line.size()));
}

void Running::send(int signal) const {
  ::kill(pid_, signal);
}

/// Moves bytes once; false when both of its outputs are closed.
bool Running::pump(milliseconds limit) {
  std::array<pollfd, 3> fds = {
      {{out_.get(), POLLIN, 0},
       {err_.get(), POLLIN, 0},
       {fed_ < input_.size() ? in_.get() : -1, POLLOUT, 0}}};
  if (!out_ && !err_) return false;
  const int ready = given_.during(limit, [&] {
    return ::poll(fds.data(), fds.size(), static_cast<int>(limit.count()));
  });
  if (ready <= 0) return true;
  std::array<char, 65536> buffer{};
  const auto read_some = [&](acp::UniqueFd& fd, std::string& text) {
    const ssize_t n =
        ::read(fd.get(), buffer.data(), std::min(step_, buffer.size()));
    if (n > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      fd.reset();
    }
  };
  if (fds[0].revents != 0) read_some(out_, outcome_.out);
  if (fds[1].revents != 0) read_some(err_, outcome_.err);
  if (fds[2].revents != 0) {
    const ssize_t n =
        ::write(in_.get(), input_.data() + fed_, input_.size() - fed_);
    if (n > 0) fed_ += static_cast<std::size_t>(n);
    if (fed_ == input_.size() || (n < 0 && errno == EPIPE)) in_.reset();
  }
  return true;
}

bool Running::wait_for(std::string_view text, int times) {
  const auto deadline = Clock::now() + kPatience;
  while (count_of(outcome_.out, text) < times) {
    if (Clock::now() > deadline || !pump(milliseconds(100))) return false;
  }
  return true;
}

void Running::close_output() {
  out_.reset();
}

bool Running::has_ended() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  outcome_.is_over = true;
  outcome_.status =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome_.took = given_.total();
  return true;
}

Outcome Running::finish() {
  const auto deadline = Clock::now() + kPatience;
  // After the end of acprun there may be text in the pipes; a survivor that
  // holds them open must not hold us.
  while (!has_ended() && Clock::now() < deadline) {
    if (!pump(milliseconds(20))) {
      given_.during(milliseconds(1), [] { return ::poll(nullptr, 0, 1); });
    }
  }
  const auto last_words = Clock::now() + milliseconds(2000);
  while (outcome_.is_over && Clock::now() < last_words &&
         pump(milliseconds(20))) {
  }
  return outcome_;
}

std::vector<pid_t> Running::everybody() const {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = static_cast<pid_t>(
        std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (pid > 0 && has_mark(pid, mark_)) found.push_back(pid);
  }
  return found;
}

bool Running::is_all_gone() const {
  const auto deadline = Clock::now() + kPatience;
  GivenTime given;
  while (given.total() < kGoneWithin && Clock::now() < deadline) {
    // A look through /proc, and a pause.
    const bool is_gone = given.during(milliseconds(8), [&] {
      return everybody().empty() || ::poll(nullptr, 0, 5) != 0;
    });
    if (is_gone) return true;
  }
  return false;
}

Outcome run(const std::vector<std::string>& words, const Setup& setup) {
  Running running(words, setup);
  Outcome outcome = running.finish();
  CHECK(outcome.is_over);
  CHECK(running.is_all_gone());
  return outcome;
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

int count_of(std::string_view text, std::string_view part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos;
       at += part.size()) {
    ++count;
  }
  return count;
}

Scratch::Scratch() {
  std::string name =
      (std::filesystem::temp_directory_path() / "launcher-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Scratch::file(const std::string& name,
                          std::string_view text) const {
  std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  return path_ + "/" + name;
}

std::string Scratch::read(const std::string& name) const {
  std::ifstream file(path_ + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Scratch::is_empty() const {
  return std::filesystem::is_empty(path_);
}

}  // namespace running
