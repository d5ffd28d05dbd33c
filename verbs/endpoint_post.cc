// Steps that the devices do without the peer: writes and reads of its memory.
#include <algorithm>

#include "base/log.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

/// The work requests of one chain, before any is taken over.
struct Endpoint::Plan {
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
  std::size_t atomics = 0;
  std::size_t words = 0;  ///< Registered words that it needs.
  bool has_read = false;
};

namespace {

bool is_aligned_word(const RemoteStep& step) noexcept {
  return step.size == 8 && (step.offset & 7) == 0;
}

bool is_atomic(const RemoteStep& step) noexcept {
  return protocol::is_atomic(step.opcode);
}

}  // namespace

/// Something was posted, or waits to be, and is not done.
bool Endpoint::has_steps() const noexcept {
  return queue_ != nullptr && (steps_posted_ != 0 || queue_->batched != 0);
}

/// Whether the device does such steps. Signals are the agent's, and atomics may
/// be. What is a loop is no flight that others could share.
bool Endpoint::can_devices_do(
    std::span<const RemoteStep> steps) const noexcept {
  for (const RemoteStep& step : steps) {
    const bool is_known = is_atomic(step)
                              ? shared_.executes_atomics && step.width == 8 &&
                                    (steps.size() == 1 || !is_loop(step.opcode))
                              : step.opcode == Opcode::kPut ||
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

Status Endpoint::post(std::span<const RemoteStep> steps, std::uint64_t token) {
  if (!can_devices_do(steps)) {
    return Status::kUnsupported;
  }
  const bool has_atomic = std::ranges::any_of(steps, is_atomic);
  if (state_ != EndpointState::kReady) {
    // A message also makes the connection, but no agent does these atomics.
    return has_atomic ? send_before_ready() : Status::kUnsupported;
  }
  Plan plan;
  for (const RemoteStep& step : steps) {
    const Feasible feasible = plan_step(step, plan);
    if (feasible != Feasible::kNow) {
      return feasible == Feasible::kLater && has_atomic ? Status::kAgain
                                                        : Status::kUnsupported;
    }
  }
  if (steps_posted_ + queue_->batched + plan.count > kStepWindow ||
      !has_send_room(plan.count) ||
      !has_atomic_room(plan.atomics, plan.words)) {
    return Status::kAgain;
  }
  if (queue_->batched + plan.count > kBatch) {
    post_batch();
    if (state_ != EndpointState::kReady) {
      return Status::kPeerDead;
    }
  }
  collect(plan, token);
  queue_for_flush();
  return Status::kOk;
}

/// The window of the peer that holds a byte of the step's memory; asks for it
/// when it is not known.
Endpoint::Feasible Endpoint::find_window(const RemoteStep& step,
                                         std::uint64_t offset,
                                         PeerWindow*& theirs) {
  theirs = peer_memory_.find(step.key, offset);
  if (theirs != nullptr && theirs->is_revoked) {
    return Feasible::kLater;
  }
  if (theirs != nullptr &&
      ((theirs->state ^ step.state) & step.state_mask) == 0) {
    return Feasible::kNow;
  }
  const bool is_answered =
      is_denied_ && asked_.key == step.key && asked_.offset == offset &&
      asked_.state == step.state && asked_.state_mask == step.state_mask;
  if (is_answered) {
    is_denied_ = false;  // told now; who comes back asks again
    return Feasible::kNever;
  }
  RemoteStep missing = step;
  missing.offset = offset;
  ask_for_window(missing);
  return Feasible::kLater;
}

/// Cuts a step where windows end, here and there.
Endpoint::Feasible Endpoint::plan_step(const RemoteStep& step, Plan& plan) {
  const bool is_read = step.opcode == Opcode::kGet;
  const bool is_word = step.opcode == Opcode::kPut8 || is_atomic(step);
  const std::uint64_t size = is_word ? 8 : step.size;
  const bool is_inline =
      !is_read && !is_atomic(step) && size <= device_.inline_bytes();
  // A write or an atomic may overtake a read before it, and an atomic. rxe
  // keeps the order of the latter; its fences are not to be had.
  const bool may_overtake_read = !is_read && plan.has_read;
  const bool may_overtake_atomic = !is_read && plan.atomics != 0;
  if (may_overtake_read && device_.is_rxe()) {
    return Feasible::kNever;
  }
  const bool is_fenced =
      (may_overtake_read || may_overtake_atomic) && !device_.is_rxe();
  plan.has_read = plan.has_read || is_read;
  plan.atomics += is_atomic(step) ? 1 : 0;
  // An atomic's result, or a put8's value that does not go inline.
  const bool needs_word = is_word && !is_inline;
  plan.words += needs_word ? 1 : 0;
  MyRegion* mine =
      step.local == nullptr ? nullptr : shared_.regions.live(step.local_key);
  if ((mine == nullptr) != (step.local == nullptr) ||
      (mine == nullptr && !is_word)) {
    return Feasible::kNever;
  }
  for (std::uint64_t done = 0; done < size;) {
    PeerWindow* theirs = nullptr;
    const Feasible feasible = find_window(step, step.offset + done, theirs);
    if (feasible != Feasible::kNow) {
      return feasible;
    }
    const std::uint64_t at = step.offset + done - theirs->offset;
    // Devices do not refuse what is misaligned: some never complete it.
    if (plan.count == plan.parts.size() ||
        (is_atomic(step) &&
         (theirs->size - at < 8 || ((theirs->address + at) & 7) != 0))) {
      return Feasible::kNever;
    }
    std::uint64_t bytes = std::min(size - done, theirs->size - at);
    std::uint32_t lkey = 0;
    if (!is_word && !is_inline) {
      const std::byte* from = step.local + done;
      const Window window = shared_.regions.window(device_, *mine, from);
      if (window.registered == nullptr) {
        return Feasible::kNever;
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
  return Feasible::kNow;
}

/// A put8 on a device that takes nothing inline: the device reads the value
/// some time later, so it has to be in registered memory until then.
void Endpoint::put_into_word(WorkRequest& work, ibv_sge& piece) noexcept {
  work.word = device_.words().acquire();
  *work.word.value = work.operand;
  piece.addr = reinterpret_cast<std::uintptr_t>(work.word.value);
  piece.lkey = work.word.lkey;
}

/// Takes the chain over: there is room.
void Endpoint::collect(Plan& plan, std::uint64_t token) {
  ++shared_.counters.posted;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const Plan::Part& part = plan.parts[i];
    const RemoteStep& step = *part.step;
    WorkRequest& work = queue_->batch[queue_->batched];
    work = {.mine = part.mine,
            .theirs = part.theirs,
            .token = token,
            .ends_chain = i + 1 == plan.count,
            .operand = step.operand};
    ++part.theirs->uses;
    if (part.mine != nullptr) {
      part.mine->begin_use();
    }
    const std::uint64_t address =
        part.theirs->address + (step.offset + part.done - part.theirs->offset);
    ibv_sge& piece = queue_->sges[queue_->batched];
    ibv_send_wr& request = queue_->requests[queue_->batched];
    request = {};
    request.sg_list = &piece;
    request.num_sge = 1;
    ++queue_->batched;
    if (is_atomic(step)) {
      work.atomic = &begin_atomic(step, address, part.theirs->rkey);
      work.atomic->is_fenced = part.is_fenced;
      fill_atomic(*work.atomic, request, piece);
      continue;
    }
    const bool is_put8 = step.opcode == Opcode::kPut8;
    const void* local = is_put8 ? static_cast<const void*>(&work.operand)
                                : step.local + part.done;
    piece.addr = reinterpret_cast<std::uintptr_t>(local);
    piece.length = part.size;
    piece.lkey = part.lkey;
    if (is_put8 && !part.is_inline) {
      put_into_word(work, piece);
    }
    request.opcode =
        step.opcode == Opcode::kGet ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    request.send_flags = (part.is_inline ? unsigned{IBV_SEND_INLINE} : 0U) |
                         (part.is_fenced ? unsigned{IBV_SEND_FENCE} : 0U);
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = part.theirs->rkey;
  }
}

/// One doorbell, and one completion for all of it: a queue pair completes in
/// order.
void Endpoint::post_batch() {
  const std::size_t count = queue_->batched;
  for (std::size_t i = 0; i < count; ++i) {
    ibv_send_wr& request = queue_->requests[i];
    request.wr_id = std::uint64_t{posted_} << 1;
    request.next = i + 1 < count ? &queue_->requests[i + 1] : nullptr;
    next_work_request() = queue_->batch[i];
  }
  queue_->requests[count - 1].send_flags |= IBV_SEND_SIGNALED;
  unsignalled_ = 0;
  steps_posted_ += static_cast<std::uint32_t>(count);
  queue_->batched = 0;
  ++shared_.counters.doorbells;
  shared_.counters.requests += count;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(id_->qp, queue_->requests.data(), &bad);
  if (error != 0) {
    fail(fmt::format("posting {} steps: {}", count, errno_text(error)));
  }
}

void Endpoint::free_word(WorkRequest& work) noexcept {
  if (work.word.value != nullptr) {
    device_.words().release(work.word);
    work.word = {};
  }
}

/// What a step used is free for others; its work may be used again.
void Endpoint::end_use(WorkRequest& work) {
  free_word(work);
  if (work.mine != nullptr) {
    work.mine->end_use();
  }
  if (work.theirs == nullptr) {
    return;
  }
  --steps_posted_;
  PeerWindow& theirs = *work.theirs;
  if (--theirs.uses == 0 && theirs.is_revoked) {
    on_revoke({.kind = ControlKind::kRevoke,
               .key = theirs.key,
               .epoch = shared_.regions.epoch(),
               .state = theirs.state});
  }
}

/// The connection has failed: from now on the device touches nothing.
void Endpoint::drop_steps() noexcept {
  if (id_ != nullptr && id_->qp != nullptr) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    static_cast<void>(ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE));
  }
  shared_.regions.drop_holder(*this);
  peer_memory_.clear();
  controls_.clear();
  steps_posted_ = 0;
  if (queue_ == nullptr) {
    return;
  }
  const auto drop = [this](WorkRequest& work) {
    if (work.mine != nullptr) {
      work.mine->end_use();
    }
    free_atomic(work);
    free_word(work);
    work = {.buffer = work.buffer};
  };
  std::ranges::for_each(queue_->outstanding, drop);
  std::ranges::for_each(std::span(queue_->batch).first(queue_->batched), drop);
  queue_->batched = 0;
}

}  // namespace acp::verbs
