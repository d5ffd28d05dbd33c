// How address cards are divided where a process may use RDMA devices to some
// processes and udp to others. Written by network_choice.cc, and read by
// TransportSet when it looks for the way to a process. Little-endian:
//
//   offset 0          address card of the RDMA devices
//          room - 40  address card of udp, kShortCardBytes
//          room - 8   u32 fabric: a Proposal; kNoRdma: this process uses udp
//                     alone
//          room - 4   4 B zero
//
// Where all processes use one network, its address card begins at offset 0.
#pragma once

#include "base/little_endian.h"
#include "protocol/host_segment.h"
#include "protocol/pair_card.h"
#include "runtime/proposals.h"
#include "transport/network.h"

namespace acp::runtime {

/// Whether an address card has room for two networks. Equal on all hosts.
inline bool has_card_parts(const protocol::HostSegment& segment) noexcept {
  return segment.header().card_bytes >= protocol::kPairCardBytes;
}

/// The part for RDMA devices: all of the address card where it has no parts.
inline transport::CardPart rdma_part(
    const protocol::HostSegment& segment) noexcept {
  const std::size_t room = segment.header().card_bytes;
  return {
      0, has_card_parts(segment) ? room - 8 - protocol::kShortCardBytes : room};
}

/// Precondition, also for the functions below: the address cards have parts.
inline transport::CardPart udp_part(
    const protocol::HostSegment& segment) noexcept {
  return {rdma_part(segment).bytes, protocol::kShortCardBytes};
}

inline std::byte* fabric_place(const protocol::HostSegment& segment,
                               std::uint32_t proc) noexcept {
  return segment.card(proc).data() + segment.header().card_bytes - 8;
}

/// Before Phase::kInit, by the process itself.
inline void publish_fabric(const protocol::HostSegment& segment,
                           std::uint32_t proc,
                           Proposal fabric) noexcept {
  store_little(fabric_place(segment, proc), fabric);
}

/// Whether two processes reach each other by RDMA devices. After Phase::kInit.
inline bool share_fabric(const protocol::HostSegment& segment,
                         std::uint32_t one,
                         std::uint32_t other) noexcept {
  const auto fabric = load_little<Proposal>(fabric_place(segment, one));
  return fabric != kNoRdma &&
         fabric == load_little<Proposal>(fabric_place(segment, other));
}

}  // namespace acp::runtime
