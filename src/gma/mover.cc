// Which way a step goes. The requests themselves are in mover_requests.cc.
#include "gma/mover.h"

#include <algorithm>

#include "base/log.h"
#include "gma/describe.h"
#include "gmm/memory_ops.h"

namespace acp::gma {

namespace {

constexpr std::size_t kBounceBytes = 64 << 10;

}  // namespace

Mover::Mover(const gmm::AddressSpace& space,
             Links& links,
             gmm::ThreadWaker& waker,
             OperationOwner& owner)
    : space_(space), links_(links), waker_(waker), owner_(owner) {}

void Mover::start(Operation& operation) {
  operation.current = 0;
  operation.status = Status::kOk;
  if (operation.steps.size() > 1 &&
      try_whole(operation) == Progress::kPending) {
    return;
  }
  advance(operation);
}

void Mover::advance(Operation& operation) {
  while (operation.current < operation.steps.size() &&
         operation.status == Status::kOk) {
    const Step& step = operation.steps[operation.current];
    switch (run_step(operation, step)) {
      case Progress::kDone: ++operation.current; break;
      case Progress::kFailed: break;
      case Progress::kPending: return;
    }
  }
  finish(operation);
}

void Mover::finish(Operation& operation) {
  if (operation.status != Status::kOk) {
    log_error("{}: {}", describe(operation, space_),
              status_text(operation.status));
  }
  owner_.on_finished(operation);
}

Mover::Progress Mover::fail(Operation& operation, Status status) {
  operation.status = status;
  return Progress::kFailed;
}

Mover::Progress Mover::run_step(Operation& operation, const Step& step) {
  return step.opcode == protocol::Opcode::kCopy ? run_copy(operation, step)
                                                : run_remote(operation, step);
}

Mover::Progress Mover::run_copy(Operation& operation, const Step& step) {
  const Result<gmm::Target> to = space_.locate(step.remote, step.size);
  const Result<gmm::Target> from = space_.locate(step.local, step.size);
  if (!to.ok() || !from.ok()) {
    return fail(operation, to.ok() ? from.status() : to.status());
  }
  const gmm::Target& target = to.value();
  const gmm::Target& source = from.value();
  const auto& codec = space_.codec();
  if (target.direct != nullptr && source.direct != nullptr) {
    gmm::copy_bytes(target.direct, source.direct, step.size);
    return Progress::kDone;
  }
  const bool is_get = target.direct != nullptr;
  if (is_get || source.direct != nullptr) {
    const gmm::Target& peer = is_get ? source : target;
    const GlobalAddress peer_address = is_get ? step.local : step.remote;
    const Color color = codec.color(peer_address);
    const Progress progress = transfer(
        operation,
        is_get ? transport::Direction::kGet : transport::Direction::kPut,
        is_get ? target.direct : source.direct, step.size, peer, color);
    if (progress != Progress::kPending) {
      return progress;
    }
    operation.piece_opcode =
        is_get ? protocol::Opcode::kGet : protocol::Opcode::kPut;
    operation.piece_remote = peer_address;
    operation.piece_local = is_get ? step.remote : step.local;
    operation.piece_bytes = step.size;
    return enqueue(operation, peer.rank, color);
  }
  const Progress bounced = copy_over_bounce(operation, step, target, source);
  if (bounced != Progress::kPending) {
    return bounced;
  }
  // Neither end is within reach: the source's agent does it.
  operation.piece_opcode = protocol::Opcode::kCopy;
  operation.piece_remote = step.remote;
  operation.piece_local = step.local;
  operation.piece_bytes = step.size;
  return enqueue(operation, source.rank, codec.color(step.local));
}

Mover::Progress Mover::transfer(Operation& operation,
                                transport::Direction direction,
                                std::byte* local,
                                std::uint64_t size,
                                const gmm::Target& peer,
                                Color color) {
  if (!peer.is_same_host) {
    return Progress::kPending;
  }
  const Result<Link> link = links_.link(peer.rank, color);
  if (!link.ok()) {
    return fail(operation, link.status());
  }
  const Status status = link.value().endpoint->transfer(
      direction, {local, size}, peer.owner_address);
  if (status == Status::kUnsupported) {
    return Progress::kPending;
  }
  return status == Status::kOk ? Progress::kDone : fail(operation, status);
}

/// Two registered memories of other ranks of this host: through a buffer here.
Mover::Progress Mover::copy_over_bounce(Operation& operation,
                                        const Step& step,
                                        const gmm::Target& to,
                                        const gmm::Target& from) {
  if (!to.is_same_host || !from.is_same_host) {
    return Progress::kPending;
  }
  bounce_.resize(kBounceBytes);
  // Like memmove: backwards when the destination lies above the source.
  // By the owner's addresses: two keys or colors may name one memory.
  const bool is_backward =
      to.rank == from.rank && to.owner_address > from.owner_address;
  const Color color = space_.codec().color(step.remote);
  std::uint64_t done = 0;
  while (done < step.size) {
    const std::uint64_t size =
        std::min<std::uint64_t>(kBounceBytes, step.size - done);
    const std::uint64_t offset = is_backward ? step.size - done - size : done;
    gmm::Target source = from;
    gmm::Target target = to;
    source.owner_address += offset;
    target.owner_address += offset;
    Progress progress = transfer(operation, transport::Direction::kGet,
                                 bounce_.data(), size, source, color);
    if (progress == Progress::kDone) {
      progress = transfer(operation, transport::Direction::kPut, bounce_.data(),
                          size, target, color);
    }
    if (progress != Progress::kDone) {
      return progress;  // kPending only before the first byte has moved
    }
    done += size;
  }
  return Progress::kDone;
}

/// A step of a chain, or an atomic.
Mover::Progress Mover::run_remote(Operation& operation, const Step& step) {
  const bool is_bulk = step.opcode == protocol::Opcode::kPut ||
                       step.opcode == protocol::Opcode::kGet;
  const std::uint64_t size = is_bulk ? step.size : step.width;
  if (size == 0) {
    return Progress::kDone;
  }
  const Result<gmm::Target> remote = space_.locate(step.remote, size);
  if (!remote.ok()) {
    return fail(operation, remote.status());
  }
  if (step.local != 0) {
    const Result<std::byte*> local = space_.own(step.local, size);
    if (!local.ok()) {
      return fail(operation, local.status());
    }
  }
  if (is_bulk) {
    Step copy = step;
    const bool is_get = step.opcode == protocol::Opcode::kGet;
    copy.opcode = protocol::Opcode::kCopy;
    copy.remote = is_get ? step.local : step.remote;
    copy.local = is_get ? step.remote : step.local;
    return run_copy(operation, copy);
  }
  if (remote.value().direct != nullptr) {
    run_direct_word(space_, waker_, step, remote.value().direct);
    return Progress::kDone;
  }
  operation.piece_opcode = step.opcode;
  operation.piece_remote = step.remote;
  operation.piece_local = step.local;
  operation.piece_bytes = step.width;
  return enqueue(operation, remote.value().rank,
                 space_.codec().color(step.remote));
}

void run_direct_word(const gmm::AddressSpace& space,
                     gmm::ThreadWaker& waker,
                     const Step& step,
                     std::byte* address) {
  if (step.opcode == protocol::Opcode::kPut8) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address))
        .store(step.operand);
  } else {
    const std::uint64_t old = gmm::apply_atomic(
        step.opcode, step.width, address, step.operand, step.compare);
    if (step.local != 0) {
      if (std::byte* to = space.direct(step.local, step.width)) {
        gmm::store_word(to, step.width, old);
      }
    }
  }
  if ((step.flags & protocol::kSignalFlag) != 0) {
    const Rank rank = space.codec().rank(step.remote);
    if (protocol::SliceHeader* slice = space.slice_header(rank)) {
      gmm::ring_signal(*slice, waker);
    }
  }
}

}  // namespace acp::gma
