// Progress steps: small functions of the layers above that the library calls
// after each pass of progress. They are no steps of an operation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "status/status.h"

namespace acp::runtime {

/// Steps run one at a time and never nested, and each step may add and remove
/// steps. Thread-safe.
class ProgressSteps {
 public:
  using Function = int (*)(void*);

  /// kInvalidArgument when the pair is there already.
  [[nodiscard]] Status add(Function function, void* argument);

  /// On return the step is not running and will not run again, except when
  /// called from the step itself. kInvalidArgument when it is not there.
  [[nodiscard]] Status remove(Function function, void* argument);

  enum class Outcome : std::uint8_t {
    kIdle,
    /// A step found its data in use, or another thread runs the steps and may
    /// be past the step that a signal was for. Run them again soon.
    kBusy,
    kMoved,  ///< A step made progress. Run them again.
  };

  /// Runs each step once. Does not wait for another thread that runs them.
  Outcome run();

  /// Waits until no other thread runs the steps, and then runs each once. The
  /// other thread may have been past the step that has work to do now.
  Outcome run_last();

  /// The number of successful calls of add(). A thread that is about to sleep
  /// compares it with an earlier number: a new step has not run yet.
  std::uint64_t added() const noexcept {
    return added_.load(std::memory_order_seq_cst);
  }

  bool is_empty() const noexcept {
    return count_.load(std::memory_order_seq_cst) == 0;
  }

 private:
  struct Entry {
    Function function;  ///< Null: removed while the list was being run.
    void* argument;
  };

  Outcome run_locked();
  Status add_locked(Function function, void* argument);
  Status remove_locked(Function function, void* argument);
  void forget_removed();

  std::mutex mutex_;  ///< Guards steps_; held while they run.
  std::vector<Entry> steps_;
  /// The atomics are written under the mutex and read by any thread.
  std::atomic<std::size_t> count_{0};    ///< Steps that are not removed.
  std::atomic<std::uint64_t> added_{0};  ///< Steps that were ever added.
};

}  // namespace acp::runtime
