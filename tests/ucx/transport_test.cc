// Two UCX transports in one process, polled by hand. A target must notice the
// accesses that UCX emulates. The environment chooses UCX's TCP.
#include "ucx/pair.h"

namespace acp::ucx {

TEST_CASE("ucx: a target knows that it has served a get", "[ucx][transport]") {
  Pair pair;
  constexpr int kPasses = 1'000'000;
  int passes = 0;
  // The first posts connect, and ask for the registration.
  while (pair.post_get(0) != Status::kOk && ++passes < kPasses) {
    pair.pass();
  }
  while (pair.sinks[0].done == 0 && ++passes < kPasses) {
    pair.pass();
  }
  REQUIRE(pair.sinks[0].done == 1);
  for (std::uint64_t value = 1; value <= 100; ++value) {
    pair.remote = value;
    REQUIRE(pair.post_get(value) == Status::kOk);
    const int done = pair.sinks[0].done;
    bool has_served = false;
    while (pair.sinks[0].done == done && ++passes < kPasses) {
      has_served |= pair.pass();
    }
    REQUIRE(pair.local == value);
    CHECK(has_served);
  }
  CHECK(pair.sinks[1].messages == 0);
  CHECK(pair.sinks[0].failures + pair.sinks[1].failures == 0);
}

TEST_CASE("ucx: a peer with other settings ends the job at the next poll",
          "[ucx][transport]") {
  Pair pair({.atomics_of_1 = Executor::kDevice});
  UcxTransport& mine = *pair.transports[0];
  CHECK(mine.endpoint(1, 0).status() == Status::kBadOption);
  CHECK(pair.sinks[0].failures == 0);
  CHECK(mine.next_deadline() == TimePoint{});
  CHECK_FALSE(mine.arm());
  mine.poll(pair.sinks[0]);
  mine.poll(pair.sinks[0]);
  CHECK(pair.sinks[0].failures == 1);
  CHECK(pair.sinks[0].last_failure.find("other settings of ucx") !=
        std::string::npos);
}

}  // namespace acp::ucx
