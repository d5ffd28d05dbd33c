// Fuzz target: any bytes into the decoders of the udp transport. An accepted
// packet or address card has to keep the limits of its format.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "udp/address_card.h"
#include "udp/packet.h"

namespace {

void walk_messages(std::span<const std::byte> payload) {
  std::size_t bytes = 0;
  while (!payload.empty()) {
    const auto message = acp::udp::take_message(payload);
    bytes += message.size() + acp::udp::kMessagePrefixBytes;
    ACP_ASSERT(bytes <= UINT16_MAX);
  }
}

void decode_as_packet(std::span<const std::byte> bytes) {
  const auto packet = acp::udp::decode_packet(bytes);
  if (!packet) {
    return;
  }
  const bool has_sack = (packet->header.flags & acp::udp::kFlagSack) != 0;
  ACP_ASSERT(acp::udp::kMinPacketBytes + (has_sack ? acp::udp::kSackBytes : 0) +
                 packet->payload.size() ==
             bytes.size());
  ACP_ASSERT(packet->header.txno >= 1 &&
             packet->header.txno <= acp::udp::kMaxTxno);
  if (acp::udp::has_whole_messages(packet->payload)) {
    walk_messages(packet->payload);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  decode_as_packet(bytes);
  if (const auto card = acp::udp::decode_card(bytes)) {
    ACP_ASSERT(card->colors >= 1 && card->colors <= acp::udp::kMaxColors);
  }
  return 0;
}
