// Which way a step goes. The requests themselves are in mover_requests.cc.
#include "gma/mover.h"

#include <algorithm>

#include "base/log.h"
#include "gma/describe.h"
#include "gmm/memory_ops.h"
#include "gmm/touch.h"
#include "gmm/transfer_guard.h"

namespace acp::gma {

namespace {

constexpr std::uint64_t kBounceBytes = 64 << 10;

/// What a copy moves before it lets go of the engine's mutex: about 0.1 ms.
constexpr std::uint64_t kSliceBytes = 1 << 20;

std::uint64_t slice_limit(const gmm::Target& to, const gmm::Target& from) {
  return to.direct == nullptr && from.direct == nullptr ? kBounceBytes
                                                        : kSliceBytes;
}

/// Like memmove: from the end when the destination lies above the source. By
/// the owner's addresses: two keys or colors may name one memory.
bool is_backward(const gmm::Target& to, const gmm::Target& from) {
  return to.direct != nullptr || from.direct != nullptr
             ? to.direct > from.direct
             : to.rank == from.rank && to.owner_address > from.owner_address;
}

/// The same target, `offset` bytes further on.
gmm::Target advanced(gmm::Target target, std::uint64_t offset) {
  if (target.direct != nullptr) {
    target.direct += offset;
  }
  target.owner_address += offset;
  return target;
}

}  // namespace

Mover::Mover(const gmm::AddressSpace& space,
             Links& links,
             gmm::ThreadWaker& waker,
             OperationOwner& owner)
    : space_(space),
      links_(links),
      waker_(waker),
      owner_(owner),
      relay_(space) {}

void Mover::start(Operation& operation) {
  operation.current = 0;
  operation.copied_bytes = 0;
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
      case Progress::kDone:
        ++operation.current;
        operation.copied_bytes = 0;
        operation.owes_signal = false;
        break;
      case Progress::kFailed: break;
      case Progress::kPending: return;
    }
  }
  finish(operation);
}

void Mover::finish(Operation& operation) {
  if (operation.owner == Owner::kRelay) {
    end_relay_part(operation);
    return;
  }
  if (operation.status != Status::kOk) {
    log_error("{}: {}{}", describe(operation, space_),
              status_text(operation.status),
              describe_bounds(operation, space_));
  }
  owner_.on_finished(operation);
}

/// The copy that it is a part of says what failed.
void Mover::end_relay_part(Operation& part) {
  Operation* copy = relay_.on_ended(part);
  if (copy == nullptr) {
    return;
  }
  copy->current += copy->status == Status::kOk ? 1 : 0;
  advance(*copy);
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
  const bool is_from_end = is_backward(to.value(), from.value());
  Step rest = step;
  rest.size -= operation.copied_bytes;
  const std::uint64_t begin = is_from_end ? 0 : operation.copied_bytes;
  rest.remote += begin;
  rest.local += begin;
  Step slice = rest;
  slice.size = std::min(rest.size, slice_limit(to.value(), from.value()));
  const std::uint64_t offset = is_from_end ? rest.size - slice.size : 0;
  slice.remote += offset;
  slice.local += offset;
  const Progress progress =
      copy_slice(operation, slice, advanced(to.value(), begin + offset),
                 advanced(from.value(), begin + offset));
  if (progress == Progress::kPending) {
    operation.copied_bytes = 0;  // the next step's
    return send_copy(operation, rest, to.value(), from.value());
  }
  if (progress == Progress::kFailed || slice.size == rest.size) {
    return progress;
  }
  operation.copied_bytes += slice.size;
  long_copies_.push_back(&operation);
  return Progress::kPending;
}

/// What this process can copy by itself; else kPending, and nothing has
/// happened.
Mover::Progress Mover::copy_slice(Operation& operation,
                                  const Step& slice,
                                  const gmm::Target& to,
                                  const gmm::Target& from) {
  if (to.direct != nullptr && from.direct != nullptr) {
    if (!gmm::can_touch(space_, slice.remote, to.direct, slice.size,
                        gmm::Access::kWrite) ||
        !gmm::can_touch(space_, slice.local, from.direct, slice.size,
                        gmm::Access::kRead)) {
      return fail(operation, Status::kBadAddress);
    }
    gmm::copy_bytes(to.direct, from.direct, slice.size);
    return Progress::kDone;
  }
  const auto& codec = space_.codec();
  if (to.direct != nullptr) {
    return transfer(operation, transport::Direction::kGet, to.direct,
                    slice.size, from, codec.color(slice.local));
  }
  if (from.direct != nullptr) {
    return transfer(operation, transport::Direction::kPut, from.direct,
                    slice.size, to, codec.color(slice.remote));
  }
  return copy_over_bounce(operation, slice, to, from);
}

/// By requests to the owner of the end that is not mine; when neither is, by
/// way of memory here, or by the owner of the source.
Mover::Progress Mover::send_copy(Operation& operation,
                                 const Step& rest,
                                 const gmm::Target& to,
                                 const gmm::Target& from) {
  operation.piece_bytes = rest.size;
  operation.piece_remote = rest.remote;
  operation.piece_local = rest.local;
  const bool is_get = to.direct != nullptr;
  if (!is_get && from.direct != nullptr) {
    operation.piece_opcode = protocol::Opcode::kPut;
    return enqueue(operation, to.rank, space_.codec().color(rest.remote));
  }
  if (!is_get && is_relayed(rest, to, from)) {
    relay_.add(operation);
    return Progress::kPending;
  }
  if (is_get) {
    std::swap(operation.piece_remote, operation.piece_local);
  }
  operation.piece_opcode =
      is_get ? protocol::Opcode::kGet : protocol::Opcode::kCopy;
  return enqueue(operation, from.rank, space_.codec().color(rest.local));
}

/// Whether wires do both halves without the two ranks. Memory of one rank,
/// which may overlap, is moved by its owner.
bool Mover::is_relayed(const Step& copy,
                       const gmm::Target& to,
                       const gmm::Target& from) const {
  const auto& codec = space_.codec();
  return to.rank != from.rank && !(to.is_same_host && from.is_same_host) &&
         reaches(to, codec.color(copy.remote)) &&
         reaches(from, codec.color(copy.local));
}

bool Mover::reaches(const gmm::Target& target, Color color) const {
  const Result<Link> link = links_.link(target.rank, color);
  return link.ok() && (target.is_same_host || link.value().max_posted != 0);
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
  const gmm::TransferGuard hold(peer);
  if (!hold.is_live()) {
    return fail(operation, Status::kBadKey);
  }
  const Status status = link.value().endpoint->transfer(
      direction, {local, size}, peer.owner_address);
  if (status == Status::kUnsupported) {
    return Progress::kPending;
  }
  return status == Status::kOk ? Progress::kDone : fail(operation, status);
}

/// Two registered memories of other ranks of this host: through a buffer here.
/// At most kBounceBytes.
Mover::Progress Mover::copy_over_bounce(Operation& operation,
                                        const Step& slice,
                                        const gmm::Target& to,
                                        const gmm::Target& from) {
  if (!to.is_same_host || !from.is_same_host) {
    return Progress::kPending;
  }
  bounce_.resize(kBounceBytes);
  const Color color = space_.codec().color(slice.remote);
  const Progress progress = transfer(operation, transport::Direction::kGet,
                                     bounce_.data(), slice.size, from, color);
  return progress == Progress::kDone
             ? transfer(operation, transport::Direction::kPut, bounce_.data(),
                        slice.size, to, color)
             : progress;
}

/// A step of a chain, or an atomic.
Mover::Progress Mover::run_remote(Operation& operation, const Step& step) {
  const bool is_bulk = step.opcode == protocol::Opcode::kPut ||
                       step.opcode == protocol::Opcode::kGet;
  const std::uint64_t size = is_bulk ? step.size : step.width;
  if (operation.owes_signal) {
    return ring(operation, space_.codec().rank(step.remote));
  }
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
  if (is_direct_word(space_, step, remote.value())) {
    run_direct_word(space_, waker_, step, remote.value().direct);
    return Progress::kDone;
  }
  operation.piece_opcode = step.opcode;
  operation.piece_remote = step.remote;
  operation.piece_local = step.local;
  operation.piece_bytes = step.width;
  return enqueue(operation, remote.value().rank, color_of(step));
}

/// The signal of what a device has done.
Mover::Progress Mover::ring(Operation& operation, Rank rank) {
  if (protocol::SliceHeader* slice = space_.slice_header(rank)) {
    gmm::ring_signal(*slice, waker_);
    return Progress::kDone;
  }
  operation.piece_opcode = protocol::Opcode::kPut;
  return enqueue(operation, rank, 0);
}

bool is_direct_word(const gmm::AddressSpace& space,
                    const Step& step,
                    const gmm::Target& target) {
  return target.direct != nullptr && (space.has_cpu_atomics(step.width) ||
                                      step.opcode == protocol::Opcode::kPut8);
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
