// Encoding and decoding of address cards. VerbsTransport encodes its own
// address card once, and decodes that of each peer. Bytes come from other
// processes, so decoding trusts nothing and allocates nothing.
#include "verbs/address_card.h"

#include "base/assert.h"
#include "base/little_endian.h"

namespace acp::verbs {

namespace {

constexpr std::uint32_t kMagic = 0x43425256;
constexpr std::uint8_t kCardVersion = 5;

}  // namespace

const char* executor_name(Executor executor) noexcept {
  return executor == Executor::kDevice ? "device" : "agent";
}

const char* write_order_name(WriteOrder writes) noexcept {
  switch (writes) {
    case WriteOrder::kOrdered: return "ordered";
    case WriteOrder::kUnordered: return "unordered";
    case WriteOrder::kRelaxed: return "relaxed";
  }
  return "";
}

std::size_t encode_card(const AddressCard& card,
                        std::span<std::byte, kMaxCardBytes> bytes) {
  ACP_ASSERT(card.colors >= 1 && card.colors <= kMaxColors);
  store_little(bytes.data(), kMagic);
  bytes[4] = std::byte{kCardVersion};
  bytes[5] = static_cast<std::byte>(card.colors);
  store_little(bytes.data() + 6, card.packet_bytes);
  bytes[8] = static_cast<std::byte>(card.atomics);
  bytes[9] = static_cast<std::byte>(card.writes);
  store_little(bytes.data() + 10, std::uint16_t{0});
  std::byte* at = bytes.data() + kCardHeaderBytes;
  for (transport::Color color = 0; color < card.colors; ++color) {
    transport::encode_address(card.listen_addresses[color], at);
    at += kCardColorBytes;
  }
  return static_cast<std::size_t>(at - bytes.data());
}

/// Checks all fields: the bytes come from another process.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes) {
  if (bytes.size() < kCardHeaderBytes ||
      load_little<std::uint32_t>(bytes.data()) != kMagic ||
      bytes[4] != std::byte{kCardVersion}) {
    return std::nullopt;
  }
  AddressCard card;
  card.colors = static_cast<transport::Color>(bytes[5]);
  card.packet_bytes = load_little<std::uint16_t>(bytes.data() + 6);
  card.atomics = static_cast<Executor>(bytes[8]);
  card.writes = static_cast<WriteOrder>(bytes[9]);
  if (card.atomics > Executor::kBoth || card.writes > WriteOrder::kRelaxed ||
      load_little<std::uint16_t>(bytes.data() + 10) != 0 || card.colors < 1 ||
      card.colors > kMaxColors ||
      bytes.size() < kCardHeaderBytes + card.colors * kCardColorBytes) {
    return std::nullopt;
  }
  for (transport::Color color = 0; color < card.colors; ++color) {
    const std::byte* at =
        bytes.data() + kCardHeaderBytes + color * kCardColorBytes;
    const auto address = transport::decode_address(at);
    if (!address) {
      return std::nullopt;
    }
    card.listen_addresses[color] = *address;
  }
  return card;
}

}  // namespace acp::verbs
