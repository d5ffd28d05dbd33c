#include "runtime/progress.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/futex.h"
#include "base/host_facts.h"
#include "base/log.h"
#include "base/thread.h"
#include "gma/call_name.h"
#include "gma/step_scope.h"

namespace acp::runtime {

namespace {

constexpr Duration kTick = std::chrono::milliseconds(1);
/// Until steps are run again that found their data in use.
constexpr Duration kBusyNap = std::chrono::microseconds(50);
/// While a caller has the role of the poller: the end of its wait ends the nap.
constexpr Duration kLongNap = std::chrono::milliseconds(500);
/// Passes of callers within a tick from which on they do the thread's work.
constexpr std::uint64_t kBusyPasses = 64;

/// The kernel's number of the calling thread.
std::uint32_t this_thread() noexcept {
  thread_local constinit std::uint32_t number = 0;
  if (number == 0) {
    number = static_cast<std::uint32_t>(::gettid());
  }
  return number;
}

/// One more. Threads that count at the same time may lose one of theirs, which
/// spares each pass and each wait an atomic addition: readers only ask whether
/// a counter has moved, or has moved often.
void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
}

}  // namespace

Progress::Progress(const protocol::HostSegment& segment,
                   std::uint32_t my_slot,
                   shm::DoorbellSocket& doorbell,
                   const gma::WaitPolicy& policy)
    : segment_(segment),
      mine_(segment.slice_header(my_slot)),
      record_(segment.record(my_slot)),
      doorbell_(doorbell),
      policy_(policy),
      cores_(segment, my_slot),
      caller_passes_(record_.passes) {}

Progress::~Progress() {
  stop();
}

void Progress::attach(gma::Engine& engine,
                      TransportSet& transports,
                      Steps& steps) {
  engine_ = &engine;
  transports_ = &transports;
  steps_ = &steps;
}

Status Progress::start() {
  const Status status =
      watch_.open(doorbell_.descriptor(), transports_->descriptors());
  if (status != Status::kOk) {
    return status;
  }
  Result<std::thread> thread =
      start_thread("the progress thread", [this] { run(); });
  if (!thread.ok()) {
    return thread.status();
  }
  thread_ = std::move(*thread);
  free_thread_from_bound_core();
  return Status::kOk;
}

/// The launcher binds a rank for the thread that computes. On its core the
/// progress thread would have to wait until the scheduler takes the core away
/// from that one, and so would every peer that has asked for something. A mask
/// that the program or its user has chosen is another one, and stays.
void Progress::free_thread_from_bound_core() noexcept {
  const CpuMask& cpus = segment_.header().cpus;
  if (!record_.bound_cpus.is_empty() && allowed_cpus() == record_.bound_cpus) {
    // Failing leaves the thread on the core: it answers later.
    (void)::pthread_setaffinity_np(
        thread_.native_handle(), sizeof cpus.words,
        reinterpret_cast<const cpu_set_t*>(cpus.words.data()));
  }
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
  count(caller_passes_);
  const bool has_received = engine_->progress();
  const bool has_moved = steps_->run() == Steps::Outcome::kMoved;
  if (has_received || has_moved) {
    count(record_.arrivals);
  }
  return has_received;
}

Status Progress::health() {
  const auto state = static_cast<protocol::JobState>(
      segment_.header().job_state.load(std::memory_order_relaxed));
  if (state == protocol::JobState::kEnding) {
    return Status::kAborted;
  }
  return transports_->dead_proc() == protocol::kNoSlot ? Status::kOk
                                                       : Status::kPeerDead;
}

/// The job's end comes first: it cuts off waits, and ranks that were cut off go
/// on to acp_finalize, where nobody may blame them.
Status Progress::sync_health() {
  // Acquire: what made the rank leave is seen by the look at the job's state.
  const std::uint64_t word = leaving_->load(std::memory_order_acquire);
  const Status status = health();
  if (status != Status::kOk) {
    return status;
  }
  return word != 0 && protocol::Leaving::of(word).misses(sync_)
             ? Status::kClosed
             : Status::kOk;
}

void Progress::enter_wait(protocol::WaitKind kind, std::uint32_t peer) {
  awake_waiters_.fetch_add(1, std::memory_order_relaxed);
  count(record_.waits);
  record_.wait_thread.store(this_thread(), std::memory_order_relaxed);
  record_.wait_peer.store(peer, std::memory_order_relaxed);
  if (const char* name = gma::call_name();
      name != wait_name_.load(std::memory_order_relaxed)) {
    wait_name_.store(name, std::memory_order_relaxed);
    record_.wait_name.set(name);
  }
  record_.wait_kind.store(static_cast<std::uint32_t>(kind),
                          std::memory_order_relaxed);
}

void Progress::leave_wait() {
  count(record_.waits);
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
  if (transports_->has_net() && !gma::is_inside_step() &&
      poller_.take([this] { rouse_thread(); })) {
    sleep_in_epoll(Sleeper::kCaller, is_done, SteadyClock().now() + limit,
                   true);
    poller_.leave();
  } else {
    sleep_on_futex(is_done, limit);
  }
  awake_waiters_.fetch_add(1, std::memory_order_relaxed);
}

/// The caller counts as asleep, so that the thread answers others at once.
void Progress::sleep_on(const gma::SleepWord& place, Duration limit) {
  awake_waiters_.fetch_sub(1, std::memory_order_relaxed);
  gma::sleep_on_word(place, limit);
  awake_waiters_.fetch_add(1, std::memory_order_relaxed);
}

void Progress::sleep_on_futex(const std::function<bool()>& is_done,
                              Duration limit) {
  mine_.asleep.fetch_add(protocol::kWaiterOne, std::memory_order_seq_cst);
  const std::uint32_t doorbell = mine_.doorbell.load(std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_done() && health() == Status::kOk) {
    futex_wait(mine_.doorbell, doorbell, limit);
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
    is_quiet = transports_->arm();
    limit = std::min(limit, transports_->next_deadline());
    asleep_until_ = limit;
  });
  const bool has_news =
      is_quiet && !is_done() && health() == Status::kOk && watch_.wait(limit);
  mine_.asleep.fetch_and(~bits, std::memory_order_seq_cst);
  guarded([&] { transports_->disarm(); });
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
      count(record_.arrivals);
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
