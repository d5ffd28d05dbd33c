// acprun's main: options, plan, signals, then the job. docs/launcher.md
// explains the whole.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "launcher/agent.h"
#include "launcher/job.h"
#include "launcher/options.h"
#include "launcher/plan.h"
#include "launcher/signals.h"
#include "launcher/spawn.h"

namespace {

using namespace acp::launcher;  // NOLINT: this file is the program

void print(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

int leave(const EarlyExit& exit) {
  if (exit.status == 0) {
    print(STDOUT_FILENO, exit.text);
  } else if (!exit.text.empty()) {
    print(STDERR_FILENO, fmt::format("acprun: {}\n", exit.text));
  }
  return exit.status;
}

/// Opens descriptors 0 to 3 where they are closed, so that no descriptor of
/// acprun gets these numbers. Sets close-on-exec on 3 and all above, so that
/// ranks get none that acprun inherited.
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

/// Starts as the agent of an acprun on another host.
int be_agent() {
  auto signals = Signals::take_over();
  if (!signals.ok()) return kStatusLauncher;
  raise_open_files();
  return run_agent(*signals);
}

}  // namespace

/// Each step may end acprun before it starts a process; run_job() starts them.
int main(int argc, char** argv) {
  acp::set_log_prefix("acprun");
  tidy_descriptors();
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--agent"}) return be_agent();
  const auto lookup = [](const char* name) {
    return std::getenv(name);
  };
  auto options = parse_options(words, lookup);
  if (const auto* exit = std::get_if<EarlyExit>(&options)) return leave(*exit);
  auto planned =
      make_plan(std::move(std::get<Options>(options)), environ, lookup);
  if (const auto* exit = std::get_if<EarlyExit>(&planned)) return leave(*exit);
  const JobPlan& plan = std::get<JobPlan>(planned);
  if (plan.options.dry_run) {
    print(STDOUT_FILENO, describe_plan(plan));
    return 0;
  }
  if (plan.options.report_bindings && plan.local) {
    print(STDERR_FILENO, describe_bindings(*plan.local, plan.host));
  } else if (is_binding_refused(plan)) {
    print(STDERR_FILENO,
          fmt::format("acprun: --bind: the ranks run unbound: {}\n",
                      plan.local->why_unbound));
  }
  auto signals = Signals::take_over();
  if (!signals.ok()) return kStatusLauncher;
  raise_open_files();
  return run_job(plan, *signals);
}
