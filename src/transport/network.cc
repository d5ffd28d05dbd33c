// Reads and writes the host segment for networks that are being opened.
#include "transport/network.h"

#include <algorithm>

namespace acp::transport {

void NetworkContext::publish_card(std::span<const std::byte> card) const {
  std::ranges::copy(card, segment.card(proc).begin());
}

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
  return {WaitedFor::Whom::kPeer,
          segment.proc_of_rank()[rank].load(std::memory_order_relaxed)};
}

}  // namespace acp::transport
