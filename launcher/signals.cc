// Blocks the signals of acprun and reads them from a signalfd. Called by
// launcher_main.cc before any child is forked. The ranks may not keep the mask:
// spawn.cc gives them the one that acprun had.
#include "launcher/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"

namespace acp::launcher {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};

  return ::sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

void set_disposition(int signal, void (*handler)(int)) {
  struct sigaction action {};

  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

bool is_request_to_end(int signal) noexcept {
  return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT;
}

/// Reads the state that ranks get back before it changes that state. Signals
/// are blocked before the signalfd exists, so none is lost in between.
Result<Signals> Signals::take_over() {
  Signals signals;
  InheritedState& inherited = signals.inherited_;
  inherited.ignores_pipe = is_ignored(SIGPIPE);
  inherited.ignores_file_size = is_ignored(SIGXFSZ);
  ::getrlimit(RLIMIT_NOFILE, &inherited.open_files);

  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2,
                           SIGWINCH, SIGTSTP, SIGCONT}) {
    // nohup and "&" ignore signals, which then have to stay ignored.
    if (!is_ignored(signal)) sigaddset(&handled, signal);
  }
  sigset_t blocked = handled;
  sigaddset(&blocked, SIGCHLD);
  // With SIGTTIN blocked, reading the terminal from the background fails
  // instead of stopping acprun.
  sigaddset(&blocked, SIGTTIN);
  if (::sigprocmask(SIG_BLOCK, &blocked, &inherited.mask) != 0) {
    log_error("sigprocmask: {}", errno_text(errno));
    return Status::kSystem;
  }
  set_disposition(SIGPIPE, SIG_IGN);
  // A write beyond the limit of file sizes fails with EFBIG, which is reported.
  set_disposition(SIGXFSZ, SIG_IGN);
  // With SIGCHLD ignored, as some parents leave it, the kernel would drop exit
  // statuses.
  set_disposition(SIGCHLD, SIG_DFL);
  signals.fd_.reset(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_) {
    log_error("signalfd: {}", errno_text(errno));
    return Status::kSystem;
  }
  return signals;
}

int next_signal(int fd) {
  signalfd_siginfo info{};
  const ssize_t n = ::read(fd, &info, sizeof info);
  return n == static_cast<ssize_t>(sizeof info)
             ? static_cast<int>(info.ssi_signo)
             : 0;
}

}  // namespace acp::launcher
