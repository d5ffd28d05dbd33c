// The ranks of one host watch each other, when no keeper of acprun does. Each
// rank has one thread for that, which sleeps in poll(). The connections form a
// star: the leader of the host has one to every other rank.
//
//   rank 1 ──┐
//   rank 2 ──┼── rank 0, the leader ── launcher's process on this host
//   rank 3 ──┘        (every rank watches the launcher as well)
//
// Invariants:
//   1. A connection that closes, or a process that ends, before
//      Phase::kFinalize is over ends the job on this host.
//   2. The end of the job is set in the host segment before any rank is told.
//   3. From then on the actions of EndSchedule end this process, unless it ends
//      by itself.
//   4. The end of a connection to another host ends the job on this host, too.
//      While all ranks of this host are in acp_finalize it does so only after
//      kLossPause: the other leader may have left, and its goodbye be lost.
//   5. After Phase::kFinalize deaths mean nothing.
//   6. A line that says why the job ends is written once. The rank that has
//      written the line of a judgement tells the other ranks with the end, and
//      rank 0 tells the other leaders before it orders the end. A leader that
//      holds a connection to rank 0 leaves the line to it.
//
// A rank tells its absence to its leader, and a leader to the other hosts by
// HostConnections. Each leader judges whether ranks of its host wait in
// acp_reset in vain. docs/launcher.md, "Absences under other launchers", has
// the rules.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"
#include "runtime/bootstrap_door.h"
#include "runtime/host_connections.h"
#include "runtime/host_phases.h"
#include "runtime/job_end.h"
#include "runtime/process_manager.h"
#include "runtime/reset_verdict.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

enum class HostRole : std::uint8_t { kLeader, kMember };

/// Thread-safe after start().
class HostWatch {
 public:
  /// `peers`: the other ranks of the host for a leader, the leader for a
  /// member. `connections`: to other hosts, or null. All must outlive this.
  HostWatch(HostRole role,
            std::vector<HostPeer> peers,
            const protocol::HostSegment& segment,
            ProcessManager& manager,
            HostConnections* connections);
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;
  /// Ends the thread and closes the connections.
  ~HostWatch();

  /// Starts the thread. kSystem, logged.
  [[nodiscard]] Status start();

  /// Leader: returns when all other ranks of the host have come to the phase.
  /// kTimedOut and kAborted, logged.
  [[nodiscard]] Status wait_for_ranks(protocol::Phase phase, TimePoint limit);
  /// Leader: lets them go on.
  void go(protocol::Phase phase);

  /// Member: tells the leader that this rank has come to the phase.
  void arrive(protocol::Phase phase);
  /// Member: returns when the leader lets this rank go on. kTimedOut and
  /// kAborted, logged.
  [[nodiscard]] Status wait_for_go(protocol::Phase phase, TimePoint limit);

  /// Tells the other hosts that this rank is absent. Used by the thread that
  /// comes to the phases. Does not block.
  void tell_absence(const protocol::Absence& absence);

  /// Leader: an exchange in acp_reset has failed. A rank in acp_finalize may
  /// have ended its fence, and then the judgement on it is about to come. Waits
  /// for the end of the job, but no longer than kJudgementLimit. True: the job
  /// ends.
  [[nodiscard]] bool await_judgement();

  /// Tells the host and the launcher that the job ends. The first call counts.
  void abort(int exit_status, std::string_view text);

  /// The limit for waits that this class does not do: the end of the job shows
  /// there.
  WaitLimit limit_until(TimePoint deadline) const noexcept {
    return {deadline, end_event_.get(), POLLIN};
  }

  /// Logs that the job ends, with the reason, and returns kAborted.
  Status log_end();

 private:
  /// ResetVerdict::kWritingLimit, and then up to 1.2 s in which the launcher
  /// does not kill the rank that aborts the job. The other ranks hear of the
  /// end after that.
  static constexpr Duration kJudgementLimit = std::chrono::seconds(5);
  /// Longer than the launcher needs to end the fence of one host after that of
  /// another, even when a packet is lost twice.
  static constexpr Duration kLossPause = std::chrono::seconds(1);

  /// An absence of a rank of this host, and how often that rank had come to
  /// Phase::kCollective.
  struct Told {
    protocol::Absence absence;
    std::uint64_t meetings = 0;
  };

  void run();
  void poll_all(TimePoint due);
  void look_at_peers();
  void receive_from(std::size_t peer);
  void take(std::size_t peer, const protocol::BootstrapMessage& message);
  void lose(std::size_t peer);
  void lose_launcher();
  void look_at_hosts();
  void end_lost_host();
  void take_absences_of_leader();
  void send_to_hosts(const Told& told);
  void take_absence_of_other_host(const LeaderMessage& message);
  void judge();
  void note_written();
  void note_silence_of_rank_0();
  void end_stuck(const LeaderMessage& stuck);

  bool is_rank_0() const noexcept { return manager_.rank() == 0; }

  bool begin_end(EndCause cause, std::string text);
  void pass_on(std::string_view text);
  void take_action(EndAction action, TimePoint now);
  std::string name_of(std::size_t peer) const;

  const HostRole role_;
  const protocol::HostSegment& segment_;
  ProcessManager& manager_;
  /// Null: a member, or a job on one host.
  HostConnections* const connections_;
  const std::vector<HostPeer> peers_;
  std::vector<pollfd> ready_;      ///< Result of the last poll. The thread's.
  std::vector<bool> is_lost_;      ///< By peer: it is gone. The thread's.
  bool ignores_launcher_ = false;  ///< Its connection says no more. The
                                   ///< thread's.
  ResetVerdict reset_verdict_;     ///< Leader of one of several hosts. The
                                   ///< thread's.
  /// Leader: a connection to this host has ended without goodbye, and ends the
  /// job at that time. The thread's.
  LostHost lost_host_;
  TimePoint loss_due_ = TimePoint::max();
  UniqueFd stop_event_;  ///< Readable: the thread has to end.
  UniqueFd work_event_;  ///< Readable: told_ or phases_ has changed.
  UniqueFd end_event_;   ///< Readable: the job ends.
  std::thread thread_;

  /// Guards all fields below. No thread logs an error while it holds this.
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< Some field below has changed.
  HostPhases phases_;                ///< Leader: of the ranks of this host.
  /// Member: the phase that is over. The thread sets it.
  std::optional<protocol::Phase> gone_;
  /// Leader: all ranks of the host have come to Phase::kFinalize.
  bool is_finalizing_ = false;
  bool is_calm_ = false;    ///< Phase::kFinalize is over. go() or the thread.
  std::vector<Told> told_;  ///< Leader: its own absences, for the thread.
  std::optional<EndSchedule> end_;  ///< Set once, when the job ends.
  std::string reason_;              ///< Why it ends; set with end_.
  bool is_told_ = false;  ///< The line of a judgement is written, here or by
                          ///< another rank.
};

}  // namespace acp::runtime
