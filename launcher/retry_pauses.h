// The pauses before a remote shell that has failed is started again.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace acp::launcher {

/// Random, so that many hosts that were refused at once do not come back at
/// once. Used by one thread. Pure.
class RetryPauses {
 public:
  // An sshd that refuses has room again when logins under way have ended, and
  // kShortest gives them time. A wider spread keeps more hosts apart, and
  // starts the job later.
  static constexpr std::chrono::milliseconds kShortest{500};
  static constexpr std::chrono::milliseconds kLongest{2000};

  explicit RetryPauses(std::uint32_t seed) : generator_(seed) {}

  /// The pause before the next start, of whatever host.
  std::chrono::milliseconds next() {
    std::uniform_int_distribution<std::int64_t> pause(kShortest.count(),
                                                      kLongest.count());
    return std::chrono::milliseconds(pause(generator_));
  }

 private:
  std::mt19937 generator_;
};

}  // namespace acp::launcher
