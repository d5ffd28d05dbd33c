// The roll-call: the state of each rank between Hello and Finalized, and
// whether its next message is allowed. A pure state machine; docs/launcher.md
// has the table of its states.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "launcher/verdict.h"
#include "protocol/absence.h"
#include "protocol/bootstrap.h"
#include "protocol/reset_judge.h"

namespace acp::launcher {

enum class RankState : std::uint8_t {
  kStarted,
  kGreeted,
  kInInit,
  kRunning,
  kAtCollective,
  kAtFinalize,
  kLeaving,  ///< Got Go(kFinalize), has not said Finalized.
  kFinalized,
};

inline constexpr std::size_t kRankStates = 8;

struct Nothing {};

/// Answer Welcome to the sender.
struct SayWelcome {};

/// Tell Go(phase) to every rank.
struct SayGo {
  protocol::Phase phase;
};

using Answer = std::variant<Nothing, SayWelcome, SayGo, Verdict>;

/// Used by one thread, which alone touches all fields. Makes no system call.
class Rollcall {
 public:
  explicit Rollcall(std::uint32_t ranks) : ranks_(ranks) {
    count(RankState::kStarted) = ranks;
  }

  std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(ranks_.size());
  }

  void set_pid(std::uint32_t rank, std::uint32_t pid) {
    ranks_[rank].pid = pid & 0xffffff;
  }

  std::uint32_t pid(std::uint32_t rank) const { return ranks_[rank].pid; }

  RankState state(std::uint32_t rank) const { return ranks_[rank].state; }

  bool has_exited(std::uint32_t rank) const {
    return ranks_[rank].has_exited != 0;
  }

  /// Takes a message of this rank and returns the answer to it.
  Answer on_message(std::uint32_t rank,
                    const protocol::BootstrapMessage& message);

  /// Takes the absence of a rank, whose number at launch is `rank`. A verdict
  /// when ranks wait in acp_reset, or arrive there later: a wait for the
  /// launcher does not end by itself.
  Answer on_absence(std::uint32_t rank, const protocol::Absence& absence);

  /// Takes the end of a rank's process. Returns a verdict when the job fails by
  /// it. A rank of macprun ends twice: its program, which on_message() is told,
  /// and its seat. A seat that fails after a program which ended well tells of
  /// the MPI job's launcher.
  std::optional<Verdict> on_exit(std::uint32_t rank, int wait_status);

  /// Whether each rank is in acp_reset or acp_finalize, or has exited.
  bool have_all_met() const;

  /// True from the first Arrive of kNetwork or kInit until the Go of that
  /// phase, for --init-timeout.
  bool is_meeting() const noexcept;
  /// Lists the ranks that have not arrived in acp_init.
  std::vector<std::uint32_t> missing_in_init() const;

 private:
  /// One word for each rank of the job: all that acprun keeps of a rank while
  /// the job runs well. Linux has at most 2^22 process ids.
  struct Rank {
    std::uint32_t pid : 24 = 0;
    std::uint32_t has_exited : 1 = 0;
    RankState state : 7 = RankState::kStarted;
  };

  static_assert(sizeof(Rank) == 4);

  std::uint32_t& count(RankState state) {
    return counts_[static_cast<std::size_t>(state)];
  }

  std::uint32_t count(RankState state) const {
    return counts_[static_cast<std::size_t>(state)];
  }

  void move(Rank& rank, RankState state);
  void note_exit(Rank& rank);
  std::uint32_t first_in(RankState state) const;
  Answer on_hello(std::uint32_t rank, std::uint64_t pid);
  Answer on_arrive(std::uint32_t rank, std::uint64_t phase);
  std::optional<Verdict> judge_absence() const;
  std::optional<Verdict> judge_silent_exit(std::uint32_t rank) const;
  Verdict verdict(Cause cause,
                  std::uint32_t rank,
                  std::int64_t value = 0,
                  std::string text = {}) const;

  std::vector<Rank> ranks_;
  /// Ranks by state, so that no message needs a look at every rank.
  std::array<std::uint32_t, kRankStates> counts_{};
  /// Ranks between Hello and Finalized whose process has not exited.
  std::uint32_t inside_ = 0;
  std::uint32_t exited_ = 0;

  protocol::ResetJudge judge_;
  /// How often all ranks have met in acp_reset. All messages come in one order,
  /// so a rank that is not there has come to as many meetings.
  std::uint64_t meetings_ = 0;
};

}  // namespace acp::launcher
