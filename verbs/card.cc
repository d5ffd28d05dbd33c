#include "verbs/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/little_endian.h"

namespace acp::verbs {

namespace {

constexpr std::uint32_t kMagic = 0x43425256;
constexpr std::uint8_t kCardVersion = 3;

using transport::Family;

std::optional<Place> decode_place(const std::byte* at) {
  Place place;
  transport::Address& address = place.address;
  address.family = static_cast<Family>(at[0]);
  address.port = load_little<std::uint16_t>(at + 2);
  std::memcpy(address.bytes.data(), at + 4, address.bytes.size());
  std::memcpy(place.gid.data(), at + 20, place.gid.size());
  const bool is_v4 = address.family == Family::kIpv4;
  const bool has_tail =
      std::any_of(address.bytes.begin() + 4, address.bytes.end(),
                  [](std::uint8_t byte) { return byte != 0; });
  if ((!is_v4 && address.family != Family::kIpv6) || (is_v4 && has_tail) ||
      at[1] != std::byte{0} || address.port == 0) {
    return std::nullopt;
  }
  return place;
}

}  // namespace

std::string format_gid(const Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < gid.size(); i += 2) {
    text +=
        fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid[i], gid[i + 1]);
  }
  return text;
}

const char* executor_name(Executor executor) noexcept {
  return executor == Executor::kDevice ? "device" : "agent";
}

std::size_t encode_card(const Card& card,
                        std::span<std::byte, kMaxCardBytes> bytes) {
  ACP_ASSERT(card.colors >= 1 && card.colors <= kMaxColors);
  store_little(bytes.data(), kMagic);
  bytes[4] = std::byte{kCardVersion};
  bytes[5] = static_cast<std::byte>(card.colors);
  store_little(bytes.data() + 6, card.packet_bytes);
  store_little(bytes.data() + 8, static_cast<std::uint32_t>(card.atomics));
  std::byte* at = bytes.data() + kCardHeaderBytes;
  for (transport::Color color = 0; color < card.colors; ++color) {
    const Place& place = card.places[color];
    at[0] = static_cast<std::byte>(place.address.family);
    at[1] = std::byte{0};
    store_little(at + 2, place.address.port);
    std::memcpy(at + 4, place.address.bytes.data(), place.address.bytes.size());
    std::memcpy(at + 20, place.gid.data(), place.gid.size());
    at += kCardColorBytes;
  }
  return static_cast<std::size_t>(at - bytes.data());
}

std::optional<Card> decode_card(std::span<const std::byte> bytes) {
  if (bytes.size() < kCardHeaderBytes ||
      load_little<std::uint32_t>(bytes.data()) != kMagic ||
      bytes[4] != std::byte{kCardVersion}) {
    return std::nullopt;
  }
  Card card;
  card.colors = static_cast<transport::Color>(bytes[5]);
  card.packet_bytes = load_little<std::uint16_t>(bytes.data() + 6);
  const auto atomics = load_little<std::uint32_t>(bytes.data() + 8);
  card.atomics = static_cast<Executor>(atomics);
  if (atomics > static_cast<std::uint32_t>(Executor::kDevice) ||
      card.colors < 1 || card.colors > kMaxColors ||
      bytes.size() < kCardHeaderBytes + card.colors * kCardColorBytes) {
    return std::nullopt;
  }
  for (transport::Color color = 0; color < card.colors; ++color) {
    const auto place =
        decode_place(bytes.data() + kCardHeaderBytes + color * kCardColorBytes);
    if (!place) {
      return std::nullopt;
    }
    card.places[color] = *place;
  }
  return card;
}

}  // namespace acp::verbs
