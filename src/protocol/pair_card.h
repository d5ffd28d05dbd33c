// The room for address cards in a job that may use two networks. Read by
// host_segment.cc, which makes the room, and by runtime/card_parts.h, which
// divides it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/host_segment.h"

namespace acp::protocol {

/// Two short address cards.
inline constexpr std::size_t kPairCardBytes = 2 * kShortCardBytes;
/// Most processes of a job whose hosts have so much room for each. The tables
/// of a host take 92 bytes then for each process of the job (docs/scale.md).
inline constexpr std::uint32_t kMostPairCards = 1 << 19;

}  // namespace acp::protocol
