// Reads and writes the host segment for the networks. Their open functions
// publish address cards by it, and udp, verbs and ucx read a peer's address
// card at first contact. udp also asks for the peer of this rank's wait.
// Nothing here waits for a peer; an address card may come from the launcher.
#include "transport/network.h"

#include <algorithm>

#include "base/log.h"

namespace acp::transport {

Result<std::span<const std::byte>> NetworkContext::card_of(ProcId peer) const {
  if (segment.has_card(peer)) {
    return part.of(std::span<const std::byte>(segment.card(peer)));
  }
  const auto card = ask_for_card(peer);
  return card.ok() ? part.of(*card) : card;
}

Status NetworkContext::publish_card(std::span<const std::byte> card) const {
  const std::span<std::byte> room = part.of(segment.card(proc));
  if (card.size() > room.size()) {
    log_error(
        "the network addresses of this process take {} bytes, and the job has "
        "{} for them: give all ranks and acprun equal settings, or choose "
        "fewer devices",
        card.size(), room.size());
    return Status::kTooLarge;
  }
  const auto rest = std::ranges::copy(card, room.begin()).out;
  std::fill(rest, room.end(), std::byte{0});  // may be of another network
  return Status::kOk;
}

/// The answer is a guess: the wait may change while its words are read. Waits
/// that the launcher ends answer kNobody.
WaitedFor waited_for(const NetworkContext& context) {
  using protocol::WaitKind;
  const protocol::HostSegment& segment = context.segment;
  const protocol::ProcRecord& mine =
      segment.record(segment.slot_of_proc(context.proc));
  const auto kind =
      static_cast<WaitKind>(mine.wait_kind.load(std::memory_order_relaxed));
  if (kind != WaitKind::kSync && kind != WaitKind::kComplete &&
      kind != WaitKind::kWord && kind != WaitKind::kCondition) {
    return {};
  }
  const std::uint32_t rank = mine.wait_peer.load(std::memory_order_relaxed);
  if (rank >= segment.header().procs) {
    return {WaitedFor::Whom::kAnybody, 0};
  }
  const ProcId peer =
      segment.proc_of_rank()[rank].load(std::memory_order_relaxed);
  const auto group_of = [&segment](ProcId proc) {
    return segment.published(proc).leader.load(std::memory_order_relaxed);
  };
  // The network never speaks to a peer that shares this rank's memory, or that
  // another network leads to. That peer may itself wait for one that the
  // network does speak to.
  const bool is_reached = !context.reaches || context.reaches(peer);
  if (peer != context.proc &&
      (!is_reached || group_of(peer) == group_of(context.proc))) {
    return {WaitedFor::Whom::kAnybody, 0};
  }
  return {WaitedFor::Whom::kPeer, peer};
}

}  // namespace acp::transport
