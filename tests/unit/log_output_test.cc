// LogOutput: log lines for a reader of standard error that is slow, stopped or
// gone.
#include "base/log_output.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/unique_fd.h"

#ifdef __SANITIZE_THREAD__
// The child of a process with several threads starts a thread.
extern "C" [[gnu::visibility("default")]] const char*
__tsan_default_options() {  // NOLINT(*-identifier)
  return "die_after_fork=0";
}
#endif

namespace acp {

namespace {

using std::chrono::seconds;

constexpr Duration kLong = seconds(60);

/// Standard error is a pipe or a socket of one page while it lives.
class OwnStderr {
 public:
  enum class Kind { kPipe, kSocket };

  explicit OwnStderr(Kind kind) : saved_(::dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    if (kind == Kind::kPipe) {
      REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
      ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
    } else {
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
                           ends.data()) == 0);
      const int size = 4096;
      ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    reader_.reset(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }

  OwnStderr(const OwnStderr&) = delete;
  OwnStderr& operator=(const OwnStderr&) = delete;

  ~OwnStderr() { restore(); }

  void restore() {
    if (saved_) ::dup2(saved_.get(), STDERR_FILENO);
    saved_.reset();
  }

  /// No process can read any more.
  void lose_reader() { reader_.reset(); }

  /// Reads a part; "" at the end.
  std::string read() const {
    std::array<char, 4096> buffer{};
    const ssize_t n = ::read(reader_.get(), buffer.data(), buffer.size());
    return {buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }

  /// Reads up to and including `last`.
  std::string read_to(const std::string& last) const {
    std::string text;
    while (text.find(last) == std::string::npos) {
      const std::string part = read();
      if (part.empty()) break;
      text += part;
    }
    return text;
  }

 private:
  UniqueFd saved_;
  UniqueFd reader_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

/// Line number `i`, of about 100 bytes.
std::string numbered(int i) {
  return std::to_string(i) + std::string(90, '.');
}

/// An object that is never destroyed: its thread may live longer than the test.
/// The list of them keeps it from being a leak.
LogOutput& new_output() {
  static auto& all = *new std::deque<LogOutput>;  // NOLINT(*-owning-memory)
  return all.emplace_back();
}

int flags_of_stderr() {
  return ::fcntl(STDERR_FILENO, F_GETFL);
}

}  // namespace

TEST_CASE("log output: no line waits for a reader that does not read",
          "[base][log]") {
  const auto kind = GENERATE(OwnStderr::Kind::kPipe, OwnStderr::Kind::kSocket);
  LogOutput& output = new_output();
  OwnStderr own(kind);
  constexpr int kLines = 20'000;
  const int flags = flags_of_stderr();
  const auto begin = SteadyClock().now();
  for (int i = 0; i < kLines; ++i)
    output.put("error", numbered(i));
  // All lines together wait once. A write that blocked would never end.
  CHECK(SteadyClock().now() - begin < LogOutput::kPatience + kLong);
  CHECK_FALSE(output.deliver(Duration(0)));
  CHECK(flags_of_stderr() == flags);

  std::thread reader;
  std::string text;
  reader = std::thread([&] { text = own.read_to("the last line"); });
  CHECK(output.deliver(kLong));
  output.put("error", "the last line");
  CHECK(output.deliver(kLong));
  own.restore();
  reader.join();

  int next = 0;
  long lost = 0;
  for (const std::string& line : lines_of(text)) {
    if (const auto at = line.find(" log lines were lost");
        at != std::string::npos) {
      CHECK(line.find("acp: warning: ") == 0);
      lost += std::stol(line.substr(line.rfind(' ', at - 1) + 1));
    } else if (line != "acp: error: the last line") {
      // Lines that were lost are the last ones: there was no room again.
      CHECK(line == "acp: error: " + numbered(next));
      ++next;
    }
  }
  CHECK(next > 1000);
  CHECK(lost > 0);
  CHECK(next + lost == kLines);
}

TEST_CASE("log output: a slow reader gets every line of a burst",
          "[base][log]") {
  LogOutput& output = new_output();
  OwnStderr own(OwnStderr::Kind::kPipe);
  output.set_head("acp: rank 1 on h: ");
  constexpr int kLines = 10'000;  // four times the room
  std::string text;
  std::thread reader([&] { text = own.read_to("the last line"); });
  for (int i = 0; i < kLines; ++i) {
    output.put("error", numbered(i));
    if (i % 1000 == 0) {
      CHECK(output.deliver(kLong));
    }
  }
  output.put("", "the last line");
  CHECK(output.deliver(kLong));
  own.restore();
  reader.join();
  const auto lines = lines_of(text);
  REQUIRE(lines.size() == kLines + 1);
  for (int i = 0; i < kLines; ++i)
    CHECK(lines[static_cast<std::size_t>(i)] ==
          "acp: rank 1 on h: error: " + numbered(i));
  CHECK(lines.back() == "acp: rank 1 on h: the last line");
}

TEST_CASE("log output: a broken standard error blocks and ends nothing",
          "[base][log]") {
  LogOutput& output = new_output();
  SECTION("closed") {
    OwnStderr own(OwnStderr::Kind::kPipe);
    ::close(STDERR_FILENO);
    output.put("error", "into nothing");
    output.put("error", "into nothing");
    own.restore();
  }
  SECTION("the reader goes while lines wait") {
    OwnStderr own(OwnStderr::Kind::kPipe);
    for (int i = 0; i < 1000; ++i)
      output.put("error", numbered(i));
    own.lose_reader();
    CHECK(output.deliver(kLong));
    own.restore();
  }
  // Lines that never arrived are counted in front of the next one.
  OwnStderr own(OwnStderr::Kind::kPipe);
  output.put("error", "heard again");
  CHECK(output.deliver(kLong));
  const auto lines = lines_of(own.read_to("heard again\n"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find(" log lines were lost: standard error took no more") !=
        std::string::npos);
  CHECK(lines[1] == "acp: error: heard again");
}

TEST_CASE("log output: a line longer than the room for one is cut",
          "[base][log]") {
  LogOutput& output = new_output();
  OwnStderr own(OwnStderr::Kind::kPipe);
  std::string text;
  std::thread reader([&] { text = own.read_to("\n"); });
  output.put("error", std::string(1 << 20, 'x'));
  CHECK(output.deliver(kLong));
  own.restore();
  reader.join();
  CHECK(text.size() == LogOutput::kMaxLine);
  CHECK(text.substr(0, 13) == "acp: error: x");
}

TEST_CASE("log output: a child made by fork() does not repeat its parent",
          "[base][log]") {
  LogOutput& output = new_output();
  OwnStderr own(OwnStderr::Kind::kPipe);
  for (int i = 0; i < 1000; ++i)
    output.put("error", numbered(i));
  output.lock();
  const pid_t child = ::fork();
  if (child == 0) {
    output.unlock_in_child();
    // It has no writer yet, and the parent's lines fill the pipe.
    output.put("error", "of the child");
    ::_exit(output.deliver(kLong) ? 0 : 1);
  }
  output.unlock();
  REQUIRE(child > 0);
  std::string text;
  std::thread reader([&] {
    while (text.find("of the child\n") == std::string::npos ||
           text.find(numbered(999) + "\n") == std::string::npos) {
      text += own.read();
    }
  });
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  if (status != 0) output.put("error", "of the child");  // The reader ends.
  CHECK(output.deliver(kLong));
  reader.join();
  own.restore();
  CHECK(lines_of(text).size() == 1001);
}

}  // namespace acp
