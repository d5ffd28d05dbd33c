// Encoding and decoding of the address card. Bytes come from another process,
// so decoding trusts nothing.
#include "transport/ucx/address_card.h"

#include <algorithm>

#include "base/little_endian.h"

namespace acp::ucx {

namespace {

constexpr std::uint32_t kMagic = 0x43584355;  // "UCXC"
constexpr std::uint8_t kCardVersion = 1;
constexpr std::size_t kHeaderBytes = 12;

/// Takes `size` bytes off the front; nothing when there are fewer.
std::optional<std::span<const std::byte>> take(
    std::span<const std::byte>& bytes, std::size_t size) {
  if (bytes.size() < size) {
    return std::nullopt;
  }
  const auto taken = bytes.first(size);
  bytes = bytes.subspan(size);
  return taken;
}

}  // namespace

const char* executor_name(Executor executor) noexcept {
  return executor == Executor::kDevice ? "device" : "cpu";
}

/// The lengths stand in the header, and each worker address has its own in
/// front, because UCX decides how long it is. A longer text about transports is
/// cut: it only serves a message.
std::vector<std::byte> encode_card(const AddressCard& card) {
  const std::size_t text = std::min(card.tls.size(), kMaxText);
  std::vector<std::byte> bytes(kHeaderBytes + text);
  store_little(bytes.data(), kMagic);
  bytes[4] = std::byte{kCardVersion};
  bytes[5] = static_cast<std::byte>(card.addresses.size());
  bytes[6] = static_cast<std::byte>(card.atomics);
  bytes[7] = static_cast<std::byte>(text);
  store_little(bytes.data() + 8, card.api);
  std::ranges::transform(
      card.tls.substr(0, text), bytes.begin() + kHeaderBytes,
      [](char letter) { return static_cast<std::byte>(letter); });
  for (const auto& address : card.addresses) {
    std::byte size[2];
    store_little(size, static_cast<std::uint16_t>(address.size()));
    bytes.insert(bytes.end(), size, size + 2);
    bytes.insert(bytes.end(), address.begin(), address.end());
  }
  return bytes;
}

/// Bytes behind the last address are ignored: the address card lies in a room
/// of fixed size. An address card of zeros, which a process without ucx leaves
/// there, fails at the magic number.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes) {
  const auto header = take(bytes, kHeaderBytes);
  if (!header || load_little<std::uint32_t>(header->data()) != kMagic ||
      (*header)[4] != std::byte{kCardVersion}) {
    return std::nullopt;
  }
  const auto colors = std::to_integer<std::size_t>((*header)[5]);
  const auto atomics = static_cast<Executor>((*header)[6]);
  const auto text_bytes = std::to_integer<std::size_t>((*header)[7]);
  const auto text = take(bytes, text_bytes);
  if (colors == 0 || colors > kMaxColors || atomics > Executor::kDevice ||
      text_bytes > kMaxText || !text) {
    return std::nullopt;
  }
  AddressCard card;
  card.atomics = atomics;
  card.api = load_little<std::uint32_t>(header->data() + 8);
  for (const std::byte letter : *text) {
    card.tls += std::to_integer<char>(letter);
  }
  for (std::size_t color = 0; color < colors; ++color) {
    const auto size = take(bytes, 2);
    if (!size) {
      return std::nullopt;
    }
    const auto address = take(bytes, load_little<std::uint16_t>(size->data()));
    if (!address || address->empty()) {
      return std::nullopt;
    }
    card.addresses.emplace_back(address->begin(), address->end());
  }
  return card;
}

}  // namespace acp::ucx
