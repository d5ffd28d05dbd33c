// Posting steps that the devices do without the peer, and their end. Called by
// the engine and by the other parts of Endpoint. It never blocks, and posts all
// steps of a chain or none; endpoint_plan.cc decides which can be posted.
#include <algorithm>

#include "base/log.h"
#include "verbs/endpoint_plan.h"

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

namespace {

/// Bytes that a proof reads, or fewer where a smaller write precedes it.
constexpr std::uint32_t kProofBytes = 8;

/// Copies of this size together wait for the answer when a registration is not
/// known. Such copies would take eight packets or more as messages, and each
/// end would copy them.
constexpr std::uint64_t kQuestionFrom = std::uint64_t{64} << 10;

bool is_worth_a_question(std::span<const RemoteStep> steps) noexcept {
  std::uint64_t bytes = 0;
  for (const RemoteStep& step : steps) {
    bytes += protocol::bytes_at_remote(step);
  }
  return bytes >= kQuestionFrom;
}

}  // namespace

/// Whether a step is posted or batched, and not complete.
bool Endpoint::has_steps() const noexcept {
  return queue_ != nullptr && (steps_posted_ != 0 || queue_->batched() != 0);
}

/// Whether a get is batched, or posted and not complete. Counts of posted and
/// freed work requests wrap, and their distances do not. The newest read is not
/// complete when fewer requests were posted since than are not freed.
bool Endpoint::has_read() const noexcept {
  const auto batch = std::span(queue_->requests)
                         .subspan(queue_->batch_begin, queue_->batched());
  return posted_ - reads_end_ < posted_ - freed_ ||
         std::ranges::find(batch, IBV_WR_RDMA_READ, &ibv_send_wr::opcode) !=
             batch.end();
}

/// Whether the last write or send that was posted may be unacknowledged.
bool Endpoint::has_unacknowledged_write() const noexcept {
  return posted_ - writes_end_ < posted_ - freed_;
}

/// How many work requests of the batch may be posted now. That is all of them.
/// On rxe it is only those before a read or an atomic that follows an
/// unacknowledged write or send. rxe answers a repeated write by acknowledging
/// the last request that it has executed. If that is a read or an atomic whose
/// own answer was lost, the sender's rxe completes it without its data.
std::size_t Endpoint::postable() const noexcept {
  if (!device_.is_rxe()) {
    return queue_->batched();
  }
  bool follows_write = has_unacknowledged_write();
  for (std::size_t i = queue_->batch_begin; i != queue_->batch_end; ++i) {
    const bool is_write = queue_->requests[i].opcode == IBV_WR_RDMA_WRITE;
    if (follows_write && !is_write) {
      return i - queue_->batch_begin;
    }
    follows_write = follows_write || is_write;
  }
  return queue_->batched();
}

/// Whether the batch waits for an acknowledgement. Then nothing else is posted.
/// Precondition: ready.
bool Endpoint::is_held() const noexcept {
  return queue_->batched() != 0 && postable() == 0;
}

Status Endpoint::post(std::span<const RemoteStep> steps, std::uint64_t token) {
  Plan plan;
  return post_planned(steps, token, plan);
}

/// The plan begins with what is under way, so that the steps get the fences
/// that they would get in one chain with it.
Status Endpoint::post_behind(std::span<const RemoteStep> steps,
                             std::uint64_t token) {
  if (shared_.proves_writes || state_ != EndpointState::kReady ||
      !may_follow_atomics(steps)) {
    return Status::kUnsupported;
  }
  Plan plan;
  plan.is_behind = true;
  plan.has_read = has_read();
  plan.has_atomic = queue_->atomics_used != 0;
  return post_planned(steps, token, plan);
}

/// All or nothing: the plan changes nothing. It is carried out only when the
/// batch, the send queue and the words have room for all of it.
Status Endpoint::post_planned(std::span<const RemoteStep> steps,
                              std::uint64_t token,
                              Plan& plan) {
  if (!can_devices_do(steps)) {
    return Status::kUnsupported;
  }
  const bool is_never_by_message =
      atomics_ == Executor::kDevice &&
      std::ranges::any_of(steps, protocol::is_atomic, &RemoteStep::opcode);
  if (state_ != EndpointState::kReady) {
    // A message would make the connection as well, but no agent may execute
    // atomics that belong to the device.
    return is_never_by_message ? send_before_ready() : Status::kUnsupported;
  }
  const Feasible feasible = plan_steps(steps, plan);
  if (feasible != Feasible::kNow) {
    const bool waits = is_never_by_message || is_worth_a_question(steps);
    return feasible == Feasible::kLater && waits ? Status::kAgain
                                                 : Status::kUnsupported;
  }
  if (!has_room_for(plan, 0)) {
    return stays_too_small_for(plan, 0) ? Status::kUnsupported : Status::kAgain;
  }
  if (queue_->batch_end + plan.count > kBatch) {
    post_batch();
    if (state_ != EndpointState::kReady) {
      return Status::kPeerDead;
    }
    if (queue_->batch_end + plan.count > kBatch) {
      return Status::kAgain;
    }
  }
  collect(plan, token);
  queue_for_flush();
  return Status::kOk;
}

/// Order: the plan and the room, which change nothing. Then the message goes
/// into the open packet, which needs credit and a buffer. Last comes the list
/// of the batch, the steps and the packet. So a call that is refused has posted
/// no step, and no list is posted without its packet. Only writes are taken,
/// because a SEND may overtake an earlier read or atomic. Nothing is taken
/// where a SEND may also overtake the data of writes.
Status Endpoint::post_then_send(
    std::span<const RemoteStep> steps,
    std::uint64_t token,
    std::span<const std::span<const std::byte>> message) {
  const bool are_writes =
      std::ranges::all_of(steps, protocol::is_put, &RemoteStep::opcode);
  Plan plan;
  if (shared_.proves_writes || !are_writes || !can_devices_do(steps) ||
      state_ != EndpointState::kReady ||
      plan_steps(steps, plan) != Feasible::kNow) {
    return Status::kUnsupported;
  }
  if (!has_room_for(plan, 1) || postable() != queue_->batched() ||
      !may_send_packets()) {
    return stays_too_small_for(plan, 1) ? Status::kUnsupported : Status::kAgain;
  }
  if (device_.is_rxe() && open_ != nullptr) {
    // append() may post the open packet, and no read of the batch may follow
    // that packet before its acknowledgement; see postable().
    post_batch();
    if (state_ != EndpointState::kReady) {
      return Status::kPeerDead;
    }
  }
  if (const Status status = append(message, FrameKind::kMessage);
      status != Status::kOk) {
    return status;
  }
  if (queue_->batch_end + plan.count > kBatch) {
    post_batch();
  }
  if (state_ == EndpointState::kReady) {
    collect(plan, token);
    ++shared_.counters.joined;
    close_packet(InFront::kBatch);
  }
  return state_ == EndpointState::kReady ? Status::kOk : Status::kPeerDead;
}

/// Whether the send queue can never take the plan. The peer's agent executes it
/// then, or the engine divides it.
bool Endpoint::stays_too_small_for(const Plan& plan,
                                   std::size_t packets) const noexcept {
  return growth_ == Growth::kStaysSmall &&
         plan.count + plan.proofs + packets > usable_entries();
}

/// Whether the connection has room for the planned work requests and for this
/// many packets. Precondition: ready.
bool Endpoint::has_room_for(const Plan& plan, std::size_t packets) noexcept {
  if (growth_ == Growth::kDraining ||
      (owes_last_packet() && queue_->batched() != 0)) {
    return false;
  }
  if (!has_send_room(plan.count + plan.proofs + packets)) {
    want_growth();
    return false;
  }
  return steps_posted_ + queue_->batched() + plan.count <= kStepWindow &&
         has_atomic_room(plan.atomics, plan.words);
}

/// Puts the value of a put8 into registered memory. Used where the device takes
/// no inline data and reads the value only later.
void Endpoint::put_into_word(WorkRequest& work, ibv_sge& piece) noexcept {
  work.word = device_.words().acquire();
  *work.word.value = work.operand;
  piece.addr = reinterpret_cast<std::uintptr_t>(work.word.value);
  piece.lkey = work.word.lkey;
}

/// Adds the planned work requests to the batch. Precondition: there is room.
void Endpoint::collect(Plan& plan, std::uint64_t token) {
  ++shared_.counters.posted;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const Plan::Part& part = plan.parts[i];
    const RemoteStep& step = *part.step;
    WorkRequest& work = queue_->batch[queue_->batch_end];
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
        part.theirs->address_of(step.offset + part.done);
    ibv_sge& piece = queue_->sges[queue_->batch_end];
    ibv_send_wr& request = queue_->requests[queue_->batch_end];
    request = {};
    request.sg_list = &piece;
    request.num_sge = 1;
    ++queue_->batch_end;
    if (protocol::is_atomic(step.opcode)) {
      work.atomic = &begin_atomic(step, address, part.theirs->rkey);
      work.atomic->is_fenced = part.is_fenced;
      fill_atomic(*work.atomic, request, piece);
      continue;
    }
    const bool is_put8 = step.opcode == Opcode::kPut8;
    const void* local = is_put8 ? static_cast<const void*>(&work.operand)
                                : step.local_memory + part.done;
    piece.addr = reinterpret_cast<std::uintptr_t>(local);
    piece.length = part.size;
    piece.lkey = part.lkey;
    if (is_put8 && !part.is_inline) {
      put_into_word(work, piece);
    }
    request.opcode =
        step.opcode == Opcode::kGet ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    if (shared_.proves_writes && ends_with_new_run()) {
      ++queue_->proofs;
    }
    request.send_flags = (part.is_inline ? unsigned{IBV_SEND_INLINE} : 0U) |
                         (part.is_fenced ? unsigned{IBV_SEND_FENCE} : 0U);
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = part.theirs->rkey;
  }
}

/// Whether the last request of the batch is a write that follows none.
bool Endpoint::ends_with_new_run() const noexcept {
  const auto is_write = [this](std::size_t at) {
    return queue_->requests[at].opcode == IBV_WR_RDMA_WRITE;
  };
  const std::size_t last = queue_->batch_end - 1;
  return is_write(last) && (last == queue_->batch_begin || !is_write(last - 1));
}

/// Posts the postable part of the batch with one doorbell. Only its last
/// request is signalled, because a queue pair completes in order.
void Endpoint::post_batch() {
  const std::size_t count = postable();
  if (count == 0) {
    return;
  }
  if (shared_.proves_writes) {
    post_proved(count);
    return;
  }
  ibv_send_wr* const first = take_batch(count, nullptr);
  first[count - 1].send_flags |= IBV_SEND_SIGNALED;
  post_list(*first, count);
}

/// Posts the first `count` requests of the batch. A proof follows them if the
/// last is a write: a read of the last bytes that it writes. Its completion
/// ends all of them, so no write ends before its data are in the peer's memory.
/// A list whose last request is a read or an atomic needs no other proof.
void Endpoint::post_proved(std::size_t count) {
  const std::size_t at = queue_->batch_begin + count - 1;
  const ibv_send_wr& last = queue_->requests[at];
  if (last.opcode != IBV_WR_RDMA_WRITE) {
    ibv_send_wr* const first = take_batch(count, nullptr);
    first[count - 1].send_flags |= IBV_SEND_SIGNALED;
    post_list(*first, count);
    return;
  }
  const std::uint32_t written = last.sg_list->length;
  const std::uint32_t size = std::min(written, kProofBytes);
  PeerRegistration* theirs = queue_->batch[at].theirs;
  const RegisteredWord word = device_.proof_word();
  ibv_sge piece{};
  piece.addr = reinterpret_cast<std::uintptr_t>(word.value);
  piece.length = size;
  piece.lkey = word.lkey;
  ibv_send_wr proof{};
  proof.opcode = IBV_WR_RDMA_READ;
  proof.send_flags = IBV_SEND_SIGNALED;
  proof.sg_list = &piece;
  proof.num_sge = 1;
  proof.wr.rdma.remote_addr = last.wr.rdma.remote_addr + written - size;
  proof.wr.rdma.rkey = last.wr.rdma.rkey;
  ibv_send_wr* const first = take_batch(count, &proof);
  proof.wr_id = std::uint64_t{posted_} << 1;
  next_work_request() = {.theirs = theirs};
  ++theirs->uses;
  ++steps_posted_;
  ++shared_.counters.proofs;
  post_list(*first, count);
}

/// Posts a list whose last request is signalled.
void Endpoint::post_list(ibv_send_wr& first, std::size_t count) {
  unsignalled_ = 0;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(id_->qp, &first, &bad);
  if (error != 0) {
    fail(fmt::format("posting {} steps: {}", count, errno_text(error)));
  }
}

/// Makes the first `count` requests of the batch a list that the caller posts;
/// `behind` follows it unless it is null. Returns the first request.
/// Precondition: count > 0.
ibv_send_wr* Endpoint::take_batch(std::size_t count, ibv_send_wr* behind) {
  const std::size_t begin = queue_->batch_begin;
  for (std::size_t i = 0; i < count; ++i) {
    ibv_send_wr& request = queue_->requests[begin + i];
    request.wr_id = std::uint64_t{posted_} << 1;
    request.next = i + 1 < count ? &queue_->requests[begin + i + 1] : behind;
    next_work_request() = queue_->batch[begin + i];
    if (request.opcode == IBV_WR_RDMA_WRITE) {
      writes_end_ = posted_;
    } else if (request.opcode == IBV_WR_RDMA_READ) {
      reads_end_ = posted_;
    }
  }
  queue_->batch_begin += count;
  if (queue_->batched() == 0) {
    queue_->batch_begin = queue_->batch_end = queue_->proofs = 0;
  } else if (queue_->proofs != 0) {
    --queue_->proofs;  // a part of the batch ends with a run of writes
  }
  steps_posted_ += static_cast<std::uint32_t>(count);
  ++shared_.counters.doorbells;
  shared_.counters.requests += count;
  return &queue_->requests[begin];
}

void Endpoint::free_word(WorkRequest& work) noexcept {
  if (work.word.value != nullptr) {
    device_.words().release(work.word);
    work.word = {};
  }
}

/// Ends the use of the registration, the region and the word of a work request.
void Endpoint::end_use(WorkRequest& work) {
  free_word(work);
  if (work.mine != nullptr) {
    work.mine->end_use();
  }
  if (work.theirs == nullptr) {
    return;
  }
  --steps_posted_;
  controls_.end_use(*work.theirs);
}

/// Drops all steps after a failure. The queue pair goes to the error state
/// first, so that the device touches no memory any more.
void Endpoint::drop_steps() noexcept {
  for (const CmId* id : {&id_, &large_, &small_}) {
    if (*id != nullptr && (*id)->qp != nullptr) {
      ibv_qp_attr attributes{};
      attributes.qp_state = IBV_QPS_ERR;
      static_cast<void>(ibv_modify_qp((*id)->qp, &attributes, IBV_QP_STATE));
    }
  }
  controls_.drop_peer();
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
  std::ranges::for_each(
      std::span(queue_->batch).subspan(queue_->batch_begin, queue_->batched()),
      drop);
  queue_->batch_begin = queue_->batch_end = queue_->proofs = 0;
}

}  // namespace acp::verbs
