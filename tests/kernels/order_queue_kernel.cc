// The order queue under all schedules: one thread queues and completes under
// the engine's mutex, and other threads read its three atomics.
// gma/order_queue.h has the invariants.
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gma/order_queue.h"
#include "kernels/program.h"

namespace kernels {

namespace {

using acp::Status;
using acp::gma::Operation;
using acp::gma::OrderQueue;
using acp::gma::Sequence;

/// Thread 0 issues operations, thread 1 ends them, and the last thread reads.
class Queue : public Program {
 public:
  explicit Queue(std::size_t readers) : readers_(readers) { ready_.reserve(8); }

  std::size_t threads() const override { return 2 + readers_; }

  void run(std::size_t thread) override {
    switch (thread) {
      case 0: issue(); break;
      case 1: end(); break;
      default: read(); break;
    }
  }

  void check() override {
    expect(queue_.completed() == queue_.issued() && !queue_.is_busy(),
           "invariant 3: all operations complete");
  }

 private:
  static constexpr std::size_t kOperations = 2;

  /// The second operation waits for the first one.
  void issue() {
    Sequence before = 0;
    for (std::size_t i = 0; i < kOperations; ++i) {
      const std::lock_guard lock(mutex_);
      before = queue_.push(operations_[i], before);
      if (i == 0 || queue_.completed() >= operations_[i].wait_for) {
        start(i);
      }
    }
  }

  void start(std::size_t i) {
    expect(!may_start_[i].exchange(true, std::memory_order_acq_rel),
           "invariant 2: an operation starts at most once");
  }

  /// Does each operation when it may start: it writes its result.
  void end() {
    for (std::size_t i = 0; i < kOperations; ++i) {
      while (!may_start_[i].load(std::memory_order_acquire)) {
      }
      results_[i] = 7;
      const std::lock_guard lock(mutex_);
      queue_.finish(operations_[i].sequence, Status::kOk);
      expect(queue_.retire(ready_), "invariant 3: completed() moves on");
      for (const Operation* waiter : ready_) {
        start(static_cast<std::size_t>(waiter - operations_.data()));
      }
      ready_.clear();
    }
  }

  /// Reads as the engine's fast path does.
  void read() {
    const Sequence completed = queue_.completed();
    const Sequence issued = queue_.issued();
    expect(completed <= issued, "invariant 1: completed() <= issued()");
    look_at_results(completed);
    if (!queue_.is_busy()) {
      // Every operation issued so far is complete, and so are its effects.
      expect(queue_.completed() >= issued,
             "a number above completed() implies busy");
      look_at_results(issued);
    }
  }

  /// A race here means that a result is not visible.
  void look_at_results(Sequence completed) {
    for (Sequence number = 2; number <= completed; ++number) {
      expect(results_[number - 2] == 7,
             "invariant 3: an operation that is complete has its effect");
    }
  }

  const std::size_t readers_;
  std::mutex mutex_;  ///< The engine's.
  OrderQueue queue_;
  std::array<Operation, kOperations> operations_{};
  std::array<std::atomic<bool>, kOperations> may_start_{};
  std::array<std::uint64_t, kOperations> results_{};
  std::vector<Operation*> ready_;  ///< Guarded by mutex_.
};

}  // namespace

std::vector<Case> all_cases() {
  return {make_case<Queue>("fast_path", 3, 1U)};
}

}  // namespace kernels
