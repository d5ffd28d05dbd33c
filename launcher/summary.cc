// The texts of a bad end. Called by job.cc with the verdict and the ranks'
// waits at that moment. It looks at no process itself, since the ranks may be
// gone.
#include "launcher/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <vector>

#include "launcher/program_name.h"
#include "launcher/rank_set.h"

namespace acp::launcher {

namespace {

/// Returns "rank 2", or "rank 2 (started as rank 0)" after acp_reset.
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

/// Ranks in one call, for whichever ranks they wait there.
struct RankGroup {
  std::string what;
  std::vector<std::uint32_t> ranks;  ///< Ascending.
  std::set<std::uint32_t> peers;     ///< kNoSlot: a rank waits for no peer.
};

/// Groups the ranks without the culprit, the largest group first.
std::vector<RankGroup> group_others(std::uint32_t culprit,
                                    std::span<const RankWait> waits) {
  std::map<std::string, RankGroup> by_call;
  for (const RankWait& wait : waits) {
    if (wait.launch_rank == culprit) continue;
    RankGroup& group = by_call[wait.what];
    group.ranks.push_back(wait.rank);
    group.peers.insert(wait.peer);
  }
  std::vector<RankGroup> groups;
  for (auto& [what, group] : by_call) {
    group.what = what;
    std::ranges::sort(group.ranks);
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, [](const RankGroup& a, const RankGroup& b) {
    return a.ranks.size() > b.ranks.size();
  });
  return groups;
}

/// Joins several groups into one.
RankGroup join_groups(std::span<const RankGroup> groups) {
  RankGroup all{"doing something else: ", {}, {protocol::kNoSlot}};
  for (const RankGroup& group : groups) {
    if (!all.ranks.empty()) all.what += ", ";
    all.what += group.what;
    all.ranks.insert(all.ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  std::ranges::sort(all.ranks);
  return all;
}

/// Returns " for ranks 2-3" where each rank of the group waits for a peer. If
/// the group waits for the culprit, returns "": the first line of the summary
/// names the culprit already.
std::string describe_peers(const RankGroup& group,
                           std::uint32_t culprit,
                           std::span<const RankWait> waits) {
  if (group.peers.contains(protocol::kNoSlot)) return "";
  if (culprit < waits.size() && group.peers.contains(waits[culprit].rank)) {
    return "";
  }
  return " for " + describe_ranks(std::vector<std::uint32_t>(
                       group.peers.begin(), group.peers.end()));
}

/// Describes the other ranks: a line for each group, five lines at most. A
/// single rank that does another thing is often the reason, so groups of middle
/// size share a line when there are too many.
std::string describe_others(std::uint32_t culprit,
                            std::span<const RankWait> waits) {
  constexpr std::size_t kLines = 5;
  std::vector<RankGroup> groups = group_others(culprit, waits);
  if (groups.empty()) {
    return fmt::format("{}: there was no other rank\n", program_name());
  }
  if (groups.size() > kLines) {
    const auto first = groups.begin() + 1;
    const auto last = groups.end() - (kLines - 2);
    const RankGroup middle = join_groups({first, last});
    groups.erase(first + 1, last);
    groups[1] = middle;
  }
  std::string text;
  for (const RankGroup& group : groups) {
    text += fmt::format("{}: {} {} {}{}\n", program_name(),
                        describe_ranks(group.ranks),
                        group.ranks.size() == 1 ? "was" : "were", group.what,
                        describe_peers(group, culprit, waits));
  }
  return text;
}

/// A line of macprun's input file has a command of its own.
std::string advise_backtrace(const Verdict& verdict) {
  constexpr std::string_view kDebugger =
      "gdb -batch -return-child-result -ex run -ex \"thread apply all bt\" "
      "--args";
  return verdict.group.empty()
             ? fmt::format(
                   "for a backtrace: acprun --wrap '{}' --wrap-ranks {} ...",
                   kDebugger, verdict.rank)
             : fmt::format(
                   "for a backtrace, write {} before the command of that line",
                   kDebugger);
}

/// The kernel sends some of these signals, and a person or a launcher the
/// others.
std::string advise_on_signal(const Verdict& verdict) {
  switch (verdict.value) {
    case SIGKILL:
      return fmt::format(
          "{} did not send it: look for \"out of memory\" in "
          "dmesg, or for who did",
          program_name());
    case SIGSEGV:
    case SIGBUS:
    case SIGABRT:
    case SIGFPE:
    case SIGILL: return advise_backtrace(verdict);
    case SIGXFSZ:
      return "it wrote a file beyond the limit of file sizes: raise that limit "
             "(ulimit -f)";
    case SIGXCPU:
      return "it used up its processor time: raise that limit (ulimit -t)";
    default:
      return verdict.is_foreign
                 ? "its launcher sends it when another process of the MPI job "
                   "has failed or has left out MPI_Finalize"
                 : "somebody sent it";
  }
}

std::string advise_on_output(std::uint32_t rank, RankWords words) {
  switch (words) {
    case RankWords::kNone:
      return fmt::format(
          "rank {} wrote nothing; with ACP_LOG=debug its calls of ACP appear",
          rank);
    case RankWords::kInFiles:
      return fmt::format("see rank.{0}.err and rank.{0}.out in --output-dir",
                         rank);
    case RankWords::kAbove: break;
  }
  return fmt::format("see what rank {} wrote above", rank);
}

/// A verdict's own advice comes first; otherwise the cause decides.
std::string advise(const Verdict& verdict,
                   std::string_view host,
                   RankWords words) {
  if (!verdict.advice.empty()) return verdict.advice;
  switch (verdict.cause) {
    case Cause::kExited:
    case Cause::kAborted: return advise_on_output(verdict.rank, words);
    case Cause::kSignaled: return advise_on_signal(verdict);
    case Cause::kNotStarted: return "check the program";
    case Cause::kLeftEarly:
      return "every rank of a job calls acp_init, or none does";
    case Cause::kNotFinalized:
      return "call acp_finalize before the program returns";
    case Cause::kLauncherFailed:
      return "see what it wrote above; every process of an MPI job has to call "
             "MPI_Finalize";
    case Cause::kProtocol:
      return "check that program and acprun use the same ACP (acprun "
             "--version)";
    case Cause::kInitTimeout:
      return "if they need longer before acp_init, give --init-timeout";
    case Cause::kTimeout:
      return "give a longer --timeout if it needs one; if all ranks wait, look "
             "for a call that one of them left out";
    case Cause::kWatchdog:
      return verdict.ranks.empty()
                 ? "look for a call that one rank left out"
                 : fmt::format(
                       "look for who stopped it; kill -CONT {} on {} would "
                       "have let it go on",
                       verdict.pid, host);
    case Cause::kInterrupted: return "nothing is left running";
    case Cause::kHostFailed: return "see what it says above";
    case Cause::kHostLost:
    case Cause::kKeeperLost: return "nothing is left running; start it again";
    case Cause::kOutputClosed:
    case Cause::kOutputFailed: return "output was lost";
  }
  return "";
}

}  // namespace

/// A cause about a whole host names it already. Otherwise the text gets the
/// host, and the process if it is known. That is the rank itself, the launcher
/// of the group, or a process without a rank.
std::string describe_end(const Verdict& verdict,
                         std::string_view host,
                         std::span<const RankWait> waits) {
  std::string cause = on_one_line(describe_cause(verdict));
  if (verdict.cause == Cause::kHostFailed ||
      verdict.cause == Cause::kHostLost) {
    return cause;
  }
  if (verdict.cause == Cause::kLauncherFailed) {
    return fmt::format("{} on {} {}", verdict.group, host, cause);
  }
  if (verdict.rank == kNoRank) {
    if (host.empty()) return cause;
    return verdict.pid == 0
               ? fmt::format("{} on {}", cause, host)
               : fmt::format("{} on {} (pid {})", cause, host, verdict.pid);
  }
  const std::string group =
      verdict.group.empty() ? "" : fmt::format(" ({})", verdict.group);
  return fmt::format("{}{} on {} (pid {}) {}", name_rank(verdict.rank, waits),
                     group, host, verdict.pid, cause);
}

std::string describe_hang(const Verdict& verdict,
                          std::span<const RankWait> waits) {
  return fmt::format(
      "{0}: {1}\n{2}{0}: the job goes on; {3}\n", program_name(),
      describe_end(verdict, "", waits), describe_others(verdict.rank, waits),
      verdict.ranks.empty() ? "look for a call that one rank left out"
                            : "look for who stopped it");
}

std::string summarize(const Verdict& verdict,
                      std::string_view host,
                      std::span<const RankWait> waits,
                      std::string_view traffic,
                      RankWords words) {
  return fmt::format(
      "{0}: {1}\n{2}{3}{0}: ended the job with status {4}; {5}\n",
      program_name(), describe_end(verdict, host, waits),
      describe_others(verdict.rank, waits), traffic, exit_status(verdict),
      advise(verdict, host, words));
}

}  // namespace acp::launcher
