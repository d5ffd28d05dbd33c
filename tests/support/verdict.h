// Checks made by several threads, and waits with a deadline.
#pragma once

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace acp::test {

/// Collects what threads find, since Catch2's own
/// checks are for one thread. Thread-safe.
class Verdict {
 public:
  /// `text` must live for ever; the first that does not hold is kept.
  bool expect(bool holds, const char* text) noexcept {
    const char* none = kNone;
    if (!holds) {
      failure_.compare_exchange_strong(none, text, std::memory_order_relaxed);
    }
    return holds;
  }

  bool is_good() const noexcept { return failure() == kNone; }

  /// "" when everything holds.
  const char* failure() const noexcept {
    return failure_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr const char* kNone = "";
  std::atomic<const char*> failure_{kNone};
};

/// Looks until the condition holds; false after a minute.
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
