#include "launcher/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <vector>

#include "launcher/rank_set.h"

namespace acp::launcher {

namespace {

/// "rank 2", or "rank 2 (started as rank 0)" after acp_reset.
std::string name_rank(std::uint32_t launch_rank,
                      std::span<const RankWait> waits) {
  if (launch_rank >= waits.size() || waits[launch_rank].rank == launch_rank) {
    return fmt::format("rank {}", launch_rank);
  }
  return fmt::format("rank {} (started as rank {})", waits[launch_rank].rank,
                     launch_rank);
}

std::string on_one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Ranks that do the same, together: "ranks 0,2-3 were waiting in acp_sync".
std::string describe_others(std::uint32_t culprit,
                            std::span<const RankWait> waits) {
  std::map<std::string, std::vector<std::uint32_t>> groups;
  for (const RankWait& wait : waits) {
    if (wait.launch_rank != culprit) groups[wait.what].push_back(wait.rank);
  }
  if (groups.empty()) return "there was no other rank";
  std::string text;
  for (auto& [what, ranks] : groups) {
    std::sort(ranks.begin(), ranks.end());
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {} {}", describe_ranks(ranks),
                        ranks.size() == 1 ? "was" : "were", what);
  }
  return text;
}

std::string advise_on_signal(const Verdict& verdict) {
  switch (verdict.value) {
    case SIGKILL:
      return "acprun did not send it: look for \"out of memory\" in dmesg, or "
             "for who did";
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
    case SIGFPE:
    case SIGILL:
      return fmt::format(
          "for a backtrace: acprun --wrap 'gdb -batch -return-child-result "
          "-ex run -ex bt --args' --wrap-ranks {} ...",
          verdict.rank);
    default: return "somebody sent it";
  }
}

std::string advise(const Verdict& verdict) {
  switch (verdict.cause) {
    case Cause::kExited:
    case Cause::kAborted:
      return fmt::format("see what rank {} wrote above", verdict.rank);
    case Cause::kSignaled: return advise_on_signal(verdict);
    case Cause::kNotStarted: return "check the program and --wdir";
    case Cause::kLeftEarly:
      return "every rank of a job calls acp_init, or none does";
    case Cause::kNotFinalized:
      return "call acp_finalize before the program returns";
    case Cause::kProtocol:
      return "check that program and acprun use the same ACP (acprun "
             "--version)";
    case Cause::kInitTimeout:
      return "if they need longer before acp_init, give --init-timeout";
    case Cause::kTimeout: return "give a longer --timeout if it needs one";
    case Cause::kWatchdog: return "look for a call that one rank left out";
    case Cause::kInterrupted: return "nothing is left running";
    case Cause::kKeeperLost: return "nothing is left running; start it again";
    case Cause::kOutputClosed:
    case Cause::kOutputFailed: return "output was lost";
  }
  return "";
}

}  // namespace

std::string describe_end(const Verdict& verdict,
                         std::string_view host,
                         std::span<const RankWait> waits) {
  const std::string cause = on_one_line(describe_cause(verdict));
  if (verdict.rank == kNoRank) {
    return verdict.pid == 0
               ? fmt::format("{} on {}", cause, host)
               : fmt::format("{} on {} (pid {})", cause, host, verdict.pid);
  }
  return fmt::format("{} on {} (pid {}) {}", name_rank(verdict.rank, waits),
                     host, verdict.pid, cause);
}

std::string summarize(const Verdict& verdict,
                      std::string_view host,
                      std::span<const RankWait> waits) {
  return fmt::format(
      "acprun: {}\nacprun: {}\nacprun: ended the job with status {}; {}\n",
      describe_end(verdict, host, waits), describe_others(verdict.rank, waits),
      exit_status(verdict), advise(verdict));
}

}  // namespace acp::launcher
