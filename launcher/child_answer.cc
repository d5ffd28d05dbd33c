// Runs a question in a child process. Called by route.cc, machines.cc and
// this_host.cc, which ask the resolver in acprun and its daemons. It may not
// wait longer than the caller's limit, and no child outlives the call.
#include "launcher/child_answer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/unique_fd.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Reads until the child closes its end, which it does by ending.
ChildAnswer read_answer(int fd, Clock::time_point deadline) {
  ChildAnswer answer;
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int found = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) {
      answer.is_late = true;
      return answer;
    }
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return answer;
    answer.bytes.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

/// The kernel ends the child with its parent, because the child has copies of
/// descriptors whose end others wait for.
ChildAnswer answer_of_child(const std::function<void(int fd)>& ask,
                            milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {"", false, errno};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return {"", false, errno};
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) ask(writer.get());
    ::_exit(0);
  }
  writer.reset();
  ChildAnswer answer = read_answer(reader.get(), deadline);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

}  // namespace acp::launcher
