// Notices a deadlock: every rank waits in the library, and nobody computes.
#pragma once

#include <chrono>
#include <optional>

#include "launcher/waits.h"

namespace acp::launcher {

/// Used by one thread.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  /// Zero limit: never bites.
  explicit Watchdog(std::chrono::milliseconds limit) : limit_(limit) {}

  /// To be called a few times a second. True when for `limit` every rank was
  /// waiting at every call and all of them together used less than 5 % of a
  /// processor: sleepers do, a busy program that is waiting by chance not.
  bool is_stuck(const protocol::HostSegment& segment, const Rollcall& rollcall);

 private:
  struct Start {
    Clock::time_point time;
    std::chrono::milliseconds used;
  };

  std::chrono::milliseconds limit_;
  std::optional<Start> waiting_since_;
};

}  // namespace acp::launcher
