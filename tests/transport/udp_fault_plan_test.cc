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

TEST_CASE("udp faults: other text is refused", "[udp][faults]") {
  for (const std::string text :
       {"loss", "loss=", "loss=x", "loss=0.1x", "loss=-0.1", "loss=1.5",
        "loss=1", "loss=nan", "drop=0.1", "loss=0.1;seed=1", "seed=-1"}) {
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
