// Atomics of 8 bytes that the devices execute, and loops of them. Called by the
// parts of Endpoint that post steps and take completions. It posts nothing
// itself: a repetition joins the batch. With ACP_VERBS_ATOMICS=agent no atomic
// may come here.
#include <algorithm>
#include <atomic>

#include "base/assert.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

namespace {

/// The value of a result before the device writes it. It is pseudo-random, so a
/// word practically never has it.
std::uint64_t poison_of(const JobId& job, std::uint32_t number) noexcept {
  std::uint64_t mixed = number;
  for (const std::uint8_t byte : job) {
    mixed = (mixed ^ byte) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

}  // namespace

/// Whether this many atomics and registered words are available.
bool Endpoint::has_atomic_room(std::size_t atomics,
                               std::size_t words) const noexcept {
  if (words > device_.words().free()) {
    return false;
  }
  // rxe loses results in deep pipelines when packets are lost.
  const std::size_t limit = device_.is_rxe() ? 0 : kAtomicWindow - atomics;
  return atomics == 0 || queue_->atomics_used <= limit;
}

/// Whether steps may be posted behind the atomics that are under way. The
/// completion of an atomic copies its result to the destination. So before
/// that, a later put may not read there, and a later get may not write there. A
/// loop may have to be repeated, and the repetition would come behind the
/// steps.
bool Endpoint::may_follow_atomics(
    std::span<const RemoteStep> steps) const noexcept {
  if (queue_->atomics_used == 0) {
    return true;
  }
  const auto touches = [](const RemoteStep& step, const std::byte* word) {
    return protocol::is_bulk(step.opcode) &&
           step.local_memory < word + sizeof(std::uint64_t) &&
           word < step.local_memory + step.size;
  };
  return std::ranges::none_of(queue_->atomics, [&](const WordAtomic& each) {
    return each.result.value != nullptr &&
           (is_loop(each.opcode) ||
            (each.local != nullptr &&
             std::ranges::any_of(steps, [&](const RemoteStep& step) {
               return touches(step, each.local);
             })));
  });
}

/// Takes a free WordAtomic and a result word. Precondition: has_atomic_room().
WordAtomic& Endpoint::begin_atomic(const RemoteStep& step,
                                   std::uint64_t address,
                                   std::uint32_t rkey) {
  WordAtomic& atomic = *std::ranges::find(
      queue_->atomics, nullptr,
      [](const WordAtomic& each) { return each.result.value; });
  ++queue_->atomics_used;
  atomic = {.opcode = step.opcode,
            .operand = step.operand,
            .compare = step.compare,
            .local = step.local_memory,
            .address = address,
            .rkey = rkey,
            .result = device_.words().acquire(),
            .poison = poison_of(shared_.job, posted_)};
  // A loop needs the current value. The last one seen is a good guess, and a
  // right guess saves a round trip.
  atomic.expected = queue_->last_address == address ? queue_->last_value : 0;
  return atomic;
}

/// Fills in the work request and poisons the result word.
void Endpoint::fill_atomic(const WordAtomic& atomic,
                           ibv_send_wr& request,
                           ibv_sge& piece) noexcept {
  ++shared_.counters.atomics;
  std::atomic_ref(*atomic.result.value)
      .store(atomic.poison, std::memory_order_relaxed);
  piece.addr = reinterpret_cast<std::uintptr_t>(atomic.result.value);
  piece.length = sizeof(std::uint64_t);
  piece.lkey = atomic.result.lkey;
  request.send_flags = atomic.is_fenced ? unsigned{IBV_SEND_FENCE} : 0U;
  request.wr.atomic.remote_addr = atomic.address;
  request.wr.atomic.rkey = atomic.rkey;
  if (atomic.opcode == Opcode::kAdd) {
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic.compare_add = atomic.operand;
    return;
  }
  const bool is_cas = atomic.opcode == Opcode::kCas;
  request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  request.wr.atomic.compare_add = is_cas ? atomic.compare : atomic.expected;
  request.wr.atomic.swap =
      is_cas ? atomic.operand : value_after(atomic, atomic.expected);
}

/// The work request has completed. False: the atomic is not complete, because
/// its loop goes on or the connection has failed.
bool Endpoint::end_atomic(WorkRequest& work) {
  WordAtomic& atomic = *work.atomic;
  // Pairs with the device, which wrote the result before it completed the
  // request.
  const std::uint64_t old =
      std::atomic_ref(*atomic.result.value).load(std::memory_order_acquire);
  if (old == atomic.poison) {
    fail("the device says that an atomic is done, and gives no result");
    return false;
  }
  if (is_loop(atomic.opcode) && old != atomic.expected) {
    atomic.expected = old;
    repeat_atomic(work);
    return false;
  }
  queue_->last_address = atomic.address;
  queue_->last_value = value_after(atomic, old);
  if (atomic.local != nullptr) {
    // Pairs with a thread of this process that polls this word.
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(atomic.local))
        .store(old, std::memory_order_release);
  }
  return true;
}

/// Another atomic changed the word in between, so the loop compares with the
/// new value. The repetition only joins the batch: posted now, it would need an
/// entry of the send queue that the caller has not freed yet.
void Endpoint::repeat_atomic(WorkRequest& work) {
  ++shared_.counters.repeated;
  const std::size_t at = queue_->batch_end++;
  ACP_ASSERT(at < queue_->batch.size());
  WorkRequest& next = queue_->batch[at];
  next = work;
  work.atomic = nullptr;
  // The registration and the region are counted twice now; the caller ends the
  // first use.
  ++next.theirs->uses;
  if (next.mine != nullptr) {
    next.mine->begin_use();
  }
  ibv_send_wr& request = queue_->requests[at];
  request = {};
  request.sg_list = &queue_->sges[at];
  request.num_sge = 1;
  fill_atomic(*next.atomic, request, queue_->sges[at]);
  queue_for_flush();
}

void Endpoint::free_atomic(WorkRequest& work) noexcept {
  if (work.atomic == nullptr) {
    return;
  }
  device_.words().release(work.atomic->result);
  work.atomic->result = {};
  work.atomic = nullptr;
  --queue_->atomics_used;
}

}  // namespace acp::verbs
