// Checks made by several threads, and waits with a deadline.
#pragma once

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace acp::test {

/// Collects the results of checks in several threads, since Catch2's checks are
/// for one thread. Thread-safe.
class Verdict {
 public:
  /// Keeps the text of the first check that does not hold. `text` must outlive
  /// the Verdict.
  bool expect(bool holds, const char* text) noexcept {
    const char* none = kNone;
    if (!holds) {
      failure_.compare_exchange_strong(none, text, std::memory_order_relaxed);
    }
    return holds;
  }

  bool is_good() const noexcept { return failure() == kNone; }

  /// Text of the first check that does not hold; "" when all hold.
  const char* failure() const noexcept {
    return failure_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr const char* kNone = "";
  std::atomic<const char*> failure_{kNone};
};

/// Waits until the condition holds; false after a minute.
template <typename Condition>
bool comes_true(const Condition& condition) {
  const TimePoint deadline = SteadyClock().now() + std::chrono::minutes(1);
  while (!condition()) {
    if (SteadyClock().now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace acp::test
