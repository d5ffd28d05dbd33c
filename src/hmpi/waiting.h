// How a call waits: it makes progress, and gives its processor away the longer
// it waits.
#pragma once

#include <chrono>

#include "hmpi/job.h"

namespace hmpi {

/// Tells a waiting call about the message that it waits for.
struct Awaited {
  Send* send = nullptr;   ///< A send that a copy could complete.
  bool is_below = false;  ///< Also a request of the MPI below: no sleep.
};

class Waiting {
 public:
  using IsOver = bool (*)(void*);

  Waiting(Job& job, const Awaited& awaited, IsOver is_over, void* argument)
      : job_(job), awaited_(awaited), is_over_(is_over), argument_(argument) {}

  /// Returns when it is over. Leaves the gate at times.
  void wait() {
    for (;;) {
      if (look()) {
        return;
      }
      pause();
    }
  }

 private:
  /// `is_over` may have effects: after true it is not called again.
  bool look() {
    if (!is_over_already_) {
      job_.engine.progress();
      is_over_already_ = is_over_(argument_);
    }
    return is_over_already_;
  }

  void pause();
  void sleep(std::chrono::microseconds waited);
  bool has_to_poll() const noexcept;

  Job& job_;
  Awaited awaited_;
  IsOver is_over_;
  void* argument_;
  bool is_over_already_ = false;
  unsigned looks_ = 0;
  std::chrono::steady_clock::time_point begin_{};
  std::chrono::microseconds next_wake_{50};
  std::chrono::microseconds next_look_at_job_{1000};
};

/// Waits until `is_over()` is true.
template <typename IsOver>
void wait_until(Job& job, const Awaited& awaited, IsOver is_over) {
  Waiting(
      job, awaited,
      [](void* argument) { return (*static_cast<IsOver*>(argument))(); },
      &is_over)
      .wait();
}

}  // namespace hmpi
