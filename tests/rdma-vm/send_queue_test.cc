// Tests a send queue whose completions come late. The peer consumes packets and
// returns credit meanwhile, so credit does not limit the endpoint. It has to
// count the work requests in the queue itself.
#include <array>
#include <cstring>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/late_queue.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

bool send_small(End& end) {
  const std::array<std::byte, 5> message{};
  const std::span<const std::byte> part = message;
  const Status status =
      end.endpoint().send({&part, 1}, transport::Ordering::kFree);
  REQUIRE((status == Status::kOk || status == Status::kAgain));
  end.transport->flush();
  return status == Status::kOk;
}

}  // namespace

TEST_CASE("verbs send queue: late completions never let it overflow",
          "[verbs][queue]") {
  created_pairs().clear();
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  // The far end gets its largest window, because the near end cannot return
  // credit by more than two empty packets later.
  pair.stream(1);
  REQUIRE(near.transport->receives(0).promised() == kWindow);
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  fill(near.memory, 1);
  const int before = far.messages;
  LateQueue late(*created_pairs().front());

  int sent = 0;
  const auto send_all = [&] {
    while (send_small(near)) {
      ++sent;
    }
    return late.outstanding() + 2 >= kSendQueue;
  };
  REQUIRE(pair.until(send_all));
  // The queue is nearly full of messages. Puts come on top, and messages that
  // return credit for packets of the far end.
  std::uint64_t posted = 0;
  const auto post_one = [&] {
    const RemoteStep put =
        pair.step(Opcode::kPut, 64 * posted, 64 * posted, 64);
    return near.endpoint().post({&put, 1}, posted + 2) == Status::kOk;
  };
  for (; posted < kStepWindow && post_one(); ++posted) {
  }
  int answers = 0;
  REQUIRE(pair.until([&] {
    answers += send_small(far) ? 1 : 0;
    return near.messages >= Pair::kStreamed + static_cast<int>(kWindow);
  }));
  CHECK(late.most_outstanding() <= kSendQueue);

  late.release();
  REQUIRE(pair.until([&] {
    for (; posted < kStepWindow && post_one(); ++posted) {
    }
    return near.done.size() == kStepWindow + 1;
  }));
  REQUIRE(pair.until([&] {
    return far.messages == before + sent &&
           near.messages == Pair::kStreamed + answers;
  }));
  CHECK(std::memcmp(far.memory.data(), near.memory.data(),
                    std::size_t{64} * kStepWindow) == 0);
  CHECK(late.most_outstanding() <= kSendQueue);
  CHECK(near.failures + far.failures == 0);
}

}  // namespace acp::verbs
