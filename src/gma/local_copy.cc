// Copies by the CPU or by the kernel in this process. The operation runner
// calls it portion by portion; nothing here sends a message.
#include "gma/local_copy.h"

#include <algorithm>

#include "gmm/cross_copy_guard.h"
#include "gmm/memory_ops.h"
#include "gmm/touch.h"

namespace acp::gma {

namespace {

/// The buffer for copies between two other processes, whose bytes the kernel
/// copies twice. It stays in the second-level cache between the two calls. A
/// smaller one needs more system calls, and a larger one falls out of the
/// cache.
constexpr std::uint64_t kBounceBytes = 64 << 10;

/// Bytes of one portion: the mutex is held for about 0.1 ms.
constexpr std::uint64_t kPortionBytes = 1 << 20;

/// Compares the owner's addresses: two keys or colors may name one memory.
bool is_backward(const gmm::Target& to, const gmm::Target& from) noexcept {
  return to.direct != nullptr || from.direct != nullptr
             ? to.direct > from.direct
             : to.rank == from.rank && to.owner_address > from.owner_address;
}

}  // namespace

gmm::Target advanced(gmm::Target target, std::uint64_t offset) noexcept {
  if (target.direct != nullptr) {
    target.direct += offset;
  }
  target.owner_address += offset;
  return target;
}

LocalCopier::Plan LocalCopier::plan(std::uint64_t size,
                                    std::uint64_t copied_bytes,
                                    const gmm::Target& to,
                                    const gmm::Target& from) noexcept {
  const bool is_through_bounce = to.direct == nullptr && from.direct == nullptr;
  const bool is_from_end = is_backward(to, from);
  Plan plan;
  plan.rest_bytes = size - copied_bytes;
  plan.rest_offset = is_from_end ? 0 : copied_bytes;
  plan.portion_bytes = std::min(
      plan.rest_bytes, is_through_bounce ? kBounceBytes : kPortionBytes);
  plan.portion_offset =
      plan.rest_offset +
      (is_from_end ? plan.rest_bytes - plan.portion_bytes : 0);
  return plan;
}

/// A local copy first asks whether both ends are still mapped: a peer may have
/// asked for it, and a fault would end this process. Cross-memory copies report
/// that as an error by themselves.
Status LocalCopier::copy(Way way,
                         const Step& portion,
                         const gmm::Target& to,
                         const gmm::Target& from) {
  const auto& codec = space_.codec();
  switch (way) {
    case Way::kLocal:
      if (!gmm::can_touch(space_, portion.remote, to.direct, portion.size,
                          Access::kWrite) ||
          !gmm::can_touch(space_, portion.local, from.direct, portion.size,
                          Access::kRead)) {
        return Status::kBadAddress;
      }
      gmm::copy_bytes(to.direct, from.direct, portion.size);
      return Status::kOk;
    case Way::kCrossGet:
      return cross_copy(transport::Direction::kGet, to.direct, portion.size,
                        from, codec.color(portion.local));
    case Way::kCrossPut:
      return cross_copy(transport::Direction::kPut, from.direct, portion.size,
                        to, codec.color(portion.remote));
    case Way::kBounce: return bounce(portion, to, from);
    default: return Status::kUnsupported;
  }
}

Status LocalCopier::cross_copy(transport::Direction direction,
                               std::byte* local,
                               std::uint64_t size,
                               const gmm::Target& peer,
                               Color color) {
  const Result<PeerEndpoint> found = endpoints_.endpoint_of(peer.rank, color);
  if (!found.ok()) {
    return found.status();
  }
  const gmm::CrossCopyGuard guard(peer);
  if (!guard.is_live()) {
    return Status::kBadKey;
  }
  return found.value().endpoint->copy_cross_memory(direction, {local, size},
                                                   peer.owner_address);
}

/// Copies at most kBounceBytes, which plan() sees to.
Status LocalCopier::bounce(const Step& portion,
                           const gmm::Target& to,
                           const gmm::Target& from) {
  bounce_.resize(kBounceBytes);
  const Color color = space_.codec().color(portion.remote);
  const Status status = cross_copy(transport::Direction::kGet, bounce_.data(),
                                   portion.size, from, color);
  return status == Status::kOk
             ? cross_copy(transport::Direction::kPut, bounce_.data(),
                          portion.size, to, color)
             : status;
}

}  // namespace acp::gma
