// Binds threads to one core, for tests of threads that share a core.
#pragma once

#include <sched.h>

#include <catch2/catch.hpp>

namespace acp::test {

/// Binds the calling thread, and the threads that it starts, to its present
/// core. The destructor restores the calling thread's affinity.
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
