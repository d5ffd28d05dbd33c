// Who makes progress, and who sleeps where: the progress thread and the
// threads of the program that wait. docs/engine.md, "Who makes progress".
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "gma/engine.h"
#include "gma/waiting.h"
#include "protocol/host_segment.h"
#include "runtime/core_table.h"
#include "runtime/epoll_watch.h"
#include "runtime/poller_role.h"
#include "runtime/steps.h"
#include "runtime/transport_set.h"
#include "transport/shm/doorbell_socket.h"

namespace acp::runtime {

/// Thread-safe after attach(), but for start() and stop().
class Progress final : public gma::WaitHost {
 public:
  Progress(const protocol::HostSegment& segment,
           std::uint32_t my_slot,
           shm::DoorbellSocket& doorbell,
           const gma::WaitPolicy& policy);
  ~Progress() override;

  /// Before the first call of anything else.
  void attach(gma::Engine& engine, TransportSet& transports, Steps& steps);

  /// Starts the thread. kSystem, logged.
  [[nodiscard]] Status start();
  /// Ends and joins it. Safe to call twice.
  void stop();

  bool make_progress() override;
  Status health() override;
  Status sync_health() override;
  void sleep(const std::function<bool()>& is_done, Duration limit) override;
  void sleep_on(const gma::SleepWord& place, Duration limit) override;
  void enter_wait(protocol::WaitKind kind, std::uint32_t peer) override;
  void leave_wait() override;

  bool shares_core_now() noexcept override { return cores_.is_shared_here(); }

  /// This rank is coming to its acp_sync `number`, counted from 1:
  /// sync_health() looks whether the rank in `leaving`, a Leaving, misses it.
  void enter_sync(std::uint64_t number,
                  const std::atomic<std::uint64_t>& leaving) noexcept {
    sync_ = number;
    leaving_ = &leaving;
  }

  const gma::WaitPolicy& policy() const noexcept override { return policy_; }

  /// Something has changed that a sleeping thread has to know.
  void rouse_thread() noexcept;
  /// The same when it would sleep past this. The engine's mutex held.
  void rouse_before(TimePoint deadline) noexcept;

 private:
  void run();
  void free_thread_from_bound_core() noexcept;
  enum class Sleeper : std::uint8_t { kCaller, kThread };

  bool a_caller_polls() noexcept;
  bool callers_are_active(bool one_is_enough) noexcept;
  void nap(Duration limit) noexcept;
  void rest() noexcept;
  void stop_watching() noexcept;
  void sleep_on_futex(const std::function<bool()>& is_done, Duration limit);
  bool sleep_in_epoll(Sleeper sleeper,
                      const std::function<bool()>& is_done,
                      TimePoint limit,
                      bool wants_signals);

  const protocol::HostSegment& segment_;
  protocol::SliceHeader& mine_;
  protocol::ProcRecord& record_;
  shm::DoorbellSocket& doorbell_;
  gma::WaitPolicy policy_;
  CoreTable cores_;
  gma::Engine* engine_ = nullptr;
  TransportSet* transports_ = nullptr;
  Steps* steps_ = nullptr;
  std::thread thread_;
  std::atomic<bool> is_stopping_{false};

  PollerRole poller_;
  EpollWatch watch_;  ///< The poller's.
  /// Of the last sleep in epoll. Guarded by the engine's mutex.
  TimePoint asleep_until_{};
  std::atomic<std::uint32_t> nap_word_{0};  ///< Futex: ends nap() and rest().
  std::atomic<bool> is_resting_{false};

  /// Of the thread in acp_sync, one at a time.
  std::uint64_t sync_ = 0;
  const std::atomic<std::uint64_t>* leaving_ = nullptr;
  std::atomic<std::uint32_t> awake_waiters_{0};
  /// The name in record_.wait_name: names are literals, and seldom change.
  std::atomic<const char*> wait_name_{nullptr};
  std::atomic<std::uint64_t>& caller_passes_;  ///< In the host segment.
  std::uint64_t passes_seen_ = 0;              ///< The thread's own.
};

}  // namespace acp::runtime
