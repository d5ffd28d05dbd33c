// The ordered engine's slow path: issuing, completing, one pass of progress.
// Public calls, the progress thread and the agent call it. A function blocks
// only where its header says that it waits.
#include "gma/engine.h"

#include <algorithm>

#include "base/log.h"
#include "base/memory_reserve.h"
#include "gma/call_name.h"
#include "gma/describe.h"
#include "gma/progress_step_scope.h"
#include "gma/route.h"
#include "gmm/cross_copy_guard.h"

namespace acp::gma {

thread_local constinit unsigned char acpx_has_stores = 0;

namespace {

using protocol::Opcode;

Step copy_step(GlobalAddress to, GlobalAddress from, std::uint64_t size) {
  Step step;
  step.opcode = Opcode::kCopy;
  step.remote = to;
  step.local = from;
  step.size = size;
  return step;
}

}  // namespace

Engine::Engine(const gmm::AddressSpace& space,
               Endpoints& endpoints,
               gmm::ThreadWaker& waker,
               Transports& transports,
               WaitHost& wait_host)
    : space_(space),
      endpoints_(endpoints),
      transports_(transports),
      wait_host_(wait_host),
      runner_(space_, endpoints, waker, *this),
      inquired_(queue_.completed()) {}

Engine::~Engine() = default;

/// Logs why a call fails because of its own arguments. `remedy` is instead of
/// what describe_cause() finds.
Status Engine::refuse(const Step& step,
                      Status status,
                      const char* remedy) const {
  const char* call = call_name();
  log_error("{}{}{}: {}{}", call != nullptr ? call : "",
            call != nullptr ? ": " : "", describe(step, space_),
            status_text(status),
            remedy != nullptr ? remedy : describe_cause(step, status, space_));
  return status;
}

/// Makes a cross-memory copy in the call, if that is the way. All other copies
/// are queued, after a check of both ends, so that a bad address fails in the
/// call.
Result<Handle> Engine::copy_slow(GlobalAddress to,
                                 GlobalAddress from,
                                 std::uint64_t size,
                                 Handle order) {
  const Step step = copy_step(to, from, size);
  if (size == 0) {
    return queue_.issued();
  }
  const Way way = route(space_, step);
  if ((way == Way::kCrossGet || way == Way::kCrossPut) && is_clear(order)) {
    const Status status = cross_copy_now(step, way, order);
    if (status == Status::kOk) {
      return queue_.issued();
    }
    if (status != Status::kUnsupported) {
      return refuse(step, status);
    }
  }
  Status status = space_.check(to, size);
  if (status == Status::kOk) {
    status = space_.check(from, size);
  }
  return status == Status::kOk ? issue({&step, 1}, order)
                               : refuse(step, status);
}

/// Copies between memory of this rank and memory that a rank of this host
/// registered, in the call and without the mutex. kUnsupported: the copy has to
/// be queued.
Status Engine::cross_copy_now(const Step& step, Way way, Handle order) {
  const Result<gmm::Target> to = space_.locate(step.remote, step.size);
  const Result<gmm::Target> from = space_.locate(step.local, step.size);
  if (!to.ok() || !from.ok()) {
    return to.ok() ? from.status() : to.status();
  }
  const bool is_get = way == Way::kCrossGet;
  const gmm::Target& peer = is_get ? from.value() : to.value();
  std::byte* local = is_get ? to.value().direct : from.value().direct;
  transport::Endpoint* endpoint = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Result<PeerEndpoint> found = endpoints_.endpoint_of(peer.rank, 0);
    if (!found.ok()) {
      return Status::kUnsupported;
    }
    endpoint = found.value().endpoint;
  }
  before_direct(order);
  const gmm::CrossCopyGuard guard(peer);
  return guard.is_live() ? endpoint->copy_cross_memory(
                               is_get ? transport::Direction::kGet
                                      : transport::Direction::kPut,
                               {local, step.size}, peer.owner_address)
                         : Status::kBadKey;
}

/// Checks alignment and both addresses before it queues the atomic, so that the
/// caller's errors fail in the call. A result that went into the word itself
/// would undo the atomic.
Result<Handle> Engine::atomic_slow(Opcode opcode,
                                   std::uint8_t width,
                                   GlobalAddress result,
                                   GlobalAddress word,
                                   std::uint64_t operand,
                                   std::uint64_t compare,
                                   Handle order) {
  Step step;
  step.opcode = opcode;
  step.width = width;
  step.remote = word;
  step.local = result;
  step.operand = operand;
  step.compare = compare;
  if (((result | word) & (width - 1U)) != 0) {
    return refuse(step, Status::kMisaligned);
  }
  if (result == gmm::kNullAddress) {
    return refuse(
        step, Status::kBadAddress,
        "; the old value needs a word of this rank, and atomics whose "
        "old values nobody reads may share one");
  }
  if (result == word) {
    return refuse(step, Status::kInvalidArgument);
  }
  Status status = space_.check_own(result, width);
  if (status == Status::kOk) {
    status = space_.check(word, width);
  }
  return status == Status::kOk ? issue({&step, 1}, order)
                               : refuse(step, status);
}

/// Converts NULL, ALL, CONT or a handle to the number to wait for; 0 for none.
/// CONT waits like ALL, which the specification allows (4.11.1), unless
/// post_behind() has posted the operation.
Sequence Engine::condition_of(Handle order) const noexcept {
  if (order == kHandleAll || order == kHandleCont) {
    return queue_.issued();
  }
  return order <= queue_.issued() ? order : 0;
}

/// Posts an operation with CONT behind those that are under way to the same
/// endpoint, so that it does not wait for their completion. The endpoint
/// executes them in order, and each fails only with the peer, which fails all.
/// So no operation in front of it can fail while it succeeds. False: the
/// operation has to wait.
bool Engine::post_behind(Operation& operation) {
  const Sequence newest = queue_.issued();
  if (run_.queue == nullptr || run_.newest != newest ||
      queue_.completed() == newest ||
      queue_.failure_up_to(newest) != Status::kOk) {
    return false;
  }
  settle_stores();
  return runner_.post_behind(operation, *run_.queue);
}

/// Begins a run with an operation that has just been issued, if it is the only
/// one under way.
void Engine::note_run(const Operation& operation, Sequence sequence) {
  if (queue_.completed() + 1 == sequence) {
    run_ = {runner_.queue_of_posted(operation), sequence};
  }
}

/// Queues an operation, whose ends the call has checked, and starts it when its
/// condition holds.
Result<Handle> Engine::issue(std::span<const Step> steps,
                             Handle order,
                             Departure departure) {
  std::unique_lock lock(mutex_);
  EndChecks checks = EndChecks::kDone;
  while (queue_.is_full()) {
    checks = EndChecks::kDue;  // the wait may be long
    lock.unlock();
    const Status status = make_room();
    if (status != Status::kOk) {
      return status;
    }
    lock.lock();
  }
  Operation& operation = new_operation(Owner::kQueue, steps);
  operation.keep_call(call_name());
  const bool is_posted = order == kHandleCont && post_behind(operation);
  const Sequence wait_for = is_posted ? 0 : condition_of(order);
  const Sequence sequence = queue_.push(operation, wait_for);
  if (is_posted) {
    run_.newest = sequence;
  } else if (wait_for <= queue_.completed()) {
    if (wait_for != 0 && queue_.failure_up_to(wait_for) != Status::kOk) {
      operation.status = Status::kOrderFailed;
      on_finished(operation);
    } else {
      before_direct(order);
      runner_.start(operation, checks);
    }
  }
  (void)settle();
  if (!is_posted) {
    note_run(operation, sequence);
  }
  // A signal leaves now, because a thread of the peer may wait for it. Other
  // messages to peers that owe an answer may wait for batching.
  if (departure == Departure::kNow) {
    if (std::ranges::any_of(steps, protocol::has_signal)) {
      flush();
    } else {
      transports_.flush_idle();
    }
  }
  if (departure != Departure::kHeld) {
    transports_.wake_for_deadline();
  }
  return sequence;
}

/// The order queue is full: waits for room, unless this is a progress step,
/// which may not wait. The wait runs no progress steps, because the caller may
/// hold a lock that a step takes; room comes from the transports alone. The
/// wait never sleeps in epoll either: the progress thread may have that role
/// and be blocked in such a step.
Status Engine::make_room() {
  if (is_inside_progress_step()) {
    return Status::kAgain;
  }
  const ProgressStepScope no_steps;
  WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kComplete;
  return wait_until(wait_host_, purpose, TimePoint::max(),
                    [this] { return !queue_.is_full(); });
}

/// Retires finished operations and starts the operations that waited for them,
/// until nothing changes. Then wakes the threads that may sleep until an
/// operation is complete, nothing internal is under way, or a peer is lost.
/// True when this process copied a portion, so that it may
/// have more to copy.
bool Engine::settle_all() {
  bool has_moved = true;
  bool has_copied = false;
  while (has_moved) {
    has_copied |= runner_.has_unsent() && runner_.pump();
    ready_.clear();
    has_moved = queue_.has_done() && queue_.retire(ready_);
    owes_wake_ = owes_wake_ || has_moved;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      Operation& operation = *ready_[i];
      // The operation waited for a number that has just been completed.
      if (queue_.failure_up_to(queue_.completed()) != Status::kOk &&
          queue_.failure_up_to(operation.wait_for) != Status::kOk) {
        operation.status = Status::kOrderFailed;
        on_finished(operation);
      } else {
        settle_stores();
        runner_.start(operation);
      }
    }
  }
  has_unsent_.store(runner_.has_unsent(), std::memory_order_relaxed);
  if (owes_wake_) {
    owes_wake_ = false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    gmm::wake_waiters(*space_.slice_header(space_.my_rank()));
    wait_host_.wake_callers();
  }
  return has_copied;
}

void Engine::on_finished(Operation& operation) {
  switch (operation.owner) {
    case Owner::kQueue:
      queue_.finish(operation.sequence, operation.status);
      break;
    case Owner::kDelegated:
      delegated_done_(operation.reply_to, operation.status,
                      operation.failed_end);
      end_internal();
      break;
    case Owner::kInternal: end_internal(); break;
    case Owner::kRelay: ACP_ASSERT(false);  // ends in the runner
  }
  free_operations_.push_back(&operation);
}

/// Task::drain() waits until there is none.
void Engine::end_internal() noexcept {
  if (internal_.fetch_sub(1, std::memory_order_release) == 1) {
    owes_wake_ = true;
  }
}

Operation& Engine::new_operation(Owner owner, std::span<const Step> steps) {
  if (free_operations_.empty()) {
    operations_.push_back(std::make_unique<Operation>());
    free_operations_.push_back(operations_.back().get());
  }
  Operation& operation = *free_operations_.back();
  free_operations_.pop_back();
  operation.begin(owner, steps);
  return operation;
}

void Engine::start_internal(const Step& word) {
  Operation& operation = new_operation(Owner::kInternal, {&word, 1});
  internal_.fetch_add(1, std::memory_order_relaxed);
  runner_.start(operation);
}

void Engine::start_delegated(const ReplyTo& reply_to, const Step& step) {
  Operation& operation = new_operation(Owner::kDelegated, {&step, 1});
  operation.reply_to = reply_to;
  internal_.fetch_add(1, std::memory_order_relaxed);
  runner_.start(operation);
}

/// A thread inside a progress step may not wait and gets kAgain. After a wait
/// that did not end well, no failure is collected.
Status Engine::complete_slow(Handle handle, TimePoint deadline) {
  Sequence sequence = handle;
  if (handle == kHandleAll) {
    sequence = queue_.issued();
  } else if (handle > queue_.issued()) {
    sequence = 0;
  }
  if (sequence == 0) {
    settle_stores();
    return Status::kOk;
  }
  if (sequence > queue_.completed()) {
    if (is_inside_progress_step()) {
      return Status::kAgain;
    }
    WaitPurpose purpose;
    purpose.kind = protocol::WaitKind::kComplete;
    const Status status =
        wait_until(wait_host_, purpose, deadline,
                   [this, sequence] { return queue_.completed() >= sequence; });
    if (status != Status::kOk) {
      return status;
    }
  }
  settle_stores();
  const std::lock_guard lock(mutex_);
  return queue_.collect_up_to(sequence);
}

/// A program may ask again and again while it looks at its own memory for a put
/// of a peer. Only a pass takes that put from a network, and the progress
/// thread may be waiting for the core that this caller keeps. So a call that
/// learns nothing makes a pass as well. A call that sees a completion since the
/// last one makes none, nor does the first one for an operation that is
/// complete. Layers ask once for each of their operations, and a pass would
/// send messages that they keep back.
bool Engine::is_complete(Handle handle) {
  const auto is_done = [this, handle] {
    const Sequence sequence = handle == kHandleAll ? queue_.issued() : handle;
    return sequence > queue_.issued() || sequence <= queue_.completed();
  };
  const bool was_done = is_done();
  const Sequence before = inquired_.load(std::memory_order_relaxed);
  const bool is_of_operation =
      handle != kHandleNull && handle <= queue_.issued();
  const bool has_news =
      queue_.completed() != before ||
      (is_of_operation &&
       handle != inquired_handle_.load(std::memory_order_relaxed));
  if (!(was_done && has_news) && !is_inside_progress_step()) {
    wait_host_.make_progress();
  }
  if (const Sequence now = queue_.completed(); now != before) {
    inquired_.store(now, std::memory_order_relaxed);
  }
  inquired_handle_.store(handle, std::memory_order_relaxed);
  const bool is_done_now = was_done || is_done();
  if (is_done_now) {
    settle_stores();
  }
  return is_done_now;
}

/// Sends all messages. A reply that the last pass held back leaves too, and the
/// reply to the next signal may be held back again.
void Engine::flush() {
  transports_.flush();
  is_flush_deferred_ = false;
}

Arrivals Engine::progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return Arrivals::kNone;
  }
  const MustNotFail must_not_fail;
  const Arrivals arrivals = transports_.poll();
  const bool has_copied = settle();
  // A thread that waited for the signal may answer it at once. The reply to the
  // signal's sender waits for that answer, until the next pass at most.
  is_flush_deferred_ = arrivals == Arrivals::kSignal && !is_flush_deferred_;
  if (is_flush_deferred_) {
    deferred_flushes_.fetch_add(1, std::memory_order_relaxed);
  } else {
    flush();
  }
  transports_.wake_for_deadline();  // arrivals want acknowledgements in time
  return has_copied ? std::max(arrivals, Arrivals::kSome) : arrivals;
}

void Engine::send_kept() {
  const MustNotFail must_not_fail;
  const std::lock_guard lock(mutex_);
  flush();
  transports_.wake_for_deadline();
}

/// A rank whose endpoint cannot be had learns of the memory when it asks.
Status Engine::announce(GlobalAddress ga, std::uint64_t size, Rank rank) {
  const gmm::GlobalAddressCodec& codec = space_.codec();
  const Result<std::byte*> mine = space_.own(ga, size);
  if (!mine.ok()) {
    return mine.status();
  }
  if (rank == space_.my_rank()) {
    return Status::kOk;
  }
  const MustNotFail must_not_fail;
  const std::lock_guard lock(mutex_);
  const Result<PeerEndpoint> peer =
      endpoints_.endpoint_of(rank, codec.color(ga));
  if (peer.ok()) {
    peer.value().endpoint->announce({codec.index(ga), codec.offset(ga), size});
  }
  return Status::kOk;
}

void Engine::run_locked(const std::function<void()>& work) {
  const MustNotFail must_not_fail;
  const std::lock_guard lock(mutex_);
  work();
  (void)settle();
  flush();
  transports_.wake_for_deadline();
}

void Engine::reset(Rank new_rank) {
  const std::lock_guard lock(mutex_);
  ACP_ASSERT(queue_.issued() == queue_.completed());
  queue_.clear_failures();
  run_ = {};
  runner_.forget_peers();
  space_.set_rank(new_rank);
}

}  // namespace acp::gma
