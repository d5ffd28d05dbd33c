// The ordered engine: what acp_copy, the atomics and acp_complete do.
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
#include "base/result.h"
#include "gma/operation.h"
#include "gma/operation_runner.h"
#include "gma/order_queue.h"
#include "gma/waiting.h"
#include "gmm/address_space.h"
#include "gmm/memory_ops.h"

namespace acp::gma {

/// As in the public header.
using Handle = std::uint64_t;
inline constexpr Handle kHandleNull = 0;
inline constexpr Handle kHandleAll = ~std::uint64_t{0};
inline constexpr Handle kHandleCont = ~std::uint64_t{1};

/// Set by stores to other ranks' memory; asks for a full fence before the
/// thread relies on them being done. One flag a thread, for all engines.
extern thread_local constinit bool has_remote_stores;

/// A full fence if this thread has stored to other ranks since the last one.
inline void settle_stores() noexcept {
  if (has_remote_stores) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    has_remote_stores = false;
  }
}

/// After an atomic of this thread: on x86 it is a full fence by itself.
inline void settle_by_atomic() noexcept {
#if defined(__x86_64__)
  has_remote_stores = false;
#endif
}

/// What a pass has taken from the wires.
enum class Arrivals : std::uint8_t {
  kNone,
  kSome,
  kSignal,  ///< Among them a signal to this rank.
};

/// When what is issued leaves, as far as it rests with the engine.
enum class Departure : std::uint8_t {
  kNow,
  kLater,  ///< With what is issued next, or with the next pass.
  kHeld,   ///< The same, and the caller sees to it.
};

/// Does the engine's part of a progress pass; given by the runtime.
class Transports {
 public:
  Transports() = default;
  Transports(const Transports&) = delete;
  Transports& operator=(const Transports&) = delete;
  virtual ~Transports() = default;

  /// Polls all wires; messages end in the agent and in
  /// OperationRunner::on_reply.
  virtual Arrivals poll() = 0;
  /// Sends what the wires keep back.
  virtual void flush() = 0;
  /// The same, except to peers that have something to answer.
  virtual void flush_idle() = 0;
  /// Wakes who sleeps past what the wires have to do next.
  virtual void announce_deadline() = 0;
};

class Engine final : private OperationOwner {
 public:
  /// Ends a delegated copy: sends the reply. Mutex held.
  using DelegatedDone = std::function<void(const ReplyTo&, Status)>;

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

  /// The same when it can be done here and now; else kHandleNull, and nothing
  /// has happened.
  Handle copy_direct(GlobalAddress to,
                     GlobalAddress from,
                     std::uint64_t size,
                     Handle order) {
    if (!is_clear(order)) {
      return kHandleNull;
    }
    std::byte* target = space_.direct(to, size);
    const std::byte* source = space_.direct(from, size);
    if (target == nullptr || source == nullptr) {
      return kHandleNull;
    }
    before_direct(order);
    gmm::copy_bytes(target, source, size);
    note_store(to);
    return queue_.issued();
  }

  /// The same for an aligned word between library memories: the shortest way.
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

  /// What copy() does when copy_direct() did not.
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

  /// The same on library memory, with a result in library memory; else
  /// kHandleNull, and nothing has happened.
  [[gnu::always_inline]] Handle atomic_library(protocol::Opcode opcode,
                                               std::uint8_t width,
                                               GlobalAddress result,
                                               GlobalAddress word,
                                               std::uint64_t operand,
                                               std::uint64_t compare,
                                               Handle order) {
    if (!is_clear(order) || ((result | word) & (width - 1U)) != 0) {
      return kHandleNull;
    }
    std::byte* target = space_.library_atomic(word);
    std::byte* to = space_.own_library_word(result);
    if (target == nullptr || to == nullptr) {
      return kHandleNull;
    }
    gmm::store_word(to, width,
                    gmm::apply_atomic(opcode, width, target, operand, compare));
    return queue_.issued();
  }

  Handle atomic_direct(protocol::Opcode opcode,
                       std::uint8_t width,
                       GlobalAddress result,
                       GlobalAddress word,
                       std::uint64_t operand,
                       std::uint64_t compare,
                       Handle order) {
    if (!is_clear(order) || ((result | word) & (width - 1U)) != 0 ||
        space_.codec().rank(result) != space_.my_rank() ||
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

  /// A chain on one peer, checked by the caller of this (chain.h).
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

  /// Waits until everything up to `handle` is complete. kOk; how one of them
  /// failed; kTimedOut; or the host's health.
  Status complete(Handle handle, TimePoint deadline) {
    if (__builtin_expect(!queue_.is_busy(), 1)) {
      settle_stores();
      return Status::kOk;
    }
    return complete_slow(handle, deadline);
  }

  /// True when everything up to `handle` is complete. Makes some progress.
  bool is_complete(Handle handle);

  /// One pass; returns at once when another thread is at it. True when
  /// something was done.
  bool progress();

  /// Sends what waited for more to come.
  void send_kept();

  /// Runs `work` under the mutex, then sends what it started.
  void run_locked(const std::function<void()>& work);

  /// Runs `work` under the mutex and nothing else.
  template <typename Work>
  void guarded(Work work) {
    const std::lock_guard lock(mutex_);
    work();
  }

  /// The same for whoever has time: one that waited in the mutex would have to
  /// be woken at each unlocking, and would mostly find it locked again.
  template <typename Work>
  void guarded_later(Work work) {
    constexpr int kTries = 100;  // then it is held for long: worth a wait
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

  /// For tsan alone. A peer that the caller told or heard of through shared
  /// memory has this process's progress thread touch memory for it: part of
  /// that order is in the other process, where tsan cannot see it.
  void show_order_to_tsan() {
#ifdef __SANITIZE_THREAD__
    guarded([] {});
#endif
  }

  /// Starts something that has no number. Mutex held (called by agent and,
  /// through run_locked, by the runtime).
  void start_internal(std::span<const Step> steps);
  void start_delegated(const ReplyTo& reply_to, const Step& step);

  void set_delegated_done(DelegatedDone done) {
    delegated_done_ = std::move(done);
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

  /// Pieces wait for room on a wire: do not sleep long. Any thread.
  bool has_unsent() const noexcept {
    return has_unsent_.load(std::memory_order_relaxed);
  }

  /// Passes so far that left replies to the next one. Any thread.
  std::uint32_t holds() const noexcept {
    return holds_.load(std::memory_order_relaxed);
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
      has_remote_stores = true;
    }
  }

  Status complete_slow(Handle handle, TimePoint deadline);
  Result<Handle> issue(std::span<const Step> steps,
                       Handle order,
                       Departure departure = Departure::kNow);
  bool transfer_now(const Step& step,
                    const gmm::Target& to,
                    const gmm::Target& from,
                    Handle order,
                    Status& status);
  Sequence condition_of(Handle order) const noexcept;
  Status make_room();
  Status refuse(const Step& step, Status status) const;
  Operation& new_operation(Owner owner, std::span<const Step> steps);
  bool settle();
  void flush();
  void on_finished(Operation& operation) override;

  gmm::AddressSpace space_;  ///< A copy: one load less on every path.
  Endpoints& endpoints_;
  Transports& transports_;
  WaitHost& wait_host_;
  std::mutex mutex_;  ///< Guards all that follows, the wires and the agent.
  OrderQueue queue_;  ///< Its atomics are read without the mutex.
  OperationRunner runner_;
  DelegatedDone delegated_done_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_operations_;
  std::vector<Operation*> ready_;
  bool is_holding_ = false;  ///< The last pass did not flush.
  std::atomic<std::uint32_t> holds_{0};
  std::atomic<bool> has_unsent_{false};
  std::atomic<std::uint32_t> internal_{0};
};

}  // namespace acp::gma
