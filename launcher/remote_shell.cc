// Runs the remote shell. Called by DaemonConnection from an event loop; plan.cc
// learns from it which shell that will be. It only starts the shell; nothing
// here waits for it.
#include "launcher/remote_shell.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/log.h"
#include "launcher/early_exit.h"
#include "launcher/pipe.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// ssh gives the words behind the host to the user's shell on the other host,
/// joined by blanks. A word of plain characters needs no quotes, in any shell.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string text = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      text += "'\\''";
    } else {
      text += letter;
    }
  }
  return text + "'";
}

/// Runs in the new process: system calls only.
[[noreturn]] void become_shell(char* const* words,
                               const Pipe& in,
                               const Pipe& out,
                               const Pipe& err,
                               pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  // A signal of the terminal ends the job by acprun, and must not end the
  // connection.
  ::setpgid(0, 0);
  ::dup2(in.read.get(), STDIN_FILENO);
  ::dup2(out.write.get(), STDOUT_FILENO);
  ::dup2(err.write.get(), STDERR_FILENO);

  struct sigaction action {};

  action.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &action, nullptr);
  ::sigaction(SIGXFSZ, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(words[0], words);
  std::string_view text = "it cannot be run here\n";
  if (errno == ENOENT) {
    text = std::string_view(words[0]).find('/') == std::string_view::npos
               ? "it is not found in PATH here\n"
               : "there is no such file here\n";
  }
  [[maybe_unused]] const ssize_t n =
      ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(kStatusNotFound);
}

}  // namespace

RemoteShell remote_shell_of(const std::vector<std::string>& words) {
  RemoteShell shell;
  shell.words = words;
  if (shell.words.empty()) shell.words = {"ssh"};
  if (shell_name(shell) == "ssh") {
    // ssh must not ask a question, and a host that is down must not take
    // minutes: one that is lost after the log-in ends ssh after 12 s, as it
    // ends a daemon (Heartbeat::kSilence).
    for (const char* option :
         {"-x", "-T", "-oBatchMode=yes", "-oConnectTimeout=10",
          "-oServerAliveInterval=4", "-oServerAliveCountMax=2"}) {
      shell.words.emplace_back(option);
    }
  }
  return shell;
}

/// Everything that allocates is done before fork(): between fork and exec the
/// child may only make system calls. This process's ends of the pipes do not
/// block, because one slow host must not hold up the others.
Result<StartedShell> start_remote_shell(const RemoteShell& shell,
                                        const std::string& host) {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in.ok() || !out.ok() || !err.ok()) return Status::kSystem;
  std::vector<std::string> words = shell.words;
  words.push_back(host);
  words.push_back(quoted(shell.acprun));
  words.emplace_back("--daemon");
  const std::vector<char*> pointers = pointers_to(words);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_shell(pointers.data(), *in, *out, *err, parent);
  if (pid < 0) {
    log_error("fork: {}", errno_text(errno));
    return Status::kSystem;
  }
  StartedShell started{pid, std::move(in->write), std::move(out->read),
                       std::move(err->read)};
  set_nonblocking(started.in.get());
  set_nonblocking(started.out.get());
  set_nonblocking(started.words.get());
  return started;
}

std::string shell_name(const RemoteShell& shell) {
  const std::string& command = shell.words.front();
  return command.substr(command.rfind('/') + 1);
}

std::string shell_command(const RemoteShell& shell, const std::string& host) {
  std::string text;
  for (const std::string& word : shell.words)
    text += quoted(word) + " ";
  return text + host + " true";
}

bool may_pass(int exit_status, std::string_view words) noexcept {
  constexpr std::array<std::string_view, 6> kForGood = {
      "Could not resolve", "Permission denied", "Host key verification",
      "No route to host",  "timed out",         "not responding"};
  return exit_status == 255 &&
         std::ranges::none_of(kForGood, [words](std::string_view text) {
           return words.find(text) != std::string_view::npos;
         });
}

std::string advise_on_shell(const RemoteShell& shell,
                            const std::string& host,
                            int wait_status) {
  const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  if (status == kStatusNotFound || status == kStatusCannotRun) {
    return fmt::format(
        "acprun has to be on each host as {}, and {} in PATH here",
        shell.acprun, shell_name(shell));
  }
  return "try: " + shell_command(shell, host);
}

}  // namespace acp::launcher
