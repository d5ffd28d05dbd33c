// Encodes and decodes bootstrap messages; bootstrap.h has the layout. Ranks
// (src/runtime) and acprun (launcher) call it. It does no input or output.
#include "protocol/bootstrap.h"

#include <algorithm>
#include <cstring>

namespace acp::protocol {

namespace {

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t type;
  std::uint64_t value;
  std::uint32_t size;
  std::uint32_t zero;
};

static_assert(sizeof(Header) == kBootstrapHeaderBytes);

}  // namespace

/// The bytes may come from any process of the user, so every field is checked
/// before any is used.
std::optional<BootstrapMessage> decode_bootstrap(
    std::span<const std::byte> bytes) {
  Header header{};
  if (bytes.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<const std::byte> text = bytes.subspan(sizeof header);
  const bool is_known =
      header.type >= static_cast<std::uint16_t>(BootstrapType::kHello) &&
      header.type <= static_cast<std::uint16_t>(BootstrapType::kAddress);
  if (header.magic != kBootstrapMagic || header.version != kBootstrapVersion ||
      !is_known || header.zero != 0 || header.size != text.size() ||
      header.size > kBootstrapMaxText) {
    return std::nullopt;
  }
  BootstrapMessage message;
  message.type = static_cast<BootstrapType>(header.type);
  message.value = header.value;
  message.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return message;
}

std::vector<std::byte> encode_bootstrap(const BootstrapMessage& message) {
  Header header{};
  header.magic = kBootstrapMagic;
  header.version = kBootstrapVersion;
  header.type = static_cast<std::uint16_t>(message.type);
  header.value = message.value;
  header.size = static_cast<std::uint32_t>(
      std::min(message.text.size(), kBootstrapMaxText));
  std::vector<std::byte> bytes(sizeof header + header.size);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, message.text.data(), header.size);
  return bytes;
}

}  // namespace acp::protocol
