// The owner of progress: the progress thread, and the sleep of the program's
// threads in a wait. docs/engine.md has a table of the threads that make
// passes.
//
//   progress_states.h  the transitions of the table below, without a clock
//   progress_loop.h    the order of actions, and how threads sleep in epoll
//   poller_role.h      which thread sleeps in epoll
//   this class         owns the thread and does the system calls
//
// The engine and all waits see it as a gma::WaitHost. Its other functions are
// for the Task that owns it.
//
// The states of the progress thread:
//
//   state          action of the thread
//   kPolling       makes a pass of progress, then runs the steps
//   kNapping       sleeps on its nap word for a fixed time
//   kBesideCaller  sleeps on its nap word while a caller sleeps in epoll
//   kAsleep        sleeps in epoll, in the role of the poller
//
//   from           to             when
//   any            kNapping       a caller waits, is awake and has made a pass
//                                 since the thread looked: it makes them all.
//                                 Not while steps are wanted
//   kPolling       kPolling       the pass or a step made progress
//   kPolling       kNapping       neither did, and callers are active
//   kPolling       kNapping       a step found its data in use, and a caller,
//                                 which uses it, made a pass since: 1 ms
//   kPolling       kNapping       a step found its data in use, without such a
//                                 pass: 50 us, or 1 ms while a caller has the
//                                 role
//   kPolling       kAsleep        neither did, and no caller is active
//   kAsleep        kBesideCaller  at once, when a caller has the role
//   kAsleep        kPolling       doorbell, arrival, deadline of a transport, a
//                                 caller that wants the role, stop()
//   kNapping       kPolling       the time is over, or stop()
//   kBesideCaller  kPolling       a caller's wait ends, 500 ms are over, stop()
//
// A nap beside active callers takes 50 us, and each further one twice as long,
// up to 1 ms. A pass that makes progress while no caller waits begins with 50
// us again: what it found has waited. A caller that waits without a core,
// because ranks share cores, would have found it, too.
//
// The thread also shows once a second that this rank lives (neighbor_watch.h).
//
// No state but kAsleep lasts for more than 1 ms without a caller that makes the
// thread's passes or sleeps in epoll in its stead. Why no wake-up is lost in
// kAsleep and kBesideCaller stands in progress_loop.h.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "gma/engine.h"
#include "gma/waiting.h"
#include "protocol/host_segment.h"
#include "runtime/absence_watch.h"
#include "runtime/core_table.h"
#include "runtime/epoll_watch.h"
#include "runtime/neighbor_watch.h"
#include "runtime/poller_role.h"
#include "runtime/progress_steps.h"
#include "runtime/transport_set.h"
#include "runtime/wait_record.h"
#include "transport/shm/doorbell_socket.h"

namespace acp::runtime {

/// Thread-safe after attach(), but for start() and stop().
class Progress final : public gma::WaitHost {
 public:
  /// The arguments must outlive this.
  Progress(const protocol::HostSegment& segment,
           std::uint32_t my_slot,
           shm::DoorbellSocket& doorbell,
           WaitRecord& waits,
           const gma::WaitPolicy& policy);
  ~Progress() override;

  /// Before the first call of anything else.
  void attach(gma::Engine& engine, TransportSet& transports);

  /// The ranks of this host watch each other from here on, if it has several
  /// (neighbor_watch.h). A rank is lost after so long a silence; 0: never.
  /// Before start().
  void watch_neighbor(Duration silence);

  /// Starts the thread. kSystem, logged.
  [[nodiscard]] Status start();
  /// Ends and joins it. Safe to call twice.
  void stop();

  /// ProgressSteps::add() and ProgressSteps::remove(). A step that is added
  /// runs at once and then after each pass.
  [[nodiscard]] Status add_step(ProgressSteps::Function function,
                                void* argument);
  [[nodiscard]] Status remove_step(ProgressSteps::Function function,
                                   void* argument);

  /// Has the steps run within kTick, although nothing arrives: invariant 8 of
  /// progress_loop.h.
  void hurry_steps() noexcept;

  /// This rank is coming to a barrier, and sync_health() asks `watch` whether
  /// all ranks can. It must outlive the barrier.
  void enter_sync(const AbsenceWatch& watch) noexcept { absences_ = &watch; }

  /// A transport has to act at `deadline`. Rouses the epoll sleeper if it would
  /// sleep past this time. The engine's mutex is held.
  void rouse_before(TimePoint deadline) noexcept;

  bool make_progress() override;
  Status health() override;
  Status sync_health() override;
  void sleep(const std::function<bool()>& is_done, Duration limit) override;
  void sleep_on(const gma::SleepWord& sleep_word, Duration limit) override;
  void enter_wait(protocol::WaitKind kind, std::uint32_t peer) override;
  void leave_wait() override;
  void wake_callers() noexcept override;

  bool shares_core_now() noexcept override { return cores_.is_shared_here(); }

  const gma::WaitPolicy& policy() const noexcept override { return policy_; }

 private:
  class Sleeper;
  class Caller;
  class Thread;

  void free_thread_from_bound_core() noexcept;
  TimePoint beat();
  void count_arrivals(gma::Arrivals arrivals, bool has_moved) noexcept;
  ProgressSteps::Outcome run_steps_of_caller();
  void take_wish() noexcept;
  void rouse_sleeper() noexcept;
  void move_nap_word() noexcept;
  void sleep_on_futex(const std::function<bool()>& is_done, Duration limit);

  const protocol::HostSegment& segment_;
  const std::uint32_t my_slot_;
  protocol::SliceHeader& mine_;
  protocol::ProcRecord& record_;
  shm::DoorbellSocket& doorbell_;
  WaitRecord& waits_;
  const gma::WaitPolicy policy_;
  CoreTable cores_;
  gma::Engine* engine_ = nullptr;       ///< Written by attach().
  TransportSet* transports_ = nullptr;  ///< Written by attach().
  ProgressSteps steps_;                 ///< Locks by itself.
  /// The steps have work that no arrival tells of. Set by hurry_steps(), and
  /// cleared by the thread that runs the steps next, before it runs them.
  std::atomic<bool> steps_are_wanted_{false};
  std::thread thread_;                    ///< Written by start() and stop().
  std::atomic<bool> is_stopping_{false};  ///< Set by stop() for the thread.

  /// Empty: this rank neither beats nor watches. The thread's, after start().
  std::optional<NeighborWatch> neighbor_;
  TimePoint beat_due_{};  ///< The thread's.

  PollerRole poller_;
  EpollWatch watch_;  ///< Used by the thread in the role of the poller.
  /// Up to when the epoll sleeper sleeps, or slept last. The sleeper and
  /// rouse_before() write it. Guarded by the engine's mutex.
  TimePoint asleep_until_{};
  std::atomic<std::uint32_t> nap_word_{0};  ///< Futex; moved to end a nap.
  /// The thread is in kBesideCaller. Written by the thread.
  std::atomic<bool> is_beside_caller_{false};

  /// Callers in a wait that are not asleep. Written by each of them.
  std::atomic<std::uint32_t> awake_callers_{0};
  /// Passes of callers, in record_. Written by each of them.
  std::atomic<std::uint64_t>& caller_passes_;

  /// Written and read by the thread in acp_sync, one at a time.
  const AbsenceWatch* absences_ = nullptr;
};

}  // namespace acp::runtime
