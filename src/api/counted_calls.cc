// Operations that are counted, and the messages of channels. Called by the
// public functions. The direct path takes no lock and makes no system call, as
// without counters; only the first operation of a thread to a rank does.
#include "api/counted_calls.h"

#include "api/current_task.h"
#include "api/inline_job.h"
#include "base/inline_vector.h"
#include "base/memory_reserve.h"
#include "base/message_count.h"
#include "gma/chain.h"
#include "runtime/counted_ways.h"
#include "runtime/counters.h"

namespace acp::api {

namespace {

using gma::Step;
using protocol::CountedKind;
using protocol::CountedWay;
using protocol::Opcode;

/// The rank at the other end of a copy, as the counters see it.
struct Counted {
  gmm::Rank peer;
  CountedKind kind;
};

/// A copy to another rank is a put to it, with its source on any rank. A
/// copy from another rank to this one is a get. A copy inside of this rank is a
/// put to itself.
[[gnu::always_inline]] inline Counted see_copy(const gmm::AddressSpace& space,
                                               acp_ga_t dst,
                                               acp_ga_t src) noexcept {
  const gmm::Rank to = space.codec().rank(dst);
  if (to != space.my_rank()) {
    return {to, CountedKind::kPut};
  }
  const gmm::Rank from = space.codec().rank(src);
  return {from, from == to ? CountedKind::kPut : CountedKind::kGet};
}

[[gnu::always_inline]] inline void count_copy(runtime::Task& mine,
                                              acp_ga_t dst,
                                              acp_ga_t src,
                                              std::uint64_t size,
                                              CountedWay way) {
  const Counted seen = see_copy(mine.space(), dst, src);
  mine.counters()->row_of(seen.peer).count(way, seen.kind, size);
}

/// Counts a step of a chain. A copy in one has its source on any rank.
void count_step(runtime::Task& mine, const Step& step, CountedWay way) {
  if (protocol::bytes_at_remote(step) == 0) {
    return;
  }
  if (step.opcode == Opcode::kCopy) {
    count_copy(mine, step.remote, step.local, step.size, way);
    return;
  }
  const CountedKind kind = protocol::is_atomic(step.opcode)
                               ? CountedKind::kAtomic
                           : step.opcode == Opcode::kGet ? CountedKind::kGet
                                                         : CountedKind::kPut;
  mine.counters()
      ->row_of(mine.space().codec().rank(step.remote))
      .count(way, kind, protocol::bytes_at_remote(step));
}

void count_chain(runtime::Task& mine, std::span<const Step> steps) {
  const CountedWay way = mine.counted_ways().of_chain(steps);
  for (const Step& step : steps) {
    count_step(mine, step, way);
  }
}

/// The row of the peer does not exist yet. Out of line and called last, as the
/// next two: the callers save no registers for them.
[[gnu::noinline]] acp_handle_t count_first(gmm::Rank peer,
                                           CountedKind kind,
                                           std::uint64_t bytes,
                                           acp_handle_t handle) {
  g_room.task.counters()->row_of(peer).count(CountedWay::kDirect, kind, bytes);
  return handle;
}

/// Counts an operation that was done in the call; returns its handle.
[[gnu::always_inline]] inline acp_handle_t count_direct(gmm::Rank peer,
                                                        CountedKind kind,
                                                        std::uint64_t bytes,
                                                        acp_handle_t handle) {
  protocol::PeerCounters* row = runtime::Counters::known_row_of(peer);
  if (__builtin_expect(row == nullptr, 0)) {
    return count_first(peer, kind, bytes, handle);
  }
  row->count(CountedWay::kDirect, kind, bytes);
  return handle;
}

/// Everything but copies of a word in library memory.
[[gnu::noinline]] acp_handle_t copy_any(acp_ga_t dst,
                                        acp_ga_t src,
                                        std::size_t size,
                                        acp_handle_t order) {
  runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task("acp_copy");
    return ACP_HANDLE_NULL;
  }
  if (lacks_memory("acp_copy")) {
    return ACP_HANDLE_NULL;
  }
  const MustNotFail must_not_fail;
  CountedWay way = CountedWay::kDirect;
  gma::Handle handle = mine->engine().copy_direct(dst, src, size, order);
  if (handle == gma::kHandleNull) {
    handle = as_handle(mine->engine().copy_slow(dst, src, size, order));
    if (handle != gma::kHandleNull && size != 0) {
      Step copy;
      copy.opcode = Opcode::kCopy;
      copy.remote = dst;
      copy.local = src;
      copy.size = size;
      way = mine->counted_ways().of_step(copy);
    }
  }
  if (handle != gma::kHandleNull && size != 0) {
    count_copy(*mine, dst, src, size, way);
  }
  return handle;
}

/// Everything but atomics in library memory.
template <Opcode kOpcode, std::uint8_t kWidth>
[[gnu::noinline]] acp_handle_t atomic_any(acp_ga_t dst,
                                          acp_ga_t src,
                                          std::uint64_t operand,
                                          std::uint64_t compare,
                                          acp_handle_t order) {
  runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task(name_of_atomic(kOpcode, kWidth));
    return ACP_HANDLE_NULL;
  }
  if (lacks_memory(name_of_atomic(kOpcode, kWidth))) {
    return ACP_HANDLE_NULL;
  }
  const MustNotFail must_not_fail;
  const gma::Handle handle = as_handle(mine->engine().atomic(
      kOpcode, kWidth, dst, src, operand, compare, order));
  if (handle != gma::kHandleNull) {
    Step step;
    step.opcode = kOpcode;
    step.width = kWidth;
    step.remote = src;
    mine->counters()
        ->row_of(mine->space().codec().rank(src))
        .count(mine->counted_ways().of_step(step), CountedKind::kAtomic,
               kWidth);
  }
  return handle;
}

void count_channel_message(std::uint32_t to, std::size_t bytes) noexcept {
  if (runtime::Task* mine = task(); mine != nullptr) {
    mine->counters()->row_of(to).count(mine->counted_ways().of_messages(to),
                                       CountedKind::kMessage, bytes);
  }
}

}  // namespace

acp_handle_t counted_copy(acp_ga_t dst,
                          acp_ga_t src,
                          std::size_t size,
                          acp_handle_t order) {
  if (g_is_running.load(std::memory_order_acquire) &&
      size == sizeof(std::uint64_t)) {
    gma::Engine& engine = g_room.task.engine();
    const Counted seen = see_copy(engine.space(), dst, src);
    const gma::Handle handle = engine.copy_library_word(dst, src, order);
    if (__builtin_expect(handle != gma::kHandleNull, 1)) {
      return count_direct(seen.peer, seen.kind, sizeof(std::uint64_t), handle);
    }
  }
  return copy_any(dst, src, size, order);
}

template <Opcode kOpcode, std::uint8_t kWidth>
acp_handle_t counted_atomic(acp_ga_t dst,
                            acp_ga_t src,
                            std::uint64_t operand,
                            std::uint64_t compare,
                            acp_handle_t order) {
  if (g_is_running.load(std::memory_order_acquire)) {
    gma::Engine& engine = g_room.task.engine();
    const gmm::Rank peer = engine.space().codec().rank(src);
    const gma::Handle handle = engine.atomic_library(kOpcode, kWidth, dst, src,
                                                     operand, compare, order);
    if (__builtin_expect(handle != gma::kHandleNull, 1)) {
      return count_direct(peer, CountedKind::kAtomic, kWidth, handle);
    }
  }
  return atomic_any<kOpcode, kWidth>(dst, src, operand, compare, order);
}

#define ACP_COUNTED_ATOMIC(opcode)                                     \
  template acp_handle_t counted_atomic<Opcode::opcode, 4>(             \
      acp_ga_t, acp_ga_t, std::uint64_t, std::uint64_t, acp_handle_t); \
  template acp_handle_t counted_atomic<Opcode::opcode, 8>(             \
      acp_ga_t, acp_ga_t, std::uint64_t, std::uint64_t, acp_handle_t);
ACP_COUNTED_ATOMIC(kCas)
ACP_COUNTED_ATOMIC(kAdd)
ACP_COUNTED_ATOMIC(kAnd)
ACP_COUNTED_ATOMIC(kOr)
ACP_COUNTED_ATOMIC(kXor)
ACP_COUNTED_ATOMIC(kSwap)
#undef ACP_COUNTED_ATOMIC

/// The operations are accepted together, so all of them count or none.
acp_handle_t counted_post(std::span<const acpx_op_t> ops, acp_handle_t order) {
  runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task("acpx_post");
    return ACP_HANDLE_NULL;
  }
  if (lacks_memory("acpx_post")) {
    return ACP_HANDLE_NULL;
  }
  const MustNotFail must_not_fail;
  const gma::Handle handle =
      as_handle(gma::post_chain(mine->engine(), mine->waker(), ops, order));
  if (handle == gma::kHandleNull) {
    return ACP_HANDLE_NULL;
  }
  InlineVector<Step, ACPX_MAX_STEPS> steps;
  for (const acpx_op_t& op : ops) {
    (void)gma::step_of(op, steps.push_back({}));
  }
  count_chain(*mine, steps);
  return handle;
}

/// Counts the put and the addition as two operations.
acp_handle_t counted_put_signal(acp_ga_t dst,
                                acp_ga_t src,
                                std::size_t size,
                                acp_ga_t word,
                                std::uint64_t add,
                                acp_handle_t order) {
  runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task("acpx_put_signal");
    return ACP_HANDLE_NULL;
  }
  if (lacks_memory("acpx_put_signal")) {
    return ACP_HANDLE_NULL;
  }
  const MustNotFail must_not_fail;
  const gma::Handle handle = as_handle(gma::put_signal(
      mine->engine(), mine->waker(), dst, src, size, word, add, order));
  if (handle == gma::kHandleNull) {
    return ACP_HANDLE_NULL;
  }
  InlineVector<Step, 2> steps;
  if (size != 0) {
    Step& put = steps.push_back({});
    put.opcode = Opcode::kCopy;
    put.remote = dst;
    put.local = src;
    put.size = size;
  }
  Step& signal = steps.push_back({});
  signal.opcode = Opcode::kAdd;
  signal.remote = word;
  count_chain(*mine, steps);
  return handle;
}

Status reset(runtime::Task& mine, int rank) {
  stop_counting_calls();
  const Status status = mine.reset(rank);
  count_calls_of(mine);
  return status;
}

void count_calls_of(runtime::Task& mine) noexcept {
  const bool counts = mine.counters() != nullptr;
  g_message_counter.store(counts ? &count_channel_message : nullptr,
                          std::memory_order_relaxed);
  g_is_uncounted.store(!counts, std::memory_order_release);
  if (!counts) {
    allow_inlined_calls(mine);
  }
}

void stop_counting_calls() noexcept {
  stop_inlined_calls();
  g_is_uncounted.store(true, std::memory_order_release);
  g_message_counter.store(nullptr, std::memory_order_relaxed);
}

}  // namespace acp::api
