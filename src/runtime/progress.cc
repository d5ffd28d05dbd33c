// The system calls of progress: futexes, epoll, the doorbell socket and the
// thread. Called by waits, by the engine and by the Task. It may not decide the
// order of the calls or the lengths of sleeps: progress_states.cc and
// progress_loop.cc do.
#include "runtime/progress.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "base/futex.h"
#include "base/host_facts.h"
#include "base/memory_reserve.h"
#include "base/thread.h"
#include "gma/progress_step_scope.h"
#include "runtime/progress_loop.h"

namespace acp::runtime {

namespace {

/// Adds 1. Threads that count at the same time may lose one of their counts,
/// which spares each pass an atomic addition. Readers only ask whether a
/// counter has moved, or has moved often.
void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
}

/// Is behind CLOCK_MONOTONIC by less than kCoarseStep. Every turn of the
/// progress thread asks for the time, and this clock costs a quarter of the
/// exact one.
TimePoint coarse_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return TimePoint(std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec));
}

/// Longer than a tick of the kernel.
constexpr Duration kCoarseStep = std::chrono::milliseconds(20);

}  // namespace

/// The actions that both kinds of epoll sleepers share.
class Progress::Sleeper : public EpollSleeper {
 public:
  explicit Sleeper(Progress& progress) : progress_(progress) {}

  TimePoint now() final { return SteadyClock().now(); }

  void empty_doorbell() final { progress_.doorbell_.drain(); }

  bool watch_transports() final { return progress_.watch_.attach(); }

  bool wait(TimePoint limit) final { return progress_.watch_.wait(limit); }

  void mark_awake() final {
    progress_.mine_.asleep.fetch_and(~mark_, std::memory_order_seq_cst);
  }

 protected:
  /// Seq_cst: the partners are ring_signal(), ShmEndpoint::send(),
  /// rouse_sleeper() and wake_callers().
  void mark_asleep_with(std::uint64_t wishes) {
    mark_ = protocol::kThreadAsleep | wishes;
    progress_.mine_.asleep.fetch_or(mark_, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

  /// The engine's mutex is held.
  bool arm_transports(TimePoint& limit) {
    const bool is_quiet = progress_.transports_->arm();
    limit = std::min(limit, progress_.transports_->next_deadline());
    progress_.asleep_until_ = limit;
    return is_quiet;
  }

  Progress& progress_;

 private:
  std::uint64_t mark_ = 0;  ///< Bits of SliceHeader::asleep.
};

/// A caller that waits and has the role of the poller. It takes the engine's
/// mutex at once and does not yield to other callers first.
class Progress::Caller final : public Sleeper {
 public:
  Caller(Progress& progress, const std::function<bool()>& is_done)
      : Sleeper(progress), is_done_(is_done) {}

  void mark_asleep() override {
    mark_asleep_with(protocol::kThreadWantsSignals |
                     protocol::kWantsCompletions);
  }

  bool arm(TimePoint& limit) override {
    bool is_quiet = false;
    progress_.engine_->guarded([&] { is_quiet = arm_transports(limit); });
    return is_quiet;
  }

  bool is_over() override {
    return is_done_() || progress_.health() != Status::kOk;
  }

  /// Does not wait for another thread that runs the steps: it may take long,
  /// and the caller may have a deadline.
  ProgressSteps::Outcome run_steps_again() override {
    progress_.take_wish();
    return progress_.steps_.run();
  }

  void disarm() override {
    progress_.engine_->guarded([this] { progress_.transports_->disarm(); });
  }

  Duration busy_nap() const override { return ProgressStates::kTick; }

 private:
  const std::function<bool()>& is_done_;
};

/// The progress thread. It leaves the engine's mutex to callers.
class Progress::Thread final : public ProgressActions, public Sleeper {
 public:
  using Sleeper::Sleeper;

  bool is_stopping() override {
    return progress_.is_stopping_.load(std::memory_order_seq_cst);
  }

  TimePoint beat() override { return progress_.beat(); }

  ProgressStates::Sight look() override {
    return {progress_.caller_passes_.load(std::memory_order_relaxed),
            progress_.awake_callers_.load(std::memory_order_relaxed),
            progress_.poller_.is_callers(),
            progress_.steps_are_wanted_.load(std::memory_order_relaxed)};
  }

  ProgressStates::Pass make_pass() override {
    steps_added_ = progress_.steps_.added();
    const gma::Arrivals arrivals = progress_.engine_->progress();
    progress_.take_wish();
    const ProgressSteps::Outcome steps = progress_.steps_.run();
    const bool has_moved = steps == ProgressSteps::Outcome::kMoved;
    progress_.count_arrivals(arrivals, has_moved);
    if (arrivals != gma::Arrivals::kNone || has_moved) {
      return ProgressStates::Pass::kMoved;
    }
    return steps == ProgressSteps::Outcome::kBusy
               ? ProgressStates::Pass::kBusy
               : ProgressStates::Pass::kNothing;
  }

  void stop_watching() override {
    if (progress_.poller_.take_for_thread()) {
      progress_.watch_.detach();
      progress_.poller_.leave_for_thread();
    }
  }

  bool take_role() override { return progress_.poller_.take_for_thread(); }

  void leave_role() override { progress_.poller_.leave_for_thread(); }

  bool caller_has_role() override { return progress_.poller_.is_callers(); }

  std::uint32_t nap_word() override {
    return progress_.nap_word_.load(std::memory_order_seq_cst);
  }

  void sleep_on_nap_word(std::uint32_t word, Duration limit) override {
    futex_wait(progress_.nap_word_, word, limit);
  }

  void set_beside_caller(bool is_beside) override {
    progress_.is_beside_caller_.store(is_beside, std::memory_order_seq_cst);
  }

  /// Signals are only for steps here: waiting callers have a futex.
  void mark_asleep() override {
    mark_asleep_with(
        progress_.steps_.is_empty() ? 0 : protocol::kThreadWantsSignals);
  }

  bool arm(TimePoint& limit) override {
    bool is_quiet = false;
    progress_.engine_->guarded_later([&] { is_quiet = arm_transports(limit); });
    return is_quiet;
  }

  /// A step that was added before the mark, and that the last pass did
  /// not run, shows in the count. A step that is added later rouses the
  /// sleeper.
  bool is_over() override {
    return is_stopping() || progress_.poller_.is_promised() ||
           progress_.steps_.added() != steps_added_;
  }

  ProgressSteps::Outcome run_steps_again() override {
    progress_.take_wish();
    return progress_.steps_.run_last();
  }

  void disarm() override {
    progress_.engine_->guarded_later(
        [this] { progress_.transports_->disarm(); });
  }

  Duration busy_nap() const override { return ProgressStates::kBusyNap; }

 private:
  std::uint64_t steps_added_ =
      0;  ///< ProgressSteps::added() before the last pass.
};

Progress::Progress(const protocol::HostSegment& segment,
                   std::uint32_t my_slot,
                   shm::DoorbellSocket& doorbell,
                   WaitRecord& waits,
                   const gma::WaitPolicy& policy)
    : segment_(segment),
      my_slot_(my_slot),
      mine_(segment.slice_header(my_slot)),
      record_(segment.record(my_slot)),
      doorbell_(doorbell),
      waits_(waits),
      policy_(policy),
      cores_(segment, my_slot),
      caller_passes_(record_.passes) {}

/// A rank that has begun and not started its thread is not heard yet: no rank
/// leaves acp_init before all have begun.
void Progress::watch_neighbor(Duration silence) {
  if (silence > Duration::zero() && segment_.header().local_procs > 1) {
    neighbor_.emplace(segment_, my_slot_, silence);
    neighbor_->begin();
  }
}

/// Once a second, and every other time it costs a read of the coarse clock. A
/// thread that holds the engine's mutex for ever makes the rank stuck, so the
/// heart beats only when this thread has had the mutex.
TimePoint Progress::beat() {
  if (!neighbor_) {
    return TimePoint::max();
  }
  const TimePoint now = coarse_now();
  if (now + kCoarseStep < beat_due_) {
    return beat_due_;
  }
  engine_->guarded_later([] {});
  neighbor_->beat();
  if (health() == Status::kOk) {
    if (const auto lost = neighbor_->look(now)) {
      engine_->guarded_later(
          [&] { transports_->lose_neighbor(lost->proc, lost->why); });
    }
  }
  beat_due_ = now + SilenceMeter::kInterval;
  return beat_due_;
}

Progress::~Progress() {
  stop();
}

void Progress::attach(gma::Engine& engine, TransportSet& transports) {
  engine_ = &engine;
  transports_ = &transports;
}

Status Progress::start() {
  const Status status =
      watch_.open(doorbell_.descriptor(), transports_->descriptors());
  if (status != Status::kOk) {
    return status;
  }
  std::optional<std::thread> thread =
      start_thread("the progress thread", [this] {
        const MustNotFail must_not_fail;
        Thread self(*this);
        run_progress_thread(self, self);
      });
  if (!thread) {
    return Status::kSystem;
  }
  thread_ = std::move(*thread);
  free_thread_from_bound_core();
  return Status::kOk;
}

/// The launcher binds a rank to a core for the thread that computes. On that
/// core the progress thread, and every peer with a request, would wait until
/// the scheduler takes the core away from the computing thread. A mask that the
/// program or its user has chosen differs from the launcher's, and stays.
void Progress::free_thread_from_bound_core() noexcept {
  const CpuMask& cpus = segment_.header().cpus;
  if (!record_.bound_cpus.is_empty() && allowed_cpus() == record_.bound_cpus) {
    // Failing leaves the thread on the core: it answers later.
    (void)::pthread_setaffinity_np(
        thread_.native_handle(), sizeof cpus.words,
        reinterpret_cast<const cpu_set_t*>(cpus.words.data()));
  }
}

/// The flag is set before the thread is woken, wherever it sleeps. In epoll it
/// looks at the flag after the doorbell was emptied, and in a nap after the nap
/// word was read.
void Progress::stop() {
  if (thread_.joinable()) {
    is_stopping_.store(true, std::memory_order_seq_cst);
    move_nap_word();
    doorbell_.wake_own();
    thread_.join();
  }
  if (neighbor_) {
    neighbor_->end();
  }
}

Status Progress::add_step(ProgressSteps::Function function, void* argument) {
  const Status status = steps_.add(function, argument);
  if (status == Status::kOk) {
    rouse_sleeper();  // it runs the step, and from now on it wants signals
  }
  return status;
}

Status Progress::remove_step(ProgressSteps::Function function, void* argument) {
  return steps_.remove(function, argument);
}

bool Progress::make_progress() {
  count(caller_passes_);
  const gma::Arrivals arrivals = engine_->progress();
  count_arrivals(arrivals,
                 run_steps_of_caller() == ProgressSteps::Outcome::kMoved);
  return arrivals != gma::Arrivals::kNone;
}

/// A step that finds its data in use, or that another thread runs at this
/// moment, may miss what has just arrived. This caller may not come back. A
/// thread that is not asleep runs the steps in its last look at the latest.
ProgressSteps::Outcome Progress::run_steps_of_caller() {
  if (gma::is_inside_progress_step()) {
    return ProgressSteps::Outcome::kIdle;
  }
  take_wish();
  const ProgressSteps::Outcome outcome = steps_.run();
  if (outcome == ProgressSteps::Outcome::kBusy) {
    rouse_sleeper();
  }
  return outcome;
}

/// The watchdog of the launcher reads the count. So messages that this rank has
/// only served or acknowledged for a peer are left out: they do not show that
/// this rank gets on.
void Progress::count_arrivals(gma::Arrivals arrivals, bool has_moved) noexcept {
  if (arrivals >= gma::Arrivals::kSome || has_moved) {
    count(record_.arrivals);
  }
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

/// The job's end comes before a rank that has left. The end makes ranks leave
/// their waits for acp_finalize, and these ranks are not to be blamed.
Status Progress::sync_health() {
  // Acquire: health() then sees an end of the job that made the rank leave.
  const bool is_closed = absences_->is_any_absent();
  const Status status = health();
  return status == Status::kOk && is_closed ? Status::kClosed : status;
}

void Progress::enter_wait(protocol::WaitKind kind, std::uint32_t peer) {
  awake_callers_.fetch_add(1, std::memory_order_relaxed);
  waits_.enter(kind, peer);
}

void Progress::leave_wait() {
  waits_.leave();
  awake_callers_.fetch_sub(1, std::memory_order_relaxed);
  // Seq_cst: invariant 7 of progress_loop.h. The role was given back before.
  if (is_beside_caller_.load(std::memory_order_seq_cst)) {
    move_nap_word();
  }
}

/// With a network, the first caller that sleeps watches it itself and needs no
/// help from the thread. Other callers sleep on the futex of the slice. A
/// caller inside a step never takes the role: the thread may have it and be
/// blocked until that step ends.
void Progress::sleep(const std::function<bool()>& is_done, Duration limit) {
  awake_callers_.fetch_sub(1, std::memory_order_relaxed);
  if (transports_->has_net() && !gma::is_inside_progress_step() &&
      poller_.take([this] { rouse_sleeper(); })) {
    Caller self(*this, is_done);
    (void)sleep_in_epoll(self, SteadyClock().now() + limit);
    poller_.leave();
  } else {
    sleep_on_futex(is_done, limit);
  }
  awake_callers_.fetch_add(1, std::memory_order_relaxed);
}

/// The caller counts as asleep, so that the thread answers peers at once.
void Progress::sleep_on(const gma::SleepWord& sleep_word, Duration limit) {
  awake_callers_.fetch_sub(1, std::memory_order_relaxed);
  gma::sleep_on_word(sleep_word, limit);
  awake_callers_.fetch_add(1, std::memory_order_relaxed);
}

/// Mark, read the doorbell, look again, sleep: gmm/doorbell.h has the
/// waker's half. The thread in the role of the poller receives messages.
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

void Progress::wake_callers() noexcept {
  if ((mine_.asleep.load(std::memory_order_seq_cst) &
       protocol::kWantsCompletions) != 0) {
    doorbell_.wake_own();
  }
}

void Progress::rouse_sleeper() noexcept {
  if ((mine_.asleep.load(std::memory_order_seq_cst) &
       protocol::kThreadAsleep) != 0) {
    doorbell_.wake_own();
  }
}

/// Comes before each run of the steps. Relaxed: a sleeper has made a full fence
/// after it has marked itself, and elsewhere a wish that is not seen yet stays.
void Progress::take_wish() noexcept {
  if (steps_are_wanted_.load(std::memory_order_relaxed)) {
    steps_are_wanted_.exchange(false, std::memory_order_seq_cst);
  }
}

void Progress::hurry_steps() noexcept {
  if (!steps_are_wanted_.exchange(true, std::memory_order_seq_cst)) {
    rouse_sleeper();
  }
}

void Progress::rouse_before(TimePoint deadline) noexcept {
  if (deadline < asleep_until_) {
    asleep_until_ = deadline;  // once is enough
    rouse_sleeper();
  }
}

void Progress::move_nap_word() noexcept {
  nap_word_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(nap_word_);
}

}  // namespace acp::runtime
