// Time as the library sees it: monotonic, and replaceable in tests.
#pragma once

#include <chrono>

namespace acp {

using Duration = std::chrono::nanoseconds;
/// Nanoseconds on an arbitrary monotonic scale.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Source of time for everything that has time-outs. Thread-safe.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual TimePoint now() const noexcept = 0;
};

/// The machine's monotonic clock.
class SteadyClock final : public Clock {
 public:
  TimePoint now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
};

}  // namespace acp
