// Exit statuses and texts of the ways in which a job fails. Called by job.cc
// and the summary, and for words about one process by daemons, their
// connections and seats. Pure.
#include "launcher/verdict.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "launcher/early_exit.h"
#include "launcher/program_name.h"
#include "launcher/rank_set.h"

namespace acp::launcher {

namespace {

std::string seconds(std::int64_t in_ms) {
  return fmt::format("{:g} s", static_cast<double>(in_ms) / 1000.0);
}

/// The exit status of a rank that failed. A value that would be 0 becomes 1.
int failure_status(std::int64_t value) noexcept {
  const int status = static_cast<int>(value & 0xff);
  return status == 0 ? 1 : status;
}

}  // namespace

bool is_limit(Cause cause) noexcept {
  return cause == Cause::kInitTimeout || cause == Cause::kTimeout ||
         cause == Cause::kWatchdog;
}

/// Follows the shell: 128 + N for a signal, the program's own status where
/// there is one. A cause that lies in acprun itself or in the machinery has
/// kStatusLauncher.
int exit_status(const Verdict& verdict) noexcept {
  switch (verdict.cause) {
    case Cause::kExited:
    case Cause::kAborted:
    case Cause::kHostFailed:
    case Cause::kNotStarted: return failure_status(verdict.value);
    case Cause::kSignaled:
    case Cause::kInterrupted: return 128 + static_cast<int>(verdict.value);
    case Cause::kLeftEarly:
    case Cause::kNotFinalized: return 1;
    case Cause::kLauncherFailed: {
      const auto status = static_cast<int>(verdict.value);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    case Cause::kInitTimeout:
    case Cause::kTimeout:
    case Cause::kWatchdog: return kStatusTimeout;
    case Cause::kOutputClosed: return 128 + SIGPIPE;
    case Cause::kProtocol:
    case Cause::kKeeperLost:
    case Cause::kHostLost:
    case Cause::kOutputFailed: return kStatusLauncher;
  }
  return kStatusLauncher;
}

std::string describe_signal(int signal) {
  const char* text = ::sigdescr_np(signal);
  return fmt::format("signal {} ({})", signal,
                     text == nullptr ? "unknown" : text);
}

std::string describe_status(int wait_status) {
  return WIFSIGNALED(wait_status)
             ? "was killed by " + describe_signal(WTERMSIG(wait_status))
             : fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

/// The clause follows "rank N on HOST (pid P)" or stands alone, by the cause.
std::string describe_cause(const Verdict& verdict) {
  const auto number = static_cast<int>(verdict.value);
  switch (verdict.cause) {
    case Cause::kExited: return fmt::format("exited with status {}", number);
    case Cause::kSignaled:
      return fmt::format("was killed by {}", describe_signal(number));
    case Cause::kAborted: return fmt::format("ended the job: {}", verdict.text);
    case Cause::kNotStarted:
      return fmt::format("could not be started: {}", verdict.text);
    case Cause::kLeftEarly:
      return "exited with status 0 before acp_init was over, which other ranks "
             "called";
    case Cause::kNotFinalized:
      return "exited with status 0 without acp_finalize while other ranks were "
             "inside";
    case Cause::kProtocol: return verdict.text;
    case Cause::kInitTimeout:
      return fmt::format(
          "{} did not come to the rendezvous of acp_init within {} of the "
          "first",
          describe_ranks(verdict.ranks), seconds(verdict.value));
    case Cause::kTimeout:
      return fmt::format("the job ran longer than --timeout={:g}",
                         static_cast<double>(verdict.value) / 1000.0);
    case Cause::kWatchdog:
      return verdict.ranks.empty()
                 ? fmt::format(
                       "all ranks waited for {} and none got any further",
                       seconds(verdict.value))
                 : fmt::format(
                       "for {} no rank got any further, with {} stopped by a "
                       "signal (state T)",
                       seconds(verdict.value), describe_ranks(verdict.ranks));
    case Cause::kInterrupted:
      return fmt::format("{} got {}", program_name(), describe_signal(number));
    case Cause::kLauncherFailed:
      return fmt::format("{}, after its processes had ended with status 0",
                         describe_status(number));
    case Cause::kKeeperLost:
      return fmt::format("the keeper, parent of {}, {}",
                         describe_ranks(verdict.ranks),
                         describe_status(number));
    case Cause::kHostFailed:
    case Cause::kHostLost: return verdict.text;
    case Cause::kOutputClosed: return "the reader of standard output closed it";
    case Cause::kOutputFailed: return verdict.text;
  }
  return "failed";
}

}  // namespace acp::launcher
