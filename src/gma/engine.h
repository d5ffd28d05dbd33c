// The ordered engine: acp_copy, the atomics and acp_complete.
//
// The fast path is in this header: no lock, no queue, nothing shared is
// written (docs/engine.md, "Handles"). Everything else is guarded by one
// mutex. Thread-safe unless noted.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "gma/operation.h"
#include "gma/operation_runner.h"
#include "gma/order_queue.h"
#include "gma/waiting.h"
#include "gmm/address_space.h"
#include "gmm/memory_ops.h"
#include "status/result.h"

namespace acp::gma {

/// A handle of the public interface: an operation's number, or a constant.
using Handle = std::uint64_t;
inline constexpr Handle kHandleNull = 0;
inline constexpr Handle kHandleAll = ~std::uint64_t{0};
inline constexpr Handle kHandleCont = ~std::uint64_t{1};

/// Not 0 after stores to other ranks' memory; asks for a full fence before the
/// thread relies on them being done. One flag a thread, for all engines.
/// Inlined operations of programs have it in common with the library
/// (acp/inline.h).
extern "C" [[gnu::visibility(
    "default")]] thread_local constinit unsigned char acpx_has_stores;

/// A full fence if this thread has stored to other ranks since the last one.
inline void settle_stores() noexcept {
  if (acpx_has_stores != 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    acpx_has_stores = 0;
  }
}

/// After an atomic of this thread: on x86 it is a full fence by itself.
inline void settle_by_atomic() noexcept {
#if defined(__x86_64__)
  acpx_has_stores = 0;
#endif
}

/// Result of Transports::poll().
enum class Arrivals : std::uint8_t {
  kNone,
  kServed,  ///< Peers have been served that need no answer of this process.
  kSome,    ///< Messages have arrived, or delayed replies have been sent.
  kSignal,  ///< A request has signalled this rank.
};

/// When the messages of an operation that starts now leave.
enum class Departure : std::uint8_t {
  kNow,
  kLater,  ///< With the next operation, or in the next pass.
  kHeld,   ///< Like kLater, but no thread is woken: the caller flushes.
};

/// The transports as the engine sees them; the runtime implements them. Called
/// with the engine's mutex held.
class Transports {
 public:
  Transports() = default;
  Transports(const Transports&) = delete;
  Transports& operator=(const Transports&) = delete;
  virtual ~Transports() = default;

  /// Polls all transports. Requests go to the agent, and replies to
  /// OperationRunner::on_reply.
  virtual Arrivals poll() = 0;
  /// Sends the messages that transports keep back for batching.
  virtual void flush() = 0;
  /// Like flush(), but keeps messages to peers that owe an answer.
  virtual void flush_idle() = 0;
  /// Wakes the epoll sleeper if a transport has to act before its sleep ends.
  virtual void wake_for_deadline() = 0;
};

class Engine final : private OperationOwner {
 public:
  /// Ends a delegated copy: sends the reply, which says at which end the copy
  /// has failed. kUnknown: not at the peer, so at the source, which is here.
  /// Mutex held.
  using DelegatedDone = std::function<void(const ReplyTo&, Status, CopyEnd)>;

  Engine(const gmm::AddressSpace& space,
         Endpoints& endpoints,
         gmm::ThreadWaker& waker,
         Transports& transports,
         WaitHost& wait_host);
  ~Engine();

  /// Any memory to any memory, `size` bytes.
  Result<Handle> copy(GlobalAddress to,
                      GlobalAddress from,
                      std::uint64_t size,
                      Handle order) {
    const Handle handle = copy_direct(to, from, size, order);
    return handle != kHandleNull ? handle : copy_slow(to, from, size, order);
  }

  /// Copies in the call if both ends are mapped and `order` is clear. Otherwise
  /// returns kHandleNull without any effect.
  Handle copy_direct(GlobalAddress to,
                     GlobalAddress from,
                     std::uint64_t size,
                     Handle order) {
    if (!is_clear(order)) {
      return kHandleNull;
    }
    std::byte* target = space_.direct(to, size);
    if (target == nullptr) {
      return kHandleNull;  // a far rank's: no second look-up
    }
    const std::byte* source = space_.direct(from, size);
    if (source == nullptr) {
      return kHandleNull;
    }
    before_direct(order);
    gmm::copy_bytes(target, source, size);
    note_store(to);
    return queue_.issued();
  }

  /// Like copy_direct(), for an aligned word between library memories: the
  /// shortest way.
  [[gnu::always_inline]] Handle copy_library_word(GlobalAddress to,
                                                  GlobalAddress from,
                                                  Handle order) {
    if (!is_clear(order) || ((to | from) & 7) != 0) {
      return kHandleNull;
    }
    std::byte* target = space_.library_word(to);
    const std::byte* source = space_.library_word(from);
    if (target == nullptr || source == nullptr) {
      return kHandleNull;
    }
    before_direct(order);
    gmm::copy_word(target, source);
    note_store(to);
    return queue_.issued();
  }

  /// The part of copy() that follows when copy_direct() has refused.
  Result<Handle> copy_slow(GlobalAddress to,
                           GlobalAddress from,
                           std::uint64_t size,
                           Handle order);

  /// One atomic on `word`; its old value goes to `result` on my rank.
  Result<Handle> atomic(protocol::Opcode opcode,
                        std::uint8_t width,
                        GlobalAddress result,
                        GlobalAddress word,
                        std::uint64_t operand,
                        std::uint64_t compare,
                        Handle order) {
    const Handle handle =
        atomic_direct(opcode, width, result, word, operand, compare, order);
    return handle != kHandleNull ? handle
                                 : atomic_slow(opcode, width, result, word,
                                               operand, compare, order);
  }

  /// Like atomic_direct(), for a word and a result in library memory: the
  /// shortest way.
  [[gnu::always_inline]] Handle atomic_library(protocol::Opcode opcode,
                                               std::uint8_t width,
                                               GlobalAddress result,
                                               GlobalAddress word,
                                               std::uint64_t operand,
                                               std::uint64_t compare,
                                               Handle order) {
    if (!is_clear(order) || ((result | word) & (width - 1U)) != 0 ||
        result == word) {
      return kHandleNull;
    }
    std::byte* target = space_.library_atomic(word);
    std::byte* to = space_.own_library_word(result);
    if (target == nullptr || to == nullptr) {
      return kHandleNull;
    }
    // No before_direct(order): the atomic itself is the full fence.
    gmm::store_word(to, width,
                    gmm::apply_atomic(opcode, width, target, operand, compare));
    return queue_.issued();
  }

  /// Executes the atomic in the call if the word and the result are mapped and
  /// aligned, and the CPU may do it. Otherwise returns kHandleNull without any
  /// effect; atomic_slow() then names the error, if there is one.
  Handle atomic_direct(protocol::Opcode opcode,
                       std::uint8_t width,
                       GlobalAddress result,
                       GlobalAddress word,
                       std::uint64_t operand,
                       std::uint64_t compare,
                       Handle order) {
    if (!is_clear(order) || ((result | word) & (width - 1U)) != 0 ||
        result == word || space_.codec().rank(result) != space_.my_rank() ||
        !space_.has_cpu_atomics(width)) {
      return kHandleNull;
    }
    std::byte* target = space_.direct(word, width);
    std::byte* to = space_.direct(result, width);
    if (target == nullptr || to == nullptr) {
      return kHandleNull;
    }
    gmm::store_word(to, width,
                    gmm::apply_atomic(opcode, width, target, operand, compare));
    return queue_.issued();
  }

  Result<Handle> atomic_slow(protocol::Opcode opcode,
                             std::uint8_t width,
                             GlobalAddress result,
                             GlobalAddress word,
                             std::uint64_t operand,
                             std::uint64_t compare,
                             Handle order);

  /// Issues a chain on one peer. The caller (chain.h) has checked its steps.
  Result<Handle> chain(std::span<const Step> steps,
                       Handle order,
                       Departure departure = Departure::kNow) {
    return issue(steps, order, departure);
  }

  /// True when an operation with this order would start at once.
  bool is_clear(Handle order) const noexcept {
    return __builtin_expect(!queue_.is_busy(), 1) || order == kHandleNull;
  }

  /// Before a direct access that runs under `order`.
  static void before_direct(Handle order) noexcept {
    if (order != kHandleNull) {
      settle_stores();
    }
  }

  /// The number of an operation that was done in the call.
  Handle borrowed() const noexcept { return queue_.issued(); }

  /// Waits until all operations up to `handle` are complete. Returns kOk, the
  /// reason of their first failure, kTimedOut, or the host's health.
  Status complete(Handle handle, TimePoint deadline) {
    if (__builtin_expect(!queue_.is_busy(), 1)) {
      settle_stores();
      return Status::kOk;
    }
    return complete_slow(handle, deadline);
  }

  /// True when everything up to `handle` is complete. Makes a pass, unless
  /// operations have completed since the last call, or the last call was for
  /// another operation and this one is complete. Does not block: no pass is
  /// made while another thread makes one.
  bool is_complete(Handle handle);

  /// Makes one pass; returns at once while another thread makes one. Bytes that
  /// were copied count as an arrival.
  Arrivals progress();

  /// Sends the messages that kLater and kHeld have kept back.
  void send_kept();

  /// Tells the transport that a rank of the job is about to access this rank's
  /// memory. Fails as AddressSpace::own does.
  Status announce(GlobalAddress ga, std::uint64_t size, Rank rank);

  /// Runs `work` under the mutex, then sends the operations that it started.
  void run_locked(const std::function<void()>& work);

  /// Runs `work` under the mutex and nothing else.
  template <typename Work>
  void guarded(Work work) {
    const std::lock_guard lock(mutex_);
    work();
  }

  /// Like guarded(), for a thread that is in no hurry: it yields its core while
  /// the mutex is locked. A thread that blocked in the mutex would be woken at
  /// each unlocking, and would mostly find the mutex locked again.
  template <typename Work>
  void guarded_later(Work work) {
    constexpr int kTries = 100;  // locked for longer than that: worth a wait
    for (int tries = 0; tries < kTries; ++tries) {
      if (const std::unique_lock lock(mutex_, std::try_to_lock);
          lock.owns_lock()) {
        work();
        return;
      }
      ::sched_yield();
    }
    guarded(work);
  }

  /// Only tsan needs this call. A caller and a peer may order their accesses
  /// through shared memory. A later request of the peer makes the progress
  /// thread touch that memory, too. Part of this order is in the peer's
  /// process, where tsan cannot see it; the mutex shows it the same order.
  void show_order_to_tsan() {
#ifdef __SANITIZE_THREAD__
    guarded([] {});
#endif
  }

  /// Start operations without a number: steps of the runtime, and copies that
  /// another rank has delegated. Mutex held: the runtime calls the first
  /// through run_locked(), and the agent the second.
  void start_internal(const Step& word);
  void start_delegated(const ReplyTo& reply_to, const Step& step);

  void set_delegated_done(DelegatedDone done) {
    delegated_done_ = std::move(done);
  }

  /// A transport has lost a peer: fails its operations, and wakes all callers,
  /// whose health is bad now. Mutex held, inside of Transports::poll().
  void fail_peer(transport::ProcId peer) {
    runner_.fail_peer(peer, Status::kPeerDead);
    owes_wake_ = true;
  }

  OperationRunner& runner() noexcept {
    return runner_;
  }

  const OrderQueue& queue() const noexcept {
    return queue_;
  }

  const gmm::AddressSpace& space() const noexcept {
    return space_;
  }

  /// Operations wait for room in an endpoint, or have portions to copy: do not
  /// sleep long. Any thread.
  bool has_unsent() const noexcept {
    return has_unsent_.load(std::memory_order_relaxed);
  }

  /// Number of passes that left replies to the next pass. Any thread.
  std::uint32_t deferred_flushes() const noexcept {
    return deferred_flushes_.load(std::memory_order_relaxed);
  }

  /// Internal and delegated operations under way. Any thread.
  bool has_internal() const noexcept {
    return internal_.load(std::memory_order_acquire) != 0;
  }

  /// acp_reset: takes the new rank, forgets failures and paths. Nothing may be
  /// under way.
  void reset(Rank new_rank);

 private:
  void note_store(GlobalAddress to) noexcept {
    if (space_.codec().rank(to) != space_.my_rank()) {
      acpx_has_stores = 1;
    }
  }

  Status complete_slow(Handle handle, TimePoint deadline);
  Result<Handle> issue(std::span<const Step> steps,
                       Handle order,
                       Departure departure = Departure::kNow);
  Status cross_copy_now(const Step& step, Way way, Handle order);
  Sequence condition_of(Handle order) const noexcept;
  bool post_behind(Operation& operation);
  void note_run(const Operation& operation, Sequence sequence);
  Status make_room();
  Status refuse(const Step& step,
                Status status,
                const char* remedy = nullptr) const;
  Operation& new_operation(Owner owner, std::span<const Step> steps);

  /// settle_all(), if anything has happened. Most calls and passes find
  /// nothing.
  bool settle() {
    if (runner_.has_unsent() || queue_.has_done() || owes_wake_) {
      return settle_all();
    }
    has_unsent_.store(false, std::memory_order_relaxed);
    return false;
  }

  bool settle_all();
  void end_internal() noexcept;
  void flush();
  void on_finished(Operation& operation) override;

  gmm::AddressSpace space_;  ///< A copy: one load less on every path.
  Endpoints& endpoints_;
  Transports& transports_;
  WaitHost& wait_host_;
  /// Guards the fields below, the transports and the agent.
  std::mutex mutex_;
  OrderQueue queue_;  ///< Its atomics are read without the mutex.
  OperationRunner runner_;
  DelegatedDone delegated_done_;  ///< Set once, before the first request.
  /// All, in use or not. new_operation() adds.
  std::vector<std::unique_ptr<Operation>> operations_;
  /// on_finished() adds, and new_operation() removes.
  std::vector<Operation*> free_operations_;
  std::vector<Operation*> ready_;  ///< Scratch of settle().

  /// While `newest` is the newest number, all operations under way are steps
  /// posted to `queue`, which executes them in order. Written by issue().
  struct PostedRun {
    PeerQueue* queue = nullptr;  ///< Null: no such run.
    Sequence newest = 0;
  };

  PostedRun run_;  ///< Changed by issue(), and forgotten by reset().
  bool is_flush_deferred_ = false;  ///< The last pass did not flush.
  /// Callers may wait for what has just happened: settle() wakes them.
  bool owes_wake_ = false;
  /// The atomics are written under the mutex and read by any thread.
  std::atomic<std::uint32_t> deferred_flushes_{0};
  std::atomic<bool> has_unsent_{false};  ///< runner_.has_unsent().
  /// Counted up by start_internal() and start_delegated(), and down by
  /// end_internal(). Release there pairs with acquire in has_internal().
  std::atomic<std::uint32_t> internal_{0};
  /// queue_.completed() at the end of the last is_complete(). Written by any
  /// caller; relaxed, because it only decides whether a caller makes a pass.
  std::atomic<Sequence> inquired_{0};
  /// The handle of the last is_complete(); as inquired_.
  std::atomic<Handle> inquired_handle_{kHandleNull};
};

}  // namespace acp::gma
