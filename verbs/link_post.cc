// Steps that the devices do without the peer: writes and reads of its memory.
#include <algorithm>

#include "base/log.h"
#include "verbs/link.h"

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

/// The work requests of one chain, before any is taken over.
struct Link::Plan {
  struct Part {
    const RemoteStep* step;
    std::uint64_t done;  ///< Bytes of the step before this part.
    std::uint32_t size;
    PeerWindow* theirs;
    MyRegion* mine;
    std::uint32_t lkey;
    bool is_inline;
    bool is_fenced;
  };

  std::array<Part, kBatch> parts{};
  std::size_t count = 0;
  bool has_read = false;
};

namespace {

bool is_aligned_word(const RemoteStep& step) noexcept {
  return step.size == 8 && (step.offset & 7) == 0;
}

}  // namespace

/// Something was posted, or waits to be, and is not done.
bool Link::has_steps() const noexcept {
  return queue_ != nullptr && (steps_posted_ != 0 || queue_->count != 0);
}

/// Whether the device does such steps. Atomics and signals are the agent's.
bool Link::is_possible(std::span<const RemoteStep> steps) const noexcept {
  for (const RemoteStep& step : steps) {
    const bool is_known = step.opcode == Opcode::kPut ||
                          step.opcode == Opcode::kGet ||
                          step.opcode == Opcode::kPut8;
    // rxe copies bytes in any order: nobody would see a word whole.
    const bool is_word = step.opcode == Opcode::kPut8 || is_aligned_word(step);
    if (!is_known || step.flags != 0 || (device_.is_rxe() && is_word)) {
      return false;
    }
  }
  return true;
}

Status Link::post(std::span<const RemoteStep> steps, std::uint64_t token) {
  if (state_ != LinkState::kReady || !is_possible(steps)) {
    return Status::kUnsupported;  // a message also makes the connection
  }
  Plan plan;
  for (const RemoteStep& step : steps) {
    if (!plan_step(step, plan)) {
      return Status::kUnsupported;
    }
  }
  if (steps_posted_ + queue_->count + plan.count > kStepWindow) {
    return Status::kAgain;
  }
  if (queue_->count + plan.count > kBatch) {
    post_batch();
    if (state_ != LinkState::kReady) {
      return Status::kPeerDead;
    }
  }
  collect(plan, token);
  mark_dirty();
  return Status::kOk;
}

/// Cuts a step where windows end, here and there. False: by message.
bool Link::plan_step(const RemoteStep& step, Plan& plan) {
  const std::uint64_t size = step.opcode == Opcode::kPut8 ? 8 : step.size;
  const bool is_read = step.opcode == Opcode::kGet;
  const bool is_inline = !is_read && size <= device_.inline_bytes();
  // A write may overtake a read before it; rxe's fences are not to be had.
  const bool is_fenced = !is_read && plan.has_read;
  if (is_fenced && device_.is_rxe()) {
    return false;
  }
  plan.has_read = plan.has_read || is_read;
  MyRegion* mine =
      step.local == nullptr ? nullptr : hub_.regions.live(step.local_key);
  if ((mine == nullptr) != (step.opcode == Opcode::kPut8)) {
    return false;
  }
  for (std::uint64_t done = 0; done < size;) {
    PeerWindow* theirs = peer_memory_.find(step.key, step.offset + done);
    if (theirs != nullptr && theirs->is_revoked) {
      return false;
    }
    if (theirs == nullptr ||
        ((theirs->state ^ step.state) & step.state_mask) != 0) {
      RemoteStep rest = step;
      rest.offset += done;
      want(rest);
      return false;
    }
    if (plan.count == plan.parts.size()) {
      return false;
    }
    std::uint64_t bytes = std::min(
        size - done, theirs->size - (step.offset + done - theirs->offset));
    std::uint32_t lkey = 0;
    if (mine != nullptr && !is_inline) {
      const std::byte* from = step.local + done;
      const Window window = hub_.regions.window(device_, *mine, from);
      if (window.registered == nullptr) {
        return false;
      }
      lkey = window.registered->lkey;
      bytes = std::min(bytes, window.size - static_cast<std::uint64_t>(
                                                from - window.address));
    }
    plan.parts[plan.count++] = {.step = &step,
                                .done = done,
                                .size = static_cast<std::uint32_t>(bytes),
                                .theirs = theirs,
                                .mine = mine,
                                .lkey = lkey,
                                .is_inline = is_inline,
                                .is_fenced = is_fenced};
    done += bytes;
  }
  return true;
}

/// Takes the chain over: there is room.
void Link::collect(Plan& plan, std::uint64_t token) {
  ++hub_.counters.posted;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const Plan::Part& part = plan.parts[i];
    const RemoteStep& step = *part.step;
    Slot& slot = queue_->waiting[queue_->count];
    slot = {.mine = part.mine,
            .theirs = part.theirs,
            .token = token,
            .ends_chain = i + 1 == plan.count,
            .operand = step.operand};
    ++part.theirs->flights;
    if (part.mine != nullptr) {
      part.mine->begin_flight();
    }
    ibv_sge& piece = queue_->pieces[queue_->count];
    const void* local = step.opcode == Opcode::kPut8
                            ? static_cast<const void*>(&slot.operand)
                            : step.local + part.done;
    piece.addr = reinterpret_cast<std::uintptr_t>(local);
    piece.length = part.size;
    piece.lkey = part.lkey;
    ibv_send_wr& request = queue_->requests[queue_->count];
    request = {};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode =
        step.opcode == Opcode::kGet ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    request.send_flags = (part.is_inline ? unsigned{IBV_SEND_INLINE} : 0U) |
                         (part.is_fenced ? unsigned{IBV_SEND_FENCE} : 0U);
    request.wr.rdma.remote_addr =
        part.theirs->address + (step.offset + part.done - part.theirs->offset);
    request.wr.rdma.rkey = part.theirs->rkey;
    ++queue_->count;
  }
}

/// One doorbell, and one completion for all of it: a queue pair completes in
/// order.
void Link::post_batch() {
  const std::size_t count = queue_->count;
  for (std::size_t i = 0; i < count; ++i) {
    ibv_send_wr& request = queue_->requests[i];
    request.wr_id = std::uint64_t{posted_} << 1;
    request.next = i + 1 < count ? &queue_->requests[i + 1] : nullptr;
    queue_->slots[posted_ % kSendQueue] = queue_->waiting[i];
    ++posted_;
  }
  queue_->requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
  unsignalled_ = 0;
  steps_posted_ += static_cast<std::uint32_t>(count);
  queue_->count = 0;
  ++hub_.counters.doorbells;
  hub_.counters.requests += count;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(id_->qp, queue_->requests.data(), &bad);
  if (error != 0) {
    fail(fmt::format("posting {} steps: {}", count, errno_text(error)));
  }
}

/// What a step used is free for others; its slot may be used again.
void Link::end_flight(Slot& slot) {
  if (slot.mine != nullptr) {
    slot.mine->end_flight();
  }
  if (slot.theirs == nullptr) {
    return;
  }
  --steps_posted_;
  PeerWindow& theirs = *slot.theirs;
  if (--theirs.flights == 0 && theirs.is_revoked) {
    on_revoke({.kind = ControlKind::kRevoke,
               .key = theirs.key,
               .epoch = hub_.regions.epoch(),
               .state = theirs.state});
  }
}

/// The connection has failed: from now on the device touches nothing.
void Link::drop_steps() noexcept {
  if (id_ != nullptr && id_->qp != nullptr) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    static_cast<void>(ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE));
  }
  hub_.regions.drop_holder(*this);
  peer_memory_.clear();
  owed_.clear();
  steps_posted_ = 0;
  if (queue_ == nullptr) {
    return;
  }
  const auto drop = [](Slot& slot) {
    if (slot.mine != nullptr) {
      slot.mine->end_flight();
    }
    slot = {.buffer = slot.buffer};
  };
  std::ranges::for_each(queue_->slots, drop);
  std::ranges::for_each(std::span(queue_->waiting).first(queue_->count), drop);
  queue_->count = 0;
}

}  // namespace acp::verbs
