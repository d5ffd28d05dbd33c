// Encoding and decoding of address cards. UdpTransport encodes its own address
// card once, and decodes that of each peer. Bytes come from other processes, so
// decoding trusts nothing and allocates nothing.
#include "udp/address_card.h"

#include "base/little_endian.h"
#include "transport/card_head.h"

namespace acp::udp {

namespace {

constexpr transport::CardHead kHead = {
    .magic = 0x43504455, .version = 3, .most_colors = kMaxColors};

}  // namespace

std::size_t encode_card(const AddressCard& card,
                        std::span<std::byte, kMaxCardBytes> bytes) {
  transport::encode_card_head(kHead, card.colors, bytes.data());
  store_little(bytes.data() + 6, card.datagram_bytes);
  bytes[8] = static_cast<std::byte>(card.security);
  bytes[9] = std::byte{card.has_aes};
  std::byte* at = bytes.data() + kCardHeaderBytes;
  for (transport::Color color = 0; color < card.colors; ++color) {
    transport::encode_address(card.addresses[color], at);
    store_little(at + transport::kAddressBytes, card.send_ports[color]);
    at += kCardColorBytes;
  }
  return static_cast<std::size_t>(at - bytes.data());
}

/// Checks all fields: the bytes come from another process.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes) {
  const auto colors = transport::decode_card_head(kHead, bytes);
  if (!colors || bytes.size() < kCardHeaderBytes + *colors * kCardColorBytes) {
    return std::nullopt;
  }
  AddressCard card;
  card.colors = *colors;
  card.datagram_bytes = load_little<std::uint16_t>(bytes.data() + 6);
  card.security = static_cast<Security>(bytes[8]);
  card.has_aes = bytes[9] == std::byte{1};
  if (card.security > Security::kEncrypt || bytes[9] > std::byte{1} ||
      card.datagram_bytes < kLeastDatagramBytes) {
    return std::nullopt;
  }
  for (transport::Color color = 0; color < card.colors; ++color) {
    const std::byte* at =
        bytes.data() + kCardHeaderBytes + color * kCardColorBytes;
    const auto address = transport::decode_address(at);
    const auto send_port =
        load_little<std::uint16_t>(at + transport::kAddressBytes);
    if (!address || send_port == 0) {
      return std::nullopt;
    }
    card.addresses[color] = *address;
    card.send_ports[color] = send_port;
  }
  return card;
}

}  // namespace acp::udp
