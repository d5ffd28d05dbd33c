// A send queue whose completions a test keeps back, for tests of what the verbs
// transport does meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include <infiniband/verbs.h>

namespace acp::verbs {

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
  inline static LateQueue* current = nullptr;

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

}  // namespace acp::verbs
