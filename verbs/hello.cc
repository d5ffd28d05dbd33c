// Encoding and decoding of connect requests and refusals. Called by Endpoint
// and by VerbsTransport. Bytes may come from strangers, so decoding trusts
// nothing.
#include "verbs/hello.h"

#include <cstring>

#include "base/little_endian.h"

namespace acp::verbs {

namespace {

constexpr std::uint32_t kHelloMagic = 0x56504341;
constexpr std::uint32_t kRefusalMagic = 0x4e504341;
constexpr std::uint8_t kHelloVersion = 4;

}  // namespace

std::array<std::byte, kHelloBytes> encode_hello(const Hello& hello) {
  std::array<std::byte, kHelloBytes> bytes{};
  store_little(bytes.data(), kHelloMagic);
  bytes[4] = std::byte{kHelloVersion};
  bytes[5] = static_cast<std::byte>(hello.color);
  store_little(bytes.data() + 6, hello.packet_bytes);
  store_little(bytes.data() + 8, hello.source);
  store_little(bytes.data() + 12, hello.destination);
  store_little(bytes.data() + 16, hello.window);
  store_little(bytes.data() + 20, static_cast<std::uint32_t>(hello.pair));
  std::memcpy(bytes.data() + 24, hello.job.data(), hello.job.size());
  return bytes;
}

std::array<std::byte, kRefusalBytes> encode_refusal(Refusal refusal) {
  std::array<std::byte, kRefusalBytes> bytes{};
  store_little(bytes.data(), kRefusalMagic);
  bytes[4] = static_cast<std::byte>(refusal);
  return bytes;
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
  if (bytes.size() < kHelloBytes ||
      load_little<std::uint32_t>(bytes.data()) != kHelloMagic ||
      bytes[4] != std::byte{kHelloVersion} ||
      load_little<std::uint32_t>(bytes.data() + 20) >
          static_cast<std::uint32_t>(PairKind::kGrown)) {
    return std::nullopt;
  }
  Hello hello;
  hello.color = static_cast<transport::Color>(bytes[5]);
  hello.packet_bytes = load_little<std::uint16_t>(bytes.data() + 6);
  hello.source = load_little<std::uint32_t>(bytes.data() + 8);
  hello.destination = load_little<std::uint32_t>(bytes.data() + 12);
  hello.window = load_little<std::uint32_t>(bytes.data() + 16);
  hello.pair =
      static_cast<PairKind>(load_little<std::uint32_t>(bytes.data() + 20));
  std::memcpy(hello.job.data(), bytes.data() + 24, hello.job.size());
  return hello;
}

std::optional<Refusal> decode_refusal(std::span<const std::byte> bytes) {
  if (bytes.size() < kRefusalBytes ||
      load_little<std::uint32_t>(bytes.data()) != kRefusalMagic) {
    return std::nullopt;
  }
  const auto refusal = static_cast<Refusal>(bytes[4]);
  return refusal == Refusal::kCrossed || refusal == Refusal::kGone ||
                 refusal == Refusal::kStaySmall
             ? std::optional(refusal)
             : std::nullopt;
}

}  // namespace acp::verbs
