#include "gma/chain.h"

#include "base/log.h"
#include "gma/describe.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

constexpr std::array<Opcode, 10> kOpcodes = {
    Opcode::kCopy,  // 0 is no opcode
    Opcode::kPut,  Opcode::kPut8, Opcode::kGet, Opcode::kAdd, Opcode::kCas,
    Opcode::kAnd,  Opcode::kOr,   Opcode::kXor, Opcode::kSwap};

bool is_bulk(const Step& step) {
  return step.opcode == Opcode::kPut || step.opcode == Opcode::kGet;
}

std::uint64_t bytes_of(const Step& step) {
  return is_bulk(step) ? step.size : 8;
}

/// False: not an opcode, or flags that do not belong to it.
bool convert(const acpx_op_t& op, Step& step) {
  const auto index = static_cast<std::size_t>(op.opcode);
  if (index < 1 || index >= kOpcodes.size()) {
    return false;
  }
  step.opcode = kOpcodes[index];
  step.flags = (op.flags & ACPX_SIGNAL) != 0 ? protocol::kSignalFlag : 0;
  step.remote = op.remote;
  step.local = step.opcode == Opcode::kPut8 ? 0 : op.local;
  step.size = op.size;
  step.operand = op.operand;
  step.compare = op.compare;
  const bool has_signal = step.flags != 0;
  return (op.flags & ~ACPX_SIGNAL) == 0 && !(has_signal && is_bulk(step));
}

/// What can be said before any effect.
Status check(const Step& step, const gmm::AddressSpace& space) {
  const std::uint64_t size = bytes_of(step);
  if (size == 0) {
    return Status::kOk;
  }
  const Result<gmm::Target> remote = space.locate(step.remote, size);
  if (!remote.ok()) {
    return remote.status();
  }
  if (!is_bulk(step) && ((step.remote | step.local) & 7) != 0) {
    return Status::kMisaligned;
  }
  if (!is_bulk(step) && step.local == 0) {
    return Status::kOk;
  }
  return space.own(step.local, size).status();
}

/// Runs a step whose both ends are mapped here; false when they are not.
bool run_direct(const Step& step,
                const gmm::AddressSpace& space,
                gmm::ThreadWaker& waker) {
  const std::uint64_t size = bytes_of(step);
  if (size == 0) {
    return true;
  }
  std::byte* remote = space.direct(step.remote, size);
  if (remote == nullptr) {
    return false;
  }
  if (!is_bulk(step)) {
    run_direct_word(space, waker, step, remote);
    return true;
  }
  std::byte* local = space.direct(step.local, size);
  if (local == nullptr) {
    return false;
  }
  if (step.opcode == Opcode::kPut) {
    gmm::copy_bytes(remote, local, size);
    has_remote_stores = true;
  } else {
    gmm::copy_bytes(local, remote, size);
  }
  return true;
}

bool is_direct(const Step& step, const gmm::AddressSpace& space) {
  const std::uint64_t size = bytes_of(step);
  return size == 0 || space.direct(step.remote, size) != nullptr;
}

Result<Handle> run(Engine& engine,
                   gmm::ThreadWaker& waker,
                   std::span<const Step> steps,
                   Handle order) {
  const gmm::AddressSpace& space = engine.space();
  bool is_all_direct = engine.is_clear(order);
  for (const Step& step : steps) {
    is_all_direct = is_all_direct && is_direct(step, space);
  }
  if (!is_all_direct) {
    return engine.chain(steps, order);
  }
  Engine::before_direct(order);
  for (const Step& step : steps) {
    if (!run_direct(step, space, waker)) {
      // Unregistered between the check and now, by another thread.
      log_error("{}: {}", describe(step, space), status_text(Status::kBadKey));
      return Status::kBadKey;
    }
  }
  return engine.borrowed();
}

}  // namespace

Result<Handle> post_chain(Engine& engine,
                          gmm::ThreadWaker& waker,
                          std::span<const acpx_op_t> ops,
                          Handle order) {
  const gmm::AddressSpace& space = engine.space();
  const auto& codec = space.codec();
  if (ops.empty() || ops.size() > ACPX_MAX_STEPS) {
    log_error("acpx_post: {} steps, 1 to {} are possible", ops.size(),
              ACPX_MAX_STEPS);
    return Status::kInvalidArgument;
  }
  std::array<Step, ACPX_MAX_STEPS> steps;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!convert(ops[i], steps[i])) {
      log_error("acpx_post: step {}: opcode {} with flags {:#x}", i + 1,
                static_cast<int>(ops[i].opcode), ops[i].flags);
      return Status::kInvalidArgument;
    }
    const GlobalAddress first = steps[0].remote;
    if (codec.rank(steps[i].remote) != codec.rank(first) ||
        codec.color(steps[i].remote) != codec.color(first)) {
      log_error(
          "acpx_post: step {} is at {}, step 1 at {}: a chain has one "
          "rank and one color",
          i + 1, describe_address(steps[i].remote, space),
          describe_address(first, space));
      return Status::kInvalidArgument;
    }
    if (const Status status = check(steps[i], space); status != Status::kOk) {
      log_error("acpx_post: step {}: {}: {}", i + 1, describe(steps[i], space),
                status_text(status));
      return status;
    }
  }
  return run(engine, waker, std::span(steps).first(ops.size()), order);
}

Result<Handle> put_signal(Engine& engine,
                          gmm::ThreadWaker& waker,
                          GlobalAddress to,
                          GlobalAddress from,
                          std::uint64_t size,
                          GlobalAddress word,
                          std::uint64_t add,
                          Handle order) {
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
  const bool is_empty = size == 0;
  if (!is_empty && codec.rank(to) != codec.rank(word)) {
    log_error(
        "acpx_put_signal: destination {} and word {} are not on one "
        "rank",
        describe_address(to, space), describe_address(word, space));
    return Status::kBadRank;
  }
  Status status = check(signal, space);
  for (const GlobalAddress address : {to, from}) {
    if (status == Status::kOk && !is_empty) {
      status = space.locate(address, size).status();
    }
  }
  if (status != Status::kOk) {
    log_error("acpx_put_signal: {}, {}: {}", describe(put, space),
              describe(signal, space), status_text(status));
    return status;
  }
  if (is_empty) {
    return run(engine, waker, {&signal, 1}, order);
  }
  if (codec.rank(from) == space.my_rank() &&
      codec.color(to) == codec.color(word)) {
    put.opcode = Opcode::kPut;
    return run(engine, waker, steps, order);
  }
  return engine.chain(steps, order);
}

}  // namespace acp::gma
