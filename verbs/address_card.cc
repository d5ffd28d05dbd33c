// Encoding and decoding of address cards. VerbsTransport encodes its own
// address card once, and decodes that of each peer. Bytes come from other
// processes, so decoding trusts nothing and allocates nothing.
#include "verbs/address_card.h"

#include "base/little_endian.h"
#include "transport/card_head.h"

namespace acp::verbs {

namespace {

constexpr transport::CardHead kHead = {
    .magic = 0x43425256, .version = 5, .most_colors = kMaxColors};

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
  transport::encode_card_head(kHead, card.colors, bytes.data());
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
  const auto colors = transport::decode_card_head(kHead, bytes);
  if (!colors || bytes.size() < kCardHeaderBytes + *colors * kCardColorBytes) {
    return std::nullopt;
  }
  AddressCard card;
  card.colors = *colors;
  card.packet_bytes = load_little<std::uint16_t>(bytes.data() + 6);
  card.atomics = static_cast<Executor>(bytes[8]);
  card.writes = static_cast<WriteOrder>(bytes[9]);
  if (card.atomics > Executor::kBoth || card.writes > WriteOrder::kRelaxed ||
      load_little<std::uint16_t>(bytes.data() + 10) != 0) {
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
