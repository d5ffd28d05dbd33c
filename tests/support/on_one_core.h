// For a test of what happens where threads share a core.
#pragma once

#include <sched.h>

#include <catch2/catch.hpp>

namespace acp::test {

/// Binds the calling thread, and those it starts, to the core that it is on.
class OnOneCore {
 public:
  OnOneCore() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &here);
    REQUIRE(::sched_setaffinity(0, sizeof here, &here) == 0);
  }

  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

  ~OnOneCore() { (void)::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace acp::test
