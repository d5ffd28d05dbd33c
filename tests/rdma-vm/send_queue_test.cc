// Tests a send queue whose completions come late. The peer consumes packets and
// returns credit meanwhile, so credit does not limit the endpoint: it has to
// count the work requests in the queue itself.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

/// Replaces the post and poll functions of the device of one queue pair, as
/// long as it lives. It counts the work requests in the send queue, and keeps
/// their completions back until release(). Only one may live at a time.
class LateQueue {
 public:
  explicit LateQueue(const ibv_qp& pair)
      : context_(*pair.context), original_(context_.ops), number_(pair.qp_num) {
    current = this;
    context_.ops.post_send = post_send;
    context_.ops.poll_cq = poll_cq;
  }

  LateQueue(const LateQueue&) = delete;
  LateQueue& operator=(const LateQueue&) = delete;

  ~LateQueue() {
    context_.ops = original_;
    current = nullptr;
  }

  void release() { is_released_ = true; }

  /// Work requests that the transport has seen no completion of.
  std::size_t outstanding() const { return posted_ - completed_; }

  std::size_t most_outstanding() const { return most_; }

 private:
  static LateQueue* current;

  static int post_send(ibv_qp* pair, ibv_send_wr* list, ibv_send_wr** bad) {
    LateQueue& me = *current;
    for (const ibv_send_wr* each = list;
         each != nullptr && pair->qp_num == me.number_; each = each->next) {
      ++me.posted_;
      if ((each->send_flags & IBV_SEND_SIGNALED) != 0) {
        me.signalled_.push_back(me.posted_);
      }
    }
    me.most_ = std::max(me.most_, me.outstanding());
    return me.original_.post_send(pair, list, bad);
  }

  // Takes completions of sends out of the result. After release() they come
  // back in their order, as far as there is room.
  static int poll_cq(ibv_cq* queue, int room, ibv_wc* completions) {
    LateQueue& me = *current;
    const int count = me.original_.poll_cq(queue, room, completions);
    ibv_wc* kept = completions;
    for (int i = 0; i < count; ++i) {
      const bool is_send = (completions[i].opcode & IBV_WC_RECV) == 0;
      if (is_send && completions[i].qp_num == me.number_) {
        me.waiting_.push_back(completions[i]);
      } else {
        *kept++ = completions[i];
      }
    }
    while (me.is_released_ && !me.waiting_.empty() &&
           kept != completions + room) {
      *kept++ = me.waiting_.front();
      me.waiting_.pop_front();
      me.completed_ = me.signalled_.front();
      me.signalled_.pop_front();
    }
    return static_cast<int>(kept - completions);
  }

  ibv_context& context_;
  ibv_context_ops original_;
  std::uint32_t number_;
  std::size_t posted_ = 0;
  std::size_t completed_ = 0;
  std::size_t most_ = 0;
  std::deque<std::size_t> signalled_;  ///< Numbers of signalled requests.
  std::deque<ibv_wc> waiting_;
  bool is_released_ = false;
};

LateQueue* LateQueue::current = nullptr;

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
  auto& [near, far] = pair.ends;
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
    return near.messages >= static_cast<int>(kWindow);
  }));
  CHECK(late.most_outstanding() <= kSendQueue);

  late.release();
  REQUIRE(pair.until([&] {
    for (; posted < kStepWindow && post_one(); ++posted) {
    }
    return near.done.size() == kStepWindow + 1;
  }));
  REQUIRE(pair.until([&] {
    return far.messages == before + sent && near.messages == answers;
  }));
  CHECK(std::memcmp(far.memory.data(), near.memory.data(),
                    std::size_t{64} * kStepWindow) == 0);
  CHECK(late.most_outstanding() <= kSendQueue);
  CHECK(near.failures + far.failures == 0);
}

}  // namespace acp::verbs
