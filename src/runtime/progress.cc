#include "runtime/progress.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/futex.h"
#include "base/log.h"
#include "gma/step_scope.h"

namespace acp::runtime {

namespace {

constexpr Duration kTick = std::chrono::milliseconds(1);
/// Until steps are run again that found their data in use.
constexpr Duration kBusyNap = std::chrono::microseconds(50);
constexpr Duration kLongNap = std::chrono::milliseconds(100);
/// Passes of callers within a tick from which on they do the thread's work.
constexpr std::uint64_t kBusyPasses = 64;

}  // namespace

Progress::Progress(const protocol::HostSegment& segment,
                   std::uint32_t my_slot,
                   shm::DoorbellSocket& doorbell,
                   const gma::WaitPolicy& policy)
    : segment_(segment),
      mine_(segment.slice_header(my_slot)),
      record_(segment.record(my_slot)),
      doorbell_(doorbell),
      policy_(policy) {}

Progress::~Progress() {
  stop();
}

void Progress::attach(gma::Engine& engine, WireSet& wires, Steps& steps) {
  engine_ = &engine;
  wires_ = &wires;
  steps_ = &steps;
}

Status Progress::start() {
  const Status status =
      watch_.open(doorbell_.descriptor(), wires_->descriptors());
  if (status != Status::kOk) {
    return status;
  }
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    log_error("starting the progress thread: {}", error.what());
    return Status::kSystem;
  }
  return Status::kOk;
}

void Progress::stop() {
  if (!thread_.joinable()) {
    return;
  }
  is_stopping_.store(true, std::memory_order_seq_cst);
  nap_word_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(nap_word_);
  doorbell_.wake_own();
  thread_.join();
}

bool Progress::make_progress() {
  caller_passes_.fetch_add(1, std::memory_order_relaxed);
  const bool has_received = engine_->progress();
  steps_->run();
  return has_received;
}

Status Progress::health() {
  const auto state = static_cast<protocol::JobState>(
      segment_.header().job_state.load(std::memory_order_relaxed));
  if (state == protocol::JobState::kEnding) {
    return Status::kAborted;
  }
  return wires_->dead_proc() == protocol::kNoSlot ? Status::kOk
                                                  : Status::kPeerDead;
}

Status Progress::sync_health() {
  const std::uint64_t word = leaving_->load(std::memory_order_relaxed);
  return word != 0 && protocol::Leaving::of(word).misses(sync_)
             ? Status::kClosed
             : health();
}

void Progress::enter_wait(protocol::WaitKind kind, std::uint32_t peer) {
  awake_waiters_.fetch_add(1, std::memory_order_relaxed);
  record_.wait_peer.store(peer, std::memory_order_relaxed);
  record_.wait_kind.store(static_cast<std::uint32_t>(kind),
                          std::memory_order_relaxed);
}

void Progress::leave_wait() {
  record_.wait_kind.store(
      static_cast<std::uint32_t>(protocol::WaitKind::kNothing),
      std::memory_order_relaxed);
  awake_waiters_.fetch_sub(1, std::memory_order_relaxed);
  if (is_resting_.load(std::memory_order_seq_cst)) {
    nap_word_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(nap_word_);
  }
}

void Progress::sleep(const std::function<bool()>& is_done, Duration limit) {
  awake_waiters_.fetch_sub(1, std::memory_order_relaxed);
  // With a network, the first sleeper watches it itself and needs no help
  // from the thread. Not inside a step: the thread may have the role and be
  // the one that runs it.
  if (wires_->has_net() && !gma::is_inside_step() &&
      poller_.take([this] { rouse_thread(); })) {
    sleep_in_epoll(Sleeper::kCaller, is_done, SteadyClock().now() + limit,
                   true);
    poller_.leave();
  } else {
    sleep_on_futex(is_done, limit);
  }
  awake_waiters_.fetch_add(1, std::memory_order_relaxed);
}

void Progress::sleep_on_futex(const std::function<bool()>& is_done,
                              Duration limit) {
  mine_.asleep.fetch_add(protocol::kWaiterOne, std::memory_order_seq_cst);
  const std::uint32_t bell = mine_.bell.load(std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_done() && health() == Status::kOk) {
    futex_wait(mine_.bell, bell, limit);
  }
  mine_.asleep.fetch_sub(protocol::kWaiterOne, std::memory_order_seq_cst);
}

/// Has the role of the poller. True when something arrived or the doorbell
/// rang.
bool Progress::sleep_in_epoll(Sleeper sleeper,
                              const std::function<bool()>& is_done,
                              TimePoint limit,
                              bool wants_signals) {
  // A caller has no time for yields.
  const auto guarded = [this, sleeper](auto work) {
    if (sleeper == Sleeper::kThread) {
      engine_->guarded_later(work);
    } else {
      engine_->guarded(work);
    }
  };
  doorbell_.drain();
  if (!watch_.attach()) {
    limit = std::min(limit, SteadyClock().now() + kTick);
  }
  const std::uint64_t bits =
      protocol::kThreadAsleep |
      (wants_signals ? protocol::kThreadWantsSignals : 0);
  mine_.asleep.fetch_or(bits, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool is_quiet = false;
  guarded([&] {
    is_quiet = wires_->arm();
    limit = std::min(limit, wires_->next_deadline());
    asleep_until_ = limit;
  });
  const bool has_news =
      is_quiet && !is_done() && health() == Status::kOk && watch_.wait(limit);
  mine_.asleep.fetch_and(~bits, std::memory_order_seq_cst);
  guarded([&] { wires_->disarm(); });
  return has_news;
}

/// One that waits, is awake and goes on looking does all that this thread does,
/// and has its core and the wires to itself.
bool Progress::a_caller_polls() noexcept {
  const std::uint64_t passes = caller_passes_.load(std::memory_order_relaxed);
  if (awake_waiters_.load(std::memory_order_relaxed) == 0 ||
      passes == passes_seen_) {
    return false;
  }
  passes_seen_ = passes;
  return true;
}

/// After a short sleep that ended for nothing one pass is enough: it took what
/// had arrived, and the next will be taken by the same. And after a busy step:
/// who uses its data is at work.
bool Progress::callers_are_active(bool one_is_enough) noexcept {
  const std::uint64_t passes = caller_passes_.load(std::memory_order_relaxed);
  const std::uint64_t since = passes - passes_seen_;
  passes_seen_ = passes;
  return since >= (one_is_enough ? 1 : kBusyPasses) ||
         awake_waiters_.load(std::memory_order_relaxed) != 0;
}

void Progress::nap(Duration limit) noexcept {
  const std::uint32_t word = nap_word_.load(std::memory_order_seq_cst);
  if (!is_stopping_.load(std::memory_order_seq_cst)) {
    futex_wait(nap_word_, word, limit);
  }
}

/// While a caller sleeps in epoll; ends with that caller's wait.
void Progress::rest() noexcept {
  const std::uint32_t word = nap_word_.load(std::memory_order_seq_cst);
  is_resting_.store(true, std::memory_order_seq_cst);
  if (!is_stopping_.load(std::memory_order_seq_cst) && poller_.is_callers()) {
    futex_wait(nap_word_, word, kLongNap);
  }
  is_resting_.store(false, std::memory_order_seq_cst);
}

void Progress::rouse_thread() noexcept {
  if ((mine_.asleep.load(std::memory_order_seq_cst) &
       protocol::kThreadAsleep) != 0) {
    doorbell_.wake_own();
  }
}

void Progress::rouse_before(TimePoint deadline) noexcept {
  if (deadline < asleep_until_) {
    asleep_until_ = deadline;  // once is enough
    rouse_thread();
  }
}

/// Nobody will sleep in epoll soon.
void Progress::stop_watching() noexcept {
  if (poller_.take_for_thread()) {
    watch_.detach();
    poller_.leave_for_thread();
  }
}

void Progress::run() {
  bool was_woken = false;
  while (!is_stopping_.load(std::memory_order_seq_cst)) {
    if (a_caller_polls()) {
      stop_watching();
      nap(kTick);
      continue;
    }
    const std::uint64_t added = steps_->added();
    const bool has_received = engine_->progress();
    const Steps::Outcome stepped = steps_->run();
    if (has_received || stepped == Steps::Outcome::kMoved) {
      was_woken = false;
      continue;
    }
    const bool is_busy = stepped == Steps::Outcome::kBusy;
    if (callers_are_active(std::exchange(was_woken, false) || is_busy)) {
      stop_watching();
      nap(kTick);
      continue;
    }
    if (is_busy) {
      nap(poller_.is_callers() ? kTick : kBusyNap);  // its user may be asleep
      continue;
    }
    if (!poller_.take_for_thread()) {
      rest();
      continue;
    }
    // A step that was added since the look at `added` finds this thread asleep
    // and rouses it, or is seen by the last look before the sleep. A signal
    // that came since the steps ran woke nobody: they look once more, now that
    // it would.
    const auto has_news = [this, added] {
      return is_stopping_.load() || poller_.is_promised() ||
             steps_->added() != added ||
             steps_->run_last() != Steps::Outcome::kIdle;
    };
    const TimePoint before = SteadyClock().now();
    was_woken = sleep_in_epoll(Sleeper::kThread, has_news, TimePoint::max(),
                               !steps_->is_empty()) &&
                SteadyClock().now() - before < kTick;
    poller_.leave_for_thread();
  }
}

}  // namespace acp::runtime
