// Functions of the main functions of acprun and macprun, which call them. Each
// step may end the launcher before it starts a process; only run_plan() starts
// any.
#include "launcher/launcher_main.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>
#include <string_view>

#include "base/printable.h"
#include "launcher/daemon.h"
#include "launcher/job.h"
#include "launcher/program_name.h"
#include "launcher/signals.h"
#include "launcher/spawn.h"

namespace acp::launcher {

namespace {

void print(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Raises the limit of open files: each rank takes six descriptors for a
/// moment.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// Returns whether the user asked for a binding that is not possible. A job
/// that is unbound by default runs without a message.
bool is_binding_refused(const JobPlan& plan) {
  return plan.local && !plan.local->why_unbound.empty() &&
         plan.options.binding != Binding::kAuto;
}

}  // namespace

void tidy_descriptors() {
  for (int fd = 0; fd <= kBootstrapFd; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      // open() returns the lowest free number, which is `fd`. A closed standard
      // output becomes a folder, to which writing stays an error.
      [[maybe_unused]] const int opened =
          fd == STDOUT_FILENO ? ::open("/", O_PATH | O_DIRECTORY)
                              : ::open("/dev/null", O_RDWR);
    }
  }
  ::syscall(SYS_close_range, kBootstrapFd, std::numeric_limits<unsigned>::max(),
            CLOSE_RANGE_CLOEXEC);
}

int leave(const EarlyExit& exit) {
  if (exit.status == 0) {
    print(STDOUT_FILENO, exit.text);
  } else if (!exit.text.empty()) {
    print(STDERR_FILENO,
          fmt::format("{}: {}\n", program_name(), printable(exit.text)));
  }
  return exit.status;
}

int run_plan(const JobPlan& plan) {
  if (plan.options.dry_run) {
    print(STDOUT_FILENO, describe_plan(plan));
    return 0;
  }
  if (plan.options.report_bindings && plan.local) {
    print(STDERR_FILENO, describe_bindings(*plan.local, plan.host));
  } else if (is_binding_refused(plan)) {
    print(STDERR_FILENO, fmt::format("{}: --bind: the ranks run unbound: {}\n",
                                     program_name(), plan.local->why_unbound));
  }
  auto signals = Signals::take_over();
  if (!signals.ok()) return kStatusLauncher;
  raise_open_files();
  return run_job(plan, *signals);
}

int be_daemon() {
  auto signals = Signals::take_over();
  if (!signals.ok()) return kStatusLauncher;
  raise_open_files();
  return run_daemon(*signals);
}

}  // namespace acp::launcher
