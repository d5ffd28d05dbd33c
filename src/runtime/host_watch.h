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
//   3. From then on the steps of EndSchedule end this process, unless it ends
//      by itself.
//   4. The end of a connection to another host ends the job on this host, too.
//   5. After Phase::kFinalize deaths mean nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"
#include "runtime/bootstrap_door.h"
#include "runtime/bootstrap_links.h"
#include "runtime/job_end.h"
#include "runtime/process_manager.h"
#include "runtime/wait_limit.h"

namespace acp::runtime {

enum class HostRole : std::uint8_t { kLeader, kMember };

/// Thread-safe after start().
class HostWatch {
 public:
  /// `peers`: the other ranks of the host for a leader, the leader for a
  /// member. `links`: to other hosts, or null. All must outlive this.
  HostWatch(HostRole role,
            std::vector<HostPeer> peers,
            const protocol::HostSegment& segment,
            ProcessManager& manager,
            HostLinks* links);
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
  void run();
  void poll_all(TimePoint due);
  void look_at_peers();
  void receive_from(std::size_t peer);
  void take(std::size_t peer, const protocol::BootstrapMessage& message);
  void lose(std::size_t peer);
  void lose_launcher();
  void look_at_hosts();
  bool begin_end(EndCause cause, std::string text);
  void pass_on(std::string_view text);
  void take_step(EndStep step, TimePoint now);
  std::string name_of(std::size_t peer) const;

  const HostRole role_;
  const protocol::HostSegment& segment_;
  ProcessManager& manager_;
  HostLinks* const links_;  ///< Null: a member, or a job on one host.
  const std::vector<HostPeer> peers_;
  std::vector<pollfd> ready_;      ///< Result of the last poll. The thread's.
  std::vector<bool> is_lost_;      ///< By peer: it is gone. The thread's.
  bool ignores_launcher_ = false;  ///< Its connection says no more. The
                                   ///< thread's.
  UniqueFd stop_event_;            ///< Readable: the thread has to end.
  UniqueFd end_event_;             ///< Readable: the job ends.
  std::thread thread_;

  mutable std::mutex mutex_;         ///< Guards all fields below.
  std::condition_variable changed_;  ///< Some field below has changed.
  /// Leader: the phase that each other rank waits in. The thread sets it, go()
  /// empties it.
  std::vector<std::optional<protocol::Phase>> arrived_;
  /// Member: the phase that is over. The thread sets it.
  std::optional<protocol::Phase> gone_;
  bool is_calm_ = false;  ///< Phase::kFinalize is over. go() or the thread.
  std::optional<EndSchedule> end_;  ///< Set once, when the job ends.
  std::string reason_;              ///< Why it ends; set with end_.
};

}  // namespace acp::runtime
