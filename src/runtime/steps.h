// Progress steps of layers above: small functions that the library calls
// whenever it makes progress.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.h"

namespace acp::runtime {

/// Steps run one at a time and never nested. Thread-safe.
class Steps {
 public:
  using Function = int (*)(void*);

  /// kInvalidArgument when the pair is there already.
  [[nodiscard]] Status add(Function function, void* argument);

  /// On return the step is not running and will not run again, except when
  /// called from the step itself. kInvalidArgument when it is not there.
  [[nodiscard]] Status remove(Function function, void* argument);

  enum class Outcome : std::uint8_t {
    kIdle,
    kBusy,   ///< A step could not look, or another thread runs them and may be
             ///< past the one that a signal was for: run them again soon.
    kMoved,  ///< A step did something: run them again.
  };

  /// Runs each step once.
  Outcome run();

  /// The same, after a run in another thread is over: that one may have looked
  /// already at what has just changed.
  Outcome run_last();

  /// Counts add(): what has changed since is not to be slept over. Any thread.
  std::uint64_t added() const noexcept {
    return added_.load(std::memory_order_seq_cst);
  }

  bool is_empty() const noexcept {
    return count_.load(std::memory_order_seq_cst) == 0;
  }

 private:
  struct Step {
    Function function;  ///< Null: removed while the list was being run.
    void* argument;
  };

  Outcome run_locked();
  Status add_locked(Function function, void* argument);
  Status remove_locked(Function function, void* argument);
  void forget_removed();

  std::mutex mutex_;  ///< Guards steps_; held while they run.
  std::vector<Step> steps_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> added_{0};
};

}  // namespace acp::runtime
