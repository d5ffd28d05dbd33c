// Waits that Ctrl-C ends: they call the library for a slice of the time, and
// let Python run its signal handlers in between.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "python/native/object.h"

namespace acp::python {

/// A time limit, from seconds or None.
class TimeLimit {
 public:
  /// A slice is at most so many milliseconds: Ctrl-C waits for its end.
  explicit TimeLimit(int longest_slice_ms = 100)
      : longest_slice_ms_(longest_slice_ms) {}

  /// False with an exception set, unless it is None, absent or a number.
  bool take(PyObject* seconds) {
    if (seconds == nullptr || seconds == Py_None) return true;
    const double number = PyFloat_AsDouble(seconds);
    if (number == -1.0 && PyErr_Occurred() != nullptr) return false;
    // A year is without end for a job, and does not overflow.
    constexpr double kLongest = 365.0 * 24 * 3600;
    if (std::isnan(number)) {
      PyErr_SetString(PyExc_ValueError, "a time limit cannot be NaN");
      return false;
    }
    is_limited_ = true;
    end_ += std::chrono::milliseconds(static_cast<std::int64_t>(
        std::ceil(std::clamp(number, 0.0, kLongest) * 1000)));
    return true;
  }

  /// Milliseconds of the next slice; 0 when the time is over.
  int slice_ms() const {
    if (!is_limited_) return longest_slice_ms_;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        end_ - std::chrono::steady_clock::now());
    return static_cast<int>(
        std::clamp<std::int64_t>(left.count(), 0, longest_slice_ms_));
  }

 private:
  int longest_slice_ms_;
  bool is_limited_ = false;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now();
};

/// The answers of a wait of ACP, and a signal handler that has raised.
enum class Waited { kDone, kTimedOut, kFailed, kRaised };

/// Calls wait(milliseconds), which returns 0, 1 or -1 as the waits of ACP do,
/// until it returns no 1 or the time is over. Called with the GIL.
template <typename Wait>
Waited wait_in_slices(const TimeLimit& limit, Wait wait) {
  for (;;) {
    const int slice = limit.slice_ms();
    int result = 0;
    {
      const WithoutGil without;
      result = wait(slice);
    }
    if (result == 0) return Waited::kDone;
    if (result < 0) return Waited::kFailed;
    if (PyErr_CheckSignals() != 0) return Waited::kRaised;
    if (slice == 0) return Waited::kTimedOut;
  }
}

}  // namespace acp::python
