// A verdict says how a job failed. acprun's exit status follows from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acp::launcher {

inline constexpr std::uint32_t kNoRank = UINT32_MAX;

/// The ways in which a job fails, with the fields of Verdict that each uses.
enum class Cause : std::uint8_t {
  kExited,          ///< value: exit status, not 0.
  kSignaled,        ///< value: signal.
  kAborted,         ///< value: exit status; text: the rank's own words.
  kNotStarted,      ///< value: exit status to give; text: the failed stage.
  kLeftEarly,       ///< Exit 0 before the others' acp_init was over.
  kNotFinalized,    ///< Exit 0 without acp_finalize.
  kLauncherFailed,  ///< The launcher of the rank's MPI job; value: its wait
                    ///< status.
  kProtocol,        ///< text: the broken rule.
  kInitTimeout,     ///< value: milliseconds; ranks: the missing.
  kTimeout,         ///< value: milliseconds.
  kWatchdog,        ///< value: milliseconds; ranks: stopped, pid: the first's.
  kInterrupted,     ///< value: signal that acprun got.
  kKeeperLost,      ///< pid: the keeper's; value: its wait status; ranks: its
                    ///< children.
  kHostFailed,      ///< value: exit status to give; text: the host and why its
                    ///< ranks cannot be started.
  kHostLost,        ///< text: the host and how it was lost.
  kOutputClosed,    ///< The reader of standard output is gone.
  kOutputFailed,    ///< text: what failed.
};

/// Plain value.
struct Verdict {
  Cause cause = Cause::kExited;
  std::uint32_t rank = kNoRank;  ///< Process number at launch, or kNoRank.
  std::uint32_t pid = 0;
  std::int64_t value = 0;
  std::string text;
  std::vector<std::uint32_t> ranks;
  std::string advice = {};  ///< Advice to the user; "": by the cause.
  /// Number of the host; with kKeeperLost, with a rank, or with the pid of
  /// kWatchdog.
  std::uint32_t host = 0;
  /// CommandGroup::name and CommandGroup::is_foreign of the rank's group.
  std::string group = {};
  bool is_foreign = false;
  /// With kProtocol: two ranks wait in unlike calls. The others may be on their
  /// way to theirs.
  bool is_unlike = false;
};

/// Whether the cause is a limit of time that the whole job has passed.
bool is_limit(Cause cause) noexcept;

/// Returns acprun's exit status for this end of the job; never 0.
int exit_status(const Verdict& verdict) noexcept;

/// Returns a clause without the rank and its host: "was killed by signal 9
/// (Killed)".
std::string describe_cause(const Verdict& verdict);

/// Returns "signal 9 (Killed)".
std::string describe_signal(int signal);

/// Returns "was killed by signal 9 (Killed)" or "exited with status 1".
std::string describe_status(int wait_status);

}  // namespace acp::launcher
