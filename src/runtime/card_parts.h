// How address cards are divided where a process may use RDMA devices to some
// processes and udp to others. Read by network_choice.cc.
//
//   offset 0          address card of the RDMA devices
//          room - 32  address card of udp, kShortCardBytes
//
// Where all processes use one network, its address card begins at offset 0.
#pragma once

#include "protocol/host_segment.h"
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
  return {0, has_card_parts(segment) ? room - protocol::kShortCardBytes : room};
}

/// Precondition: the address cards have parts.
inline transport::CardPart udp_part(
    const protocol::HostSegment& segment) noexcept {
  return {rdma_part(segment).bytes, protocol::kShortCardBytes};
}

}  // namespace acp::runtime
