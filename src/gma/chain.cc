// Chains as the program writes them: their checks, and the chains that run in
// the call. Called by src/api, in any thread. All steps are checked before the
// first has an effect. This file takes no lock, waits for nothing and sends
// nothing: it gives the engine each chain that cannot run here.
#include "gma/chain.h"

#include <algorithm>

#include "base/inline_vector.h"
#include "base/log.h"
#include "gma/describe.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

constexpr std::array<Opcode, 10> kOpcodes = {
    Opcode::kCopy,  // 0 is no opcode
    Opcode::kPut,  Opcode::kPut8, Opcode::kGet, Opcode::kAdd, Opcode::kCas,
    Opcode::kAnd,  Opcode::kOr,   Opcode::kXor, Opcode::kSwap};

/// Flags that any step may have, and all flags.
constexpr std::uint32_t kAnyFlags = ACPX_MORE | ACPX_HOLD;
constexpr std::uint32_t kFlags = ACPX_SIGNAL | kAnyFlags;

bool has_signal(const acpx_op_t& op) {
  return (op.flags & ACPX_SIGNAL) != 0;
}

/// Finds the errors of a step that show before it has any effect.
Status check(const Step& step, const gmm::AddressSpace& space) {
  const std::uint64_t size = bytes_at_remote(step);
  if (size == 0) {
    return Status::kOk;
  }
  if (const Status status = space.check(step.remote, size);
      status != Status::kOk) {
    return status;
  }
  if (!is_bulk(step) && ((step.remote | step.local) & 7) != 0) {
    return Status::kMisaligned;
  }
  if (!is_bulk(step) && step.local == 0) {
    return Status::kOk;
  }
  if (!is_bulk(step) && step.local == step.remote) {
    return Status::kInvalidArgument;
  }
  return space.check_own(step.local, size);
}

/// Where a step of a chain runs when both its ends are mapped here.
struct DirectStep {
  std::byte* remote;
  std::byte* local;  ///< Null: the old value is not wanted.
};

/// Looks up both ends of a step. False: an end is not mapped here, or the step
/// has an error, which the slow way will name.
bool locate_direct(const acpx_op_t& op,
                   const gmm::AddressSpace& space,
                   DirectStep& step) {
  const bool is_bulk_op = op.opcode == ACPX_PUT || op.opcode == ACPX_GET;
  const bool has_local =
      op.opcode != ACPX_PUT8 && (is_bulk_op || op.local != 0);
  const std::uint64_t size = is_bulk_op ? op.size : sizeof(std::uint64_t);
  const GlobalAddress both = op.remote | (has_local ? op.local : 0);
  if (op.opcode < ACPX_PUT || op.opcode > ACPX_SWAP8 ||
      (op.flags & ~(is_bulk_op ? kAnyFlags : kFlags)) != 0 ||
      (!is_bulk_op &&
       ((both & 7) != 0 || (has_local && op.local == op.remote))) ||
      (has_local && space.codec().rank(op.local) != space.my_rank())) {
    return false;
  }
  step.remote = space.direct(op.remote, size);
  step.local = has_local ? space.direct(op.local, size) : nullptr;
  return step.remote != nullptr && (step.local != nullptr || !has_local);
}

/// Executes a step that locate_direct() has accepted. The doorbell comes after
/// the word, so that a thread that it wakes sees the word.
void run_direct(const acpx_op_t& op,
                const DirectStep& step,
                const gmm::AddressSpace& space,
                gmm::ThreadWaker& waker) {
  if (op.opcode == ACPX_PUT) {
    gmm::copy_bytes(step.remote, step.local, op.size);
    acpx_has_stores = 1;
    return;
  }
  if (op.opcode == ACPX_GET) {
    gmm::copy_bytes(step.local, step.remote, op.size);
    return;
  }
  if (op.opcode == ACPX_PUT8) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(step.remote))
        .store(op.operand);
  } else {
    const std::uint64_t old =
        gmm::apply_atomic(kOpcodes[static_cast<std::size_t>(op.opcode)], 8,
                          step.remote, op.operand, op.compare);
    settle_by_atomic();
    if (step.local != nullptr) {
      gmm::store_word(step.local, 8, old);
    }
  }
  if (has_signal(op)) {
    gmm::ring_signal(*space.slice_header(space.codec().rank(op.remote)), waker);
  }
}

/// Runs a whole chain in the call. Returns kHandleNull without any effect when
/// that is not possible: all steps are looked up before the first runs.
Handle post_direct(Engine& engine,
                   gmm::ThreadWaker& waker,
                   std::span<const acpx_op_t> ops,
                   Handle order) {
  const gmm::AddressSpace& space = engine.space();
  const auto& codec = space.codec();
  if (!engine.is_clear(order) || ops.empty() || ops.size() > ACPX_MAX_STEPS ||
      !space.has_cpu_atomics() ||
      space.slice_of(codec.rank(ops[0].remote)) == nullptr) {
    return kHandleNull;
  }
  // NOLINTNEXTLINE(*-member-init): clearing costs more than a short chain
  std::array<DirectStep, ACPX_MAX_STEPS> steps;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool is_same_peer =
        codec.rank(ops[i].remote) == codec.rank(ops[0].remote) &&
        codec.color(ops[i].remote) == codec.color(ops[0].remote);
    if (!is_same_peer || !locate_direct(ops[i], space, steps[i])) {
      return kHandleNull;
    }
  }
  if (std::ranges::any_of(ops, has_signal)) {
    engine.show_order_to_tsan();
  }
  Engine::before_direct(order);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    run_direct(ops[i], steps[i], space, waker);
  }
  return engine.borrowed();
}

Departure departure_of(std::span<const acpx_op_t> ops) {
  std::uint32_t flags = 0;
  for (const acpx_op_t& op : ops) {
    flags |= op.flags;
  }
  return (flags & ACPX_HOLD) != 0   ? Departure::kHeld
         : (flags & ACPX_MORE) != 0 ? Departure::kLater
                                    : Departure::kNow;
}

}  // namespace

bool step_of(const acpx_op_t& op, Step& step) {
  const auto index = static_cast<std::size_t>(op.opcode);
  if (index < 1 || index >= kOpcodes.size()) {
    return false;
  }
  step.opcode = kOpcodes[index];
  step.flags = has_signal(op) ? protocol::kSignalFlag : 0;
  step.remote = op.remote;
  step.local = step.opcode == Opcode::kPut8 ? 0 : op.local;
  step.size = is_bulk(step) ? op.size : 0;
  step.operand = is_bulk(step) ? 0 : op.operand;
  step.compare = is_bulk(step) ? 0 : op.compare;
  return (op.flags & ~kFlags) == 0 && !(has_signal(op) && is_bulk(step));
}

/// Tries the direct way first, which does not say why it refuses a chain. The
/// checks here name the first error; only a chain without errors is queued.
Result<Handle> post_chain(Engine& engine,
                          gmm::ThreadWaker& waker,
                          std::span<const acpx_op_t> ops,
                          Handle order) {
  if (const Handle handle = post_direct(engine, waker, ops, order);
      handle != kHandleNull) {
    return handle;
  }
  const gmm::AddressSpace& space = engine.space();
  const auto& codec = space.codec();
  if (ops.empty() || ops.size() > ACPX_MAX_STEPS) {
    log_error("acpx_post: {} steps, 1 to {} are possible, and not NULL",
              ops.size(), ACPX_MAX_STEPS);
    return Status::kInvalidArgument;
  }
  InlineVector<Step, ACPX_MAX_STEPS> steps;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Step& step = steps.push_back({});
    if (!step_of(ops[i], step)) {
      log_error("acpx_post: step {}: opcode {} with flags {:#x}", i + 1,
                static_cast<int>(ops[i].opcode), ops[i].flags);
      return Status::kInvalidArgument;
    }
    const GlobalAddress first = steps[0].remote;
    if (codec.rank(step.remote) != codec.rank(first) ||
        codec.color(step.remote) != codec.color(first)) {
      log_error(
          "acpx_post: step {} is at {}, step 1 at {}: a chain has one "
          "rank and one color",
          i + 1, describe_address(step.remote, space),
          describe_address(first, space));
      return Status::kInvalidArgument;
    }
    if (const Status status = check(step, space); status != Status::kOk) {
      log_error("acpx_post: step {}: {}: {}{}", i + 1, describe(step, space),
                status_text(status), describe_cause(step, status, space));
      return status;
    }
  }
  return engine.chain(steps, order, departure_of(ops));
}

/// Tries the direct way first, which needs no operation. Then the word is
/// checked before the addresses of the put, and the chain is left to the
/// engine.
Result<Handle> put_signal(Engine& engine,
                          gmm::ThreadWaker& waker,
                          GlobalAddress to,
                          GlobalAddress from,
                          std::uint64_t size,
                          GlobalAddress word,
                          std::uint64_t add,
                          Handle order) {
  const std::array<acpx_op_t, 2> ops = {
      acpx_op_t{ACPX_PUT, 0, to, from, size, 0, 0},
      acpx_op_t{ACPX_ADD8, ACPX_SIGNAL, word, 0, 0, add, 0}};
  const bool is_empty = size == 0;
  // An empty put has no effect, and its addresses may be any.
  const auto effective = std::span(ops).subspan(is_empty ? 1 : 0);
  if (const Handle handle = post_direct(engine, waker, effective, order);
      handle != kHandleNull) {
    return handle;
  }
  const gmm::AddressSpace& space = engine.space();
  const auto& codec = space.codec();
  std::array<Step, 2> steps;
  Step& put = steps[0];
  put.opcode = Opcode::kCopy;  // the source may be remote
  put.remote = to;
  put.local = from;
  put.size = size;
  Step& signal = steps[1];
  signal.opcode = Opcode::kAdd;
  signal.flags = protocol::kSignalFlag;
  signal.remote = word;
  signal.operand = add;
  if (!is_empty && codec.rank(to) != codec.rank(word)) {
    log_error(
        "acpx_put_signal: destination {} and word {} are not on one "
        "rank",
        describe_address(to, space), describe_address(word, space));
    return Status::kBadRank;
  }
  Status status = check(signal, space);
  const Step& wrong = status != Status::kOk ? signal : put;
  for (const GlobalAddress address : {to, from}) {
    if (status == Status::kOk && !is_empty) {
      status = space.check(address, size);
    }
  }
  if (status != Status::kOk) {
    log_error("acpx_put_signal: {}, {}: {}{}", describe(put, space),
              describe(signal, space), status_text(status),
              describe_cause(wrong, status, space));
    return status;
  }
  if (is_empty) {
    return engine.chain({&signal, 1}, order);
  }
  if (codec.rank(from) == space.my_rank() &&
      codec.color(to) == codec.color(word)) {
    put.opcode = Opcode::kPut;
  }
  return engine.chain(steps, order);
}

}  // namespace acp::gma
