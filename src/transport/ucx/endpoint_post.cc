// Posting steps that UCX does in the peer's memory, and their end. Called by
// the engine, by flush(), and by callbacks of UCX. It never blocks, and starts
// all steps of a chain or none. The rules are in docs/ucx.md, "Steps".
#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/log.h"
#include "transport/ucx/endpoint.h"

namespace acp::ucx {

using protocol::Opcode;
using transport::RemoteStep;

/// The UCX operations of one post(), before anything is changed for it.
// NOLINTNEXTLINE(*-member-init): clearing costs more than a short chain
struct Endpoint::Plan {
  /// One UCX operation.
  struct Part {
    const RemoteStep* step;
    std::uint64_t done;  ///< Bytes of the step before this part.
    std::uint64_t size;
    PeerRegistration* theirs;
    MyRegion* mine;
  };

  std::array<Part, 24> parts;
  std::size_t count = 0;
};

namespace {

ucp_atomic_op_t atomic_of(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::kAdd: return UCP_ATOMIC_OP_ADD;
    case Opcode::kAnd: return UCP_ATOMIC_OP_AND;
    case Opcode::kOr: return UCP_ATOMIC_OP_OR;
    case Opcode::kXor: return UCP_ATOMIC_OP_XOR;
    case Opcode::kSwap: return UCP_ATOMIC_OP_SWAP;
    case Opcode::kCas: return UCP_ATOMIC_OP_CSWAP;
    default: ACP_ASSERT(false && "not an atomic"); return UCP_ATOMIC_OP_CSWAP;
  }
}

ucp_request_param_t params_for(ucp_send_nbx_callback_t callback, void* data) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = callback;
  param.user_data = data;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  return param;
}

}  // namespace

/// Only devices may execute the step, so the agent is no way round.
bool Endpoint::is_for_device(const RemoteStep& step) const noexcept {
  return shared_.executes_atomics && protocol::is_atomic(step.opcode) &&
         step.width == 8;
}

/// UCX keeps writes in order across a fence, and one more step behind them. A
/// step behind a get or an atomic is a different matter: rc_verbs lets a write
/// overtake a get in spite of the fence. Such chains are messages, which are
/// one flight as well, and so are signals, which the agent has to execute.
bool Endpoint::can_post(std::span<const RemoteStep> steps) const noexcept {
  for (const RemoteStep& step : steps) {
    const bool is_atomic = protocol::is_atomic(step.opcode);
    const bool is_last = &step == &steps.back();
    // With atomics of devices, others than those of 8 bytes are the CPU's.
    const bool is_known =
        is_atomic
            ? is_for_device(step) || !shared_.executes_atomics
            : protocol::is_put(step.opcode) || step.opcode == Opcode::kGet;
    if (!is_known || step.flags != 0 ||
        (!is_last && !protocol::is_put(step.opcode))) {
      return false;
    }
  }
  return true;
}

/// All or nothing: the plan changes nothing but the question for a
/// registration.
Status Endpoint::post(std::span<const RemoteStep> steps, std::uint64_t token) {
  if (state_ == EndpointState::kFailed) {
    return Status::kPeerDead;
  }
  if (!can_post(steps)) {
    return Status::kUnsupported;
  }
  const bool has_no_other_way = is_for_device(steps.back());
  if (state_ != EndpointState::kReady) {
    // A message would make the endpoint ready, too.
    misses_peer_ = misses_peer_ || state_ == EndpointState::kGone;
    queue_for_flush();
    return has_no_other_way ? Status::kAgain : Status::kUnsupported;
  }
  Plan plan;
  for (const RemoteStep& step : steps) {
    const Feasible feasible = plan_step(step, plan);
    if (feasible != Feasible::kNow) {
      return feasible == Feasible::kLater && has_no_other_way
                 ? Status::kAgain
                 : Status::kUnsupported;
    }
  }
  if (posts_ == kPostWindow) {
    return Status::kAgain;
  }
  start(plan, token);
  queue_for_flush();
  return Status::kOk;
}

/// Plans the UCX operations of a step. One ends where a registration of the
/// peer ends. verbs has a loop of its own over the peer's registrations: a work
/// request ends at the end of a local registration, too, and devices set other
/// conditions for steps on words.
Feasible Endpoint::plan_step(const RemoteStep& step, Plan& plan) {
  const std::uint64_t size = protocol::bytes_at_remote(step);
  MyRegion* mine = nullptr;
  const bool needs_local =
      step.opcode == Opcode::kPut || step.opcode == Opcode::kGet;
  if (!shared_.regions.find_local(step, mine) ||
      (needs_local && mine == nullptr)) {
    return Feasible::kNever;
  }
  for (std::uint64_t done = 0; done < size;) {
    PeerRegistration* theirs = nullptr;
    const std::uint64_t at = step.offset + done;
    const Feasible feasible = controls_.find_registration(step, at, theirs);
    if (feasible != Feasible::kNow) {
      return feasible;
    }
    const std::uint64_t bytes = std::min(size - done, theirs->bytes_from(at));
    const bool is_word = !needs_local;
    if (plan.count == plan.parts.size() ||
        (is_word &&
         (bytes != size || (theirs->address_of(at) & (size - 1)) != 0))) {
      return Feasible::kNever;
    }
    plan.parts[plan.count++] = {&step, done, bytes, theirs, mine};
    done += bytes;
  }
  return Feasible::kNow;
}

/// Starts the planned UCX operations. One that has failed has lost its peer;
/// those that follow it fail as well.
void Endpoint::start(const Plan& plan, std::uint64_t token) {
  ++shared_.counters.posted;
  ++posts_;
  PostedSteps& posted = shared_.posted_steps.take();
  posted = {.token = token, .pending = 1};  // until all have started
  const RemoteStep* before = nullptr;
  bool has_write = false;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const Plan::Part& part = plan.parts[i];
    if (before != nullptr && before != part.step) {
      fence();
    }
    before = part.step;
    has_write = has_write || protocol::is_put(part.step->opcode);
    UcxOperation& operation = shared_.ucx_operations.take();
    operation = {.endpoint = this,
                 .posted = &posted,
                 .next = posted.first,
                 .theirs = part.theirs,
                 .mine = part.mine};
    posted.first = &operation;
    ++part.theirs->uses;
    if (part.mine != nullptr) {
      part.mine->begin_use();
    }
    ++posted.pending;
    ++shared_.counters.operations;
    ucs_status_ptr_t request =
        start_ucx_operation(*part.step, part.done, part.size, operation);
    if (!UCS_PTR_IS_PTR(request)) {
      on_ucx_operation_done(operation, UCS_PTR_STATUS(request));
    }
  }
  if (has_write && state_ == EndpointState::kReady) {
    to_complete_.push_back(&posted);  // A flush ends its last count.
  } else {
    end_one(posted, UCS_OK);
  }
}

/// Keeps the steps posted so far in front of those that follow. Without a fence
/// UCX may reorder them: the peer is lost, and nothing that follows is started.
void Endpoint::fence() {
  const ucs_status_t status = ucp_worker_fence(worker_.handle());
  if (status != UCS_OK) {
    on_peer_gone(
        fmt::format("ucp_worker_fence: {}", ucs_status_string(status)));
  }
}

/// The operand is copied into the UCX operation, because UCX may read it after
/// this call and the step belongs to the caller. An endpoint that is lost gives
/// the status that UCX itself would give.
ucs_status_ptr_t Endpoint::start_ucx_operation(const RemoteStep& step,
                                               std::uint64_t done,
                                               std::uint64_t size,
                                               UcxOperation& operation) {
  if (state_ != EndpointState::kReady) {
    return UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET);
  }
  // UCX may read the source here, which the program may have unmapped.
  const FaultNote::Scope scope(shared_.fault_note, FaultNote::Code::kUcx);
  const PeerRegistration& theirs = *operation.theirs;
  const std::uint64_t address = theirs.address_of(step.offset + done);
  operation.operand = step.operand;
  if (protocol::is_atomic(step.opcode)) {
    return start_atomic(step, address, operation);
  }
  const ucp_request_param_t param =
      params_for(on_ucx_operation_callback, &operation);
  if (step.opcode == Opcode::kGet) {
    return ucp_get_nbx(ucp_, step.local_memory + done, size, address,
                       theirs.rkey.get(), &param);
  }
  const void* from = step.opcode == Opcode::kPut8
                         ? static_cast<const void*>(&operation.operand)
                         : step.local_memory + done;
  return ucp_put_nbx(ucp_, from, size, address, theirs.rkey.get(), &param);
}

/// Every atomic fetches, so that its own completion says that it is done. In a
/// compare-and-swap `result` is the new value first, and then the old one.
ucs_status_ptr_t Endpoint::start_atomic(const RemoteStep& step,
                                        std::uint64_t address,
                                        UcxOperation& operation) {
  const bool is_cas = step.opcode == Opcode::kCas;
  operation.local = step.local_memory;
  operation.result_bytes = step.width;
  operation.operand = is_cas ? step.compare : step.operand;
  operation.result = step.operand;
  ucp_request_param_t param = params_for(on_ucx_operation_callback, &operation);
  param.op_attr_mask |=
      UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE;
  param.reply_buffer = &operation.result;
  param.datatype = ucp_dt_make_contig(step.width);
  return ucp_atomic_op_nbx(ucp_, atomic_of(step.opcode), &operation.operand, 1,
                           address, operation.theirs->rkey.get(), &param);
}

void Endpoint::on_ucx_operation_callback(void* request,
                                         ucs_status_t status,
                                         void* operation) {
  ucp_request_free(request);
  auto& ended = *static_cast<UcxOperation*>(operation);
  if (!ended.endpoint->shared_.is_ending) {
    ended.endpoint->on_ucx_operation_done(ended, status);
  }
}

void Endpoint::on_ucx_operation_done(UcxOperation& operation,
                                     ucs_status_t status) {
  if (status == UCS_OK && operation.local != nullptr) {
    std::memcpy(operation.local, &operation.result, operation.result_bytes);
  }
  PostedSteps& posted = *operation.posted;
  if (status != UCS_OK) {
    on_peer_gone(ucs_status_string(status));
  }
  end_one(posted, status);
}

/// One UCX operation of posted steps has ended, or the flush behind them. The
/// last one ends all uses of registrations and regions, and reports the steps.
/// Steps that are lost are never reported: their peer is, as failed.
void Endpoint::end_one(PostedSteps& posted, ucs_status_t status) {
  posted.is_lost = posted.is_lost || status != UCS_OK;
  if (--posted.pending != 0) {
    return;
  }
  --posts_;
  for (UcxOperation* each = posted.first; each != nullptr;) {
    UcxOperation& operation = *each;
    each = operation.next;
    if (operation.mine != nullptr) {
      operation.mine->end_use();
    }
    controls_.end_use(*operation.theirs);
    shared_.ucx_operations.give(operation);
  }
  if (posted.is_lost) {
    misses_peer_ = true;
  } else {
    ++shared_.counters.done;
    shared_.done.push_back(posted.token);
  }
  shared_.posted_steps.give(posted);
}

/// Asks UCX to report when the writes posted so far are in the peer's memory.
void Endpoint::flush_steps() {
  ++shared_.counters.flushes;
  ++flushes_;
  Flush& flush = shared_.flushes.take();
  flush.endpoint = this;
  flush.posted.clear();
  std::swap(flush.posted, to_complete_);
  const ucp_request_param_t param = params_for(on_flushed_callback, &flush);
  ucs_status_ptr_t request = ucp_ep_flush_nbx(ucp_, &param);
  if (!UCS_PTR_IS_PTR(request)) {
    on_flushed(flush, UCS_PTR_STATUS(request));
  }
}

void Endpoint::on_flushed_callback(void* request,
                                   ucs_status_t status,
                                   void* flush) {
  ucp_request_free(request);
  auto& ended = *static_cast<Flush*>(flush);
  if (!ended.endpoint->shared_.is_ending) {
    ended.endpoint->on_flushed(ended, status);
  }
}

void Endpoint::on_flushed(Flush& flush, ucs_status_t status) {
  --flushes_;
  for (PostedSteps* posted : flush.posted) {
    end_one(*posted, status);
  }
  shared_.flushes.give(flush);
  if (status != UCS_OK) {
    on_peer_gone(ucs_status_string(status));
  }
}

}  // namespace acp::ucx
