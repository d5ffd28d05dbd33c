// Encoding and decoding of the address card. Called by UcxTransport when it
// opens, and once for each peer. Bytes come from another process, so decoding
// trusts nothing.
#include "transport/ucx/address_card.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/little_endian.h"
#include "transport/card_head.h"

namespace acp::ucx {

namespace {

constexpr transport::CardHead kHead = {
    .magic = 0x43584355, .version = 2, .most_colors = kMaxColors};
constexpr std::size_t kHeaderBytes = 13;

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

/// Appends the text up to `limit` letters: texts only serve messages.
void append_text(std::vector<std::byte>& bytes,
                 const std::string& text,
                 std::size_t limit) {
  std::ranges::transform(
      text.substr(0, limit), std::back_inserter(bytes),
      [](char letter) { return static_cast<std::byte>(letter); });
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte letter : bytes) {
    text += std::to_integer<char>(letter);
  }
  return text;
}

/// Each address has its length in front, because UCX decides how long it is.
void append_address(std::vector<std::byte>& bytes,
                    const std::vector<std::byte>& address) {
  std::byte size[2];
  store_little(size, static_cast<std::uint16_t>(address.size()));
  bytes.insert(bytes.end(), size, size + 2);
  bytes.insert(bytes.end(), address.begin(), address.end());
}

/// Takes an address off the front; nothing when the bytes end before it does.
std::optional<std::vector<std::byte>> take_address(
    std::span<const std::byte>& bytes) {
  const auto size = take(bytes, 2);
  if (!size) {
    return std::nullopt;
  }
  const auto address = take(bytes, load_little<std::uint16_t>(size->data()));
  if (!address) {
    return std::nullopt;
  }
  return std::vector<std::byte>(address->begin(), address->end());
}

}  // namespace

const char* executor_name(Executor executor) noexcept {
  return executor == Executor::kDevice ? "device" : "cpu";
}

/// The lengths of the texts stand in the header.
std::vector<std::byte> encode_card(const AddressCard& card) {
  std::vector<std::byte> bytes(kHeaderBytes);
  transport::encode_card_head(
      kHead, static_cast<transport::Color>(card.addresses.size()),
      bytes.data());
  bytes[6] = static_cast<std::byte>(card.atomics);
  bytes[7] = static_cast<std::byte>(std::min(card.tls.size(), kMaxText));
  store_little(bytes.data() + 8, card.api);
  bytes[12] = static_cast<std::byte>(std::min(card.host.size(), kMaxHostName));
  append_text(bytes, card.tls, kMaxText);
  append_text(bytes, card.host, kMaxHostName);
  for (const WorkerAddresses& addresses : card.addresses) {
    append_address(bytes, addresses.all);
    append_address(bytes, addresses.network);
  }
  return bytes;
}

/// Bytes behind the last address are ignored: the address card lies in a room
/// of fixed size.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes) {
  const auto colors = transport::decode_card_head(kHead, bytes);
  const auto header = take(bytes, kHeaderBytes);
  if (!colors || !header) {
    return std::nullopt;
  }
  const auto atomics = static_cast<Executor>((*header)[6]);
  const auto text_bytes = std::to_integer<std::size_t>((*header)[7]);
  const auto host_bytes = std::to_integer<std::size_t>((*header)[12]);
  const auto text = take(bytes, text_bytes);
  const auto host = take(bytes, host_bytes);
  if (atomics > Executor::kDevice || text_bytes > kMaxText ||
      host_bytes > kMaxHostName || !text || !host) {
    return std::nullopt;
  }
  AddressCard card{.atomics = atomics,
                   .api = load_little<std::uint32_t>(header->data() + 8),
                   .tls = text_of(*text),
                   .host = text_of(*host)};
  for (transport::Color color = 0; color < *colors; ++color) {
    auto all = take_address(bytes);
    auto network = take_address(bytes);
    if (!all || all->empty() || !network) {
      return std::nullopt;
    }
    card.addresses.push_back({std::move(*all), std::move(*network)});
  }
  return card;
}

}  // namespace acp::ucx
