// Whether and how the devices can do a chain of steps. Called by post() and
// post_then_send() of Endpoint. It posts no work request. Before a step can be
// posted it may only ask for a registration and register memory.
#include "verbs/endpoint_plan.h"

#include <algorithm>

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

namespace {

/// A put or get of one word.
bool is_aligned_word(const RemoteStep& step) noexcept {
  return protocol::is_bulk(step) && step.size == 8 && (step.offset & 7) == 0;
}

}  // namespace

/// A loop must be alone in its chain. The peer's agent does it at once, where
/// it may.
bool Endpoint::can_device_do_atomic(const RemoteStep& step,
                                    std::size_t steps) const noexcept {
  if (step.width != 8 || atomics_ == Executor::kAgent) {
    return false;
  }
  return !is_loop(step.opcode) || (atomics_ == Executor::kDevice && steps == 1);
}

/// Whether the devices can do all steps of a chain. Signals always need the
/// agent, and atomics may. A write behind a write needs the agent where writes
/// have no order; a read or an atomic between them proves the first.
bool Endpoint::can_devices_do(
    std::span<const RemoteStep> steps) const noexcept {
  bool follows_write = false;
  for (const RemoteStep& step : steps) {
    const bool is_write = protocol::is_put(step.opcode);
    if (shared_.proves_writes && is_write && follows_write) {
      return false;
    }
    follows_write = is_write;
    const bool is_known = protocol::is_atomic(step.opcode)
                              ? can_device_do_atomic(step, steps.size())
                              : step.opcode == Opcode::kPut ||
                                    step.opcode == Opcode::kGet ||
                                    step.opcode == Opcode::kPut8;
    // rxe copies bytes in any order, so a word might be seen half written.
    const bool is_word = step.opcode == Opcode::kPut8 || is_aligned_word(step);
    if (!is_known || step.flags != 0 || (device_.is_rxe() && is_word)) {
      return false;
    }
  }
  return true;
}

/// Plans the work requests of a chain; the answer of the first step that cannot
/// be posted now.
Feasible Endpoint::plan_steps(std::span<const RemoteStep> steps, Plan& plan) {
  for (const RemoteStep& step : steps) {
    const Feasible feasible = plan_step(step, plan);
    if (feasible != Feasible::kNow) {
      return feasible;
    }
  }
  return Feasible::kNow;
}

/// Plans the work requests of a step. A work request ends where a registration
/// ends, at either side. src/transport/ucx has a loop of its own over the
/// peer's registrations: UCX registers local memory itself, and sets other
/// conditions for steps on words.
Feasible Endpoint::plan_step(const RemoteStep& step, Plan& plan) {
  const bool is_read = step.opcode == Opcode::kGet;
  const bool is_word = protocol::is_word(step.opcode);
  const std::uint64_t size = protocol::bytes_at_remote(step);
  // InfiniBand lets a write or an atomic overtake an earlier read or atomic
  // unless it is fenced. rxe keeps atomics in order, but its fences can hang
  // the queue pair.
  const bool may_overtake_read = !is_read && plan.has_read;
  const bool may_overtake_atomic = !is_read && plan.has_atomic;
  if (may_overtake_read && device_.is_rxe()) {
    return Feasible::kNever;
  }
  const bool is_fenced =
      (may_overtake_read || may_overtake_atomic) && !device_.is_rxe();
  // An earlier get may still bring the source of a put that waits for it. So
  // the device may not take that source in the call.
  const bool is_source_late =
      plan.is_behind && is_fenced && step.opcode == Opcode::kPut;
  const bool is_inline = !is_read && !protocol::is_atomic(step.opcode) &&
                         !is_source_late &&
                         size <= device_.inline_bytes(pair_size());
  plan.has_read = plan.has_read || is_read;
  plan.has_atomic = plan.has_atomic || protocol::is_atomic(step.opcode);
  const bool is_write = protocol::is_put(step.opcode);
  plan.proofs +=
      shared_.proves_writes && is_write && !plan.ends_with_write ? 1 : 0;
  plan.ends_with_write = is_write;
  plan.atomics += protocol::is_atomic(step.opcode) ? 1 : 0;
  // For an atomic's result, or for a put8's value that does not go inline.
  const bool needs_word = is_word && !is_inline;
  plan.words += needs_word ? 1 : 0;
  MyRegion* mine = nullptr;
  if (!shared_.regions.find_local(step, mine) ||
      (mine == nullptr && !is_word)) {
    return Feasible::kNever;
  }
  for (std::uint64_t done = 0; done < size;) {
    PeerRegistration* theirs = nullptr;
    const std::uint64_t at = step.offset + done;
    const Feasible feasible = controls_.find_registration(step, at, theirs);
    if (feasible != Feasible::kNow) {
      return feasible;
    }
    // Some devices neither refuse nor complete a misaligned atomic.
    if (plan.count == plan.parts.size() ||
        (protocol::is_atomic(step.opcode) &&
         (theirs->bytes_from(at) < 8 || (theirs->address_of(at) & 7) != 0))) {
      return Feasible::kNever;
    }
    std::uint64_t bytes = std::min(size - done, theirs->bytes_from(at));
    std::uint32_t lkey = 0;
    if (!is_word && !is_inline) {
      const std::byte* from = step.local_memory + done;
      const auto own = shared_.regions.own_registration(device_, *mine,
                                                        mine->offset_of(from));
      if (own.memory_handle == nullptr) {
        return Feasible::kNever;
      }
      lkey = own.memory_handle->memory->lkey;
      bytes = std::min(
          bytes, own.size - static_cast<std::uint64_t>(from - own.address));
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

}  // namespace acp::verbs
