// Tests of the software device rxe: a read or an atomic is not posted before
// the writes and sends in front of it are acknowledged. An endpoint learns of
// an acknowledgement in a poll only, so a test without polls sees it wait.
#include <array>
#include <cstring>
#include <vector>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

/// A pair whose end 0 knows the memory of end 1, and has credit for several
/// packets. The answer to its stream brings all that the window allows. Its
/// first post has token 1.
class RxePair : public Pair {
 public:
  RxePair() : Pair(Executor::kDevice) {
    stream(0);
    const int heard = ends[0].messages;
    REQUIRE(ends[1].send_one() == Status::kOk);
    ends[1].transport->flush();
    REQUIRE(until([&] { return ends[0].messages == heard + 1; }));
    REQUIRE(post(step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
    REQUIRE(is_done(1));
  }

  /// Posts a step of end 0 and gives it to the device, if it may go.
  Status post_now(const RemoteStep& step) {
    const Status status = ends[0].endpoint().post({&step, 1}, 2);
    ends[0].transport->flush();
    return status;
  }

  const Counters& counts() const { return ends[0].transport->counters(); }
};

/// An atomic on the first aligned word behind offset 64 of end 1.
RemoteStep add_step(RxePair& pair) {
  RemoteStep add = pair.step(Opcode::kAdd, 0, 0, 0);
  add.offset = (add.offset + 64) & ~std::uint64_t{7};
  add.local_memory = nullptr;
  add.operand = 1;
  return add;
}

/// The opcodes that are given to the device of one queue pair while it lives.
/// Only one may live at a time.
class PostedOpcodes {
 public:
  explicit PostedOpcodes(const ibv_qp& pair)
      : context_(*pair.context), original_(context_.ops), number_(pair.qp_num) {
    current = this;
    context_.ops.post_send = post_send;
  }

  PostedOpcodes(const PostedOpcodes&) = delete;
  PostedOpcodes& operator=(const PostedOpcodes&) = delete;

  ~PostedOpcodes() {
    context_.ops = original_;
    current = nullptr;
  }

  const std::vector<ibv_wr_opcode>& all() const { return opcodes_; }

 private:
  inline static PostedOpcodes* current = nullptr;

  static int post_send(ibv_qp* pair, ibv_send_wr* list, ibv_send_wr** bad) {
    for (const ibv_send_wr* each = list;
         each != nullptr && pair->qp_num == current->number_;
         each = each->next) {
      current->opcodes_.push_back(each->opcode);
    }
    return current->original_.post_send(pair, list, bad);
  }

  ibv_context& context_;
  ibv_context_ops original_;
  std::uint32_t number_;
  std::vector<ibv_wr_opcode> opcodes_;
};

}  // namespace

TEST_CASE("verbs rxe: reads and atomics wait for what is before them",
          "[verbs][rxe]") {
  created_pairs().clear();
  RxePair pair;
  if (!is_rxe(*created_pairs().front())) {
    return;
  }
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  const int heard = far.messages;
  const RemoteStep get = pair.step(Opcode::kGet, 1000, 2000, 16);
  const Counters before = pair.counts();

  SECTION("a put") {
    fill(std::span(near.memory).first(16), 1);
    REQUIRE(pair.post_now(pair.step(Opcode::kPut, 1000, 0, 16)) == Status::kOk);
  }
  SECTION("a message") {
    fill(std::span(far.memory).subspan(1000, 16), 1);
    std::memcpy(near.memory.data(), far.memory.data() + 1000, 16);
    REQUIRE(near.send_one() == Status::kOk);
    near.transport->flush();
  }
  const Counters ahead = pair.counts();
  CHECK(ahead.requests - before.requests + ahead.sent - before.sent == 1);
  REQUIRE(pair.post_now(get) == Status::kOk);
  REQUIRE(pair.post_now(add_step(pair)) == Status::kOk);
  CHECK(pair.counts().requests == ahead.requests);
  // A message does not overtake them. Else a stream of messages would.
  REQUIRE(near.send_one() == Status::kOk);
  near.transport->flush();
  const RemoteStep put = pair.step(Opcode::kPut, 3000, 0, 16);
  const std::span<const std::byte> part(near.memory.data(), 3);
  CHECK(near.endpoint().post_then_send({&put, 1}, 3, {&part, 1}) ==
        Status::kAgain);
  CHECK(pair.counts().sent == ahead.sent);

  const auto puts = static_cast<std::size_t>(ahead.requests - before.requests);
  REQUIRE(pair.is_done(1 + puts + 2));
  CHECK(pair.counts().requests - ahead.requests == 2);
  CHECK(pair.counts().doorbells - ahead.doorbells == 1);
  CHECK(std::memcmp(near.memory.data() + 2000, near.memory.data(), 16) == 0);
  REQUIRE(
      pair.until([&] { return far.messages - heard == (puts == 1 ? 1 : 2); }));
}

TEST_CASE("verbs rxe: a read does not wait for a read", "[verbs][rxe]") {
  RxePair pair;
  const Counters before = pair.counts();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    REQUIRE(pair.post_now(pair.step(Opcode::kGet, 0, 0, 16)) == Status::kOk);
    CHECK(pair.counts().requests - before.requests == i);
  }
  REQUIRE(pair.is_done(4));
}

// The message behind the put has no room in the open packet, so that packet is
// posted within the call. The get of the batch must be in front of it.
TEST_CASE("verbs rxe: a read does not follow a full packet", "[verbs][rxe]") {
  created_pairs().clear();
  RxePair pair;
  const ibv_qp& queue_pair = *created_pairs().front();
  if (!is_rxe(queue_pair)) {
    return;
  }
  End& near = pair.ends[0];
  const int heard = pair.ends[1].messages;
  const std::array<std::byte, 8000> large{};
  const std::span<const std::byte> part = large;
  REQUIRE(near.endpoint().send({&part, 1}, transport::Ordering::kFree) ==
          Status::kOk);
  const RemoteStep get = pair.step(Opcode::kGet, 1000, 2000, 16);
  REQUIRE(near.endpoint().post({&get, 1}, 2) == Status::kOk);
  const PostedOpcodes posted(queue_pair);
  const RemoteStep put = pair.step(Opcode::kPut, 3000, 0, 16);
  const std::span<const std::byte> small = part.first(1000);
  REQUIRE(near.endpoint().post_then_send({&put, 1}, 3, {&small, 1}) ==
          Status::kOk);
  CHECK(posted.all() == std::vector{IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_IMM,
                                    IBV_WR_RDMA_WRITE, IBV_WR_SEND_WITH_IMM});
  REQUIRE(pair.is_done(3));
  REQUIRE(pair.until([&] { return pair.ends[1].messages == heard + 2; }));
}

// A put and then gets fill the batch that rxe holds back, until a post is
// refused. All of them and the messages behind arrive in the end.
TEST_CASE("verbs rxe: what waits is bounded, and all of it arrives",
          "[verbs][rxe]") {
  created_pairs().clear();
  RxePair pair;
  if (!is_rxe(*created_pairs().front())) {
    return;
  }
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  const int heard = far.messages;
  REQUIRE(pair.post_now(pair.step(Opcode::kPut, 0, 0, 16)) == Status::kOk);
  std::size_t steps = 0;
  while (pair.post_now(pair.step(Opcode::kGet, 0, 16 * steps, 16)) ==
         Status::kOk) {
    ++steps;
  }
  CHECK(steps == 16);
  const std::array<std::byte, 1000> message{};
  const std::span<const std::byte> part = message;
  int messages = 0;
  while (near.endpoint().send({&part, 1}, transport::Ordering::kFree) ==
         Status::kOk) {
    ++messages;
  }
  CHECK(messages > 1);
  REQUIRE(pair.is_done(2 + steps));
  REQUIRE(pair.until([&] { return far.messages - heard == messages; }));
}

}  // namespace acp::verbs
