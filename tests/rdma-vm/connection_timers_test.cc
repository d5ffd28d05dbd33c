// Tests that the queue pairs of a connection have the time-outs, the numbers of
// retries and the traffic class that the settings ask for.
#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"

using namespace std::chrono_literals;

namespace acp::verbs {

namespace {

/// The code of the time-out, the retries, and the code of the delay after
/// "receiver not ready".
std::array<int, 3> timers_of(ibv_qp& pair) {
  ibv_qp_attr found{};
  ibv_qp_init_attr made{};
  REQUIRE(ibv_query_qp(&pair, &found,
                       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_MIN_RNR_TIMER,
                       &made) == 0);
  return {found.timeout, found.retry_cnt, found.min_rnr_timer};
}

}  // namespace

// The queue pairs that rdma_cm has made are asked for their times, at both
// ends.
TEST_CASE("verbs timers: both ends of a connection have what was asked for",
          "[verbs][timers]") {
  created_pairs().clear();
  SECTION("unless told otherwise") {
    Pair pair;
    REQUIRE(pair.until([&] { return pair.is_ready(); }));
    for (ibv_qp* each : created_pairs()) {
      CHECK(timers_of(*each) == std::array{18, 6, 12});
    }
  }
  SECTION("settings") {
    Pair pair(Executor::kAgent, kMaxReceives,
              {.ack_timeout = 60ms, .retries = 3, .not_ready_delay = 100us});
    REQUIRE(pair.until([&] { return pair.is_ready(); }));
    for (ibv_qp* each : created_pairs()) {
      CHECK(timers_of(*each) == std::array{14, 3, 7});
    }
  }
  CHECK(created_pairs().size() == 2);
}

TEST_CASE("verbs: both ends of a connection have the traffic class",
          "[verbs]") {
  created_pairs().clear();
  Pair pair(Executor::kAgent, kMaxReceives, {}, 104);
  REQUIRE(pair.until([&] { return pair.is_ready(); }));
  REQUIRE(created_pairs().size() == 2);
  for (ibv_qp* each : created_pairs()) {
    ibv_qp_attr found{};
    ibv_qp_init_attr made{};
    REQUIRE(ibv_query_qp(each, &found, IBV_QP_AV, &made) == 0);
    CHECK(int{found.ah_attr.grh.traffic_class} == 104);
  }
}

}  // namespace acp::verbs
