// Tests of queue pairs that fail: the test breaks them while their connection
// works, and the transport has to report it once.
#include "rdma-vm/created_pairs.h"
#include "rdma-vm/late_queue.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

/// The other end finds out after three times 67 ms.
constexpr Timers kSoon{.ack_timeout = std::chrono::milliseconds(60),
                       .retries = 2,
                       .launcher_time = kNoLauncher.launcher_time};

/// Posts a work request that the device accepts and cannot execute: the queue
/// pair fails.
void post_nonsense(ibv_qp& pair) {
  ibv_send_wr request{};
  request.wr_id = 2 * std::uint64_t{UINT32_MAX};  // not of the transport
  request.opcode = IBV_WR_TSO;
  ibv_send_wr* bad = nullptr;
  REQUIRE(ibv_post_send(&pair, &request, &bad) == 0);
}

}  // namespace

TEST_CASE("verbs queue pair: one that fails is told once, with its reason",
          "[verbs][failure]") {
  std::vector<ibv_qp*>& created = created_pairs();
  created.clear();
  Pair pair(Executor::kAgent, kMaxReceives, kSoon);
  REQUIRE(created.size() == 2);
  const std::size_t broken = GENERATE(0U, 1U);
  post_nonsense(*created[broken]);
  REQUIRE(pair.until(
      [&] { return pair.ends[0].failures + pair.ends[1].failures == 1; }));
  const bool is_first = pair.ends[0].failures == 1;
  End& told = pair.ends[is_first ? 0 : 1];
  End& other = pair.ends[is_first ? 1 : 0];
  INFO(told.failure);
  CHECK(told.failure.find(is_first ? "rank 1 at " : "rank 0 at ") !=
        std::string::npos);
  CHECK(told.failure.find("queue pair " +
                          std::to_string(created[broken]->qp_num)) !=
        std::string::npos);
  CHECK(told.send_one() == Status::kPeerDead);
  // The other end is not told. It finds out when it sends.
  CHECK(pair.until([&] { return other.send_one() == Status::kPeerDead; }));
  CHECK(pair.until([&] { return other.failures == 1; }));
  CHECK(told.failures == 1);
}

TEST_CASE("verbs queue pair: one that is flushed without a reason is lost",
          "[verbs][failure]") {
  std::vector<ibv_qp*>& created = created_pairs();
  created.clear();
  Pair pair(Executor::kAgent, kMaxReceives, kSoon);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  REQUIRE(ibv_modify_qp(created[0], &attributes, IBV_QP_STATE) == 0);
  // The first end finds its queue pair flushed. The other end hears only that
  // the connection is closed.
  int flushed = 0;
  for (End& end : pair.ends) {
    CHECK(pair.until([&] { return end.send_one() == Status::kPeerDead; }));
    CHECK(pair.until([&] { return end.failures == 1; }));
    flushed += end.failure.find("queue pair") != std::string::npos ? 1 : 0;
  }
  CHECK(flushed == 1);
}

// No call to the peer follows the get: only its loss can show that the peer is
// missed.
TEST_CASE("verbs queue pair: a get that is flushed fails its peer",
          "[verbs][failure]") {
  std::vector<ibv_qp*>& created = created_pairs();
  created.clear();
  Pair pair(Executor::kAgent, kMaxReceives, kSoon);
  End& near = pair.ends[0];
  const RemoteStep get = pair.step(Opcode::kGet, 0, 0, 16);
  REQUIRE(pair.post(get, 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  LateQueue late(*created.front());
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  REQUIRE(ibv_modify_qp(created.front(), &attributes, IBV_QP_STATE) == 0);
  REQUIRE(near.endpoint().post({&get, 1}, 2) == Status::kOk);
  near.transport->flush();
  const auto until = [&](const std::function<bool()>& condition) {
    return test::eventually([&] {
      near.transport->poll(near);
      near.transport->flush();
      return condition();
    });
  };
  SECTION("before the connection is closed") {}
  SECTION("after the connection is closed") {
    pair.ends[1].transport.reset();
    // A lost peer with a step under way stays in the list of unsent data.
    REQUIRE(
        until([&] { return near.transport->next_deadline() == TimePoint{}; }));
  }
  late.release();
  CHECK(until([&] { return near.failures == 1; }));
  CHECK(near.done.size() == 1);
}

}  // namespace acp::verbs
