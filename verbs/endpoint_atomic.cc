// Atomics of 8 bytes that the devices do.
#include <algorithm>
#include <atomic>

#include "base/assert.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

namespace {

/// What a result holds before the device writes it. Nobody chooses it: that a
/// word has this value is as good as impossible.
std::uint64_t poison_of(const JobId& job, std::uint32_t number) noexcept {
  std::uint64_t mixed = number;
  for (const std::uint8_t byte : job) {
    mixed = (mixed ^ byte) * 0x9e3779b97f4a7c15;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

}  // namespace

/// Whether there are listen_addresses for so many atomics, and registered
/// words.
bool Endpoint::has_atomic_room(std::size_t atomics,
                               std::size_t words) const noexcept {
  if (words > device_.words().free()) {
    return false;
  }
  // rxe loses results in deep pipelines when packets are lost.
  const std::size_t limit = device_.is_rxe() ? 0 : kAtomicWindow - atomics;
  return atomics == 0 || queue_->atomics_used <= limit;
}

/// Precondition: has_atomic_room() it.
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
            .local = step.local,
            .address = address,
            .rkey = rkey,
            .result = device_.words().acquire(),
            .poison = poison_of(shared_.job, posted_)};
  // A guess that is right saves the flight that asks.
  atomic.expected = queue_->last_address == address ? queue_->last_value : 0;
  return atomic;
}

/// Makes the work request, and waits for its result.
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

/// The device is done with it. False: it is not done, and goes on, or the
/// connection has failed.
bool Endpoint::end_atomic(WorkRequest& work) {
  WordAtomic& atomic = *work.atomic;
  // Pairs with the device, which wrote it before it completed the request.
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
    // Pairs with a thread of this process that looks for it.
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(atomic.local))
        .store(old, std::memory_order_release);
  }
  return true;
}

/// The word has changed meanwhile: the same with the value that it had. Each
/// round that fails is one in which another rank's atomic was done. The round
/// takes the listen_address in the send queue that the caller is about to free,
/// so it only waits for a doorbell: posted now, it would need a listen_address
/// more.
void Endpoint::repeat_atomic(WorkRequest& work) {
  ++shared_.counters.repeated;
  const std::size_t at = queue_->batched++;
  ACP_ASSERT(at < queue_->batch.size());
  WorkRequest& next = queue_->batch[at];
  next = work;
  work.atomic = nullptr;
  // What else they use is used twice now: the caller ends the first one.
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
