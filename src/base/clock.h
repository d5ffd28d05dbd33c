// Monotonic time, which tests replace by a virtual clock.
#pragma once

#include <chrono>

namespace acp {

using Duration = std::chrono::nanoseconds;
/// A point in monotonic time, in nanoseconds from an arbitrary start.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// The source of time for all code with time-outs. Thread-safe.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual TimePoint now() const noexcept = 0;
};

/// The machine's CLOCK_MONOTONIC.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
};

}  // namespace acp
