// Forks and execs one program. Called by seats and join commands, which have
// one thread each. Between fork and exec the child may make system calls only.
#include "launcher/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// The part of the child. Between fork and exec it makes system calls only.
[[noreturn]] void become(const ChildPlan& plan,
                         char* const* words,
                         char* const* environment,
                         const sigset_t& mask,
                         pid_t parent,
                         int failures) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (plan.has_own_group) ::setpgid(0, 0);
  // Sources with small numbers would be overwritten by each other.
  std::array<int, 3> sources{};
  for (std::size_t i = 0; i < 3; ++i)
    sources[i] = ::fcntl(plan.standard[i], F_DUPFD_CLOEXEC, 10);
  for (std::size_t i = 0; i < 3; ++i)
    ::dup2(sources[i], static_cast<int>(i));
  for (const int fd : plan.kept)
    ::fcntl(fd, F_SETFD, 0);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execve(plan.path.c_str(), words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(failures, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

SignalQueue::SignalQueue() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1,
                           SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT}) {
    sigaddset(&set, signal);
  }
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// The pipe closes with exec, so an empty read says that the program runs.
StartedChild start_child(const ChildPlan& plan, const sigset_t& mask) {
  const std::vector<char*> words = pointers_to(plan.words);
  const std::vector<char*> environment = pointers_to(plan.environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {-1, errno};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(plan, words.data(), environment.data(), mask, parent, writer.get());
  }
  if (pid < 0) return {-1, errno};
  writer.reset();
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(reader.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof error)) return {pid, 0};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {-1, error};
}

void end_like(int wait_status) {
  deliver_log(kLastLinesLimit);
  if (WIFSIGNALED(wait_status)) {
    const rlimit none{};
    ::setrlimit(RLIMIT_CORE, &none);
    const int signal = WTERMSIG(wait_status);
    ::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    ::kill(::getpid(), signal);
    ::_exit(128 + signal);
  }
  ::_exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1);
}

}  // namespace acp::launcher
