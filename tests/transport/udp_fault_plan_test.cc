// The setting ACP_UDP_FAULTS, and the dice that apply it.
#include <string>

#include <catch2/catch.hpp>

#include "udp/fault_plan.h"

namespace acp::udp {

TEST_CASE("udp faults: the setting's text is understood", "[udp][faults]") {
  CHECK(parse_fault_plan("") == FaultPlan{});
  CHECK_FALSE(FaultPlan{}.is_active());
  const FaultPlan all{0.05, 0.02, 0.1, 0.01, 7};
  CHECK(parse_fault_plan(
            "loss=0.05,duplicate=0.02,reorder=0.1,corrupt=0.01,seed=7") == all);
  CHECK(all.is_active());
  const FaultPlan some{0, 1, 0, 0, 1};
  CHECK(parse_fault_plan("duplicate=1") == some);
}

TEST_CASE("udp faults: the path's text is understood", "[udp][faults]") {
  using namespace std::chrono_literals;
  const auto plan =
      parse_fault_plan("delay=2ms,jitter=500us,rate=20M,queue=64K");
  REQUIRE(plan.has_value());
  CHECK(plan->path == PathPlan{2ms, 500us, std::uint64_t{20} << 20, 65'536});
  CHECK(plan->is_active());
  CHECK(parse_fault_plan("delay=7ns")->path.delay == 7ns);
  CHECK(parse_fault_plan("delay=10s")->path.delay == 10s);
  CHECK_FALSE(parse_fault_plan("delay=0us")->is_active());
  CHECK(parse_fault_plan("rate=1000")->path.rate == 1'000);
  CHECK(parse_fault_plan(kFaultPlanExample)->path.delay == 2ms);
}

TEST_CASE("udp faults: other text is refused", "[udp][faults]") {
  for (const std::string text : {"loss",       "loss=",
                                 "loss=x",     "loss=0.1x",
                                 "loss=-0.1",  "loss=1.5",
                                 "loss=1",     "loss=nan",
                                 "drop=0.1",   "loss=0.1;seed=1",
                                 "seed=-1",    "delay=2",
                                 "delay=",     "delay=ms",
                                 "delay=-1ms", "delay=2.5ms",
                                 "delay=11s",  "delay=9223372036854775807s",
                                 "jitter=x",   "rate=0",
                                 "rate=999",   "rate=20MB",
                                 "queue=1K",   "queue=x"}) {
    INFO(text);
    CHECK_FALSE(parse_fault_plan(text).has_value());
  }
}

TEST_CASE("udp faults: the dice repeat themselves and hit their rate",
          "[udp][faults]") {
  FaultDice one(42);
  FaultDice two(42);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool hit = one.hits(0.25);
    CHECK(hit == two.hits(0.25));
    hits += hit ? 1 : 0;
  }
  CHECK(hits > 2'300);
  CHECK(hits < 2'700);
}

}  // namespace acp::udp
