// Fuzz target: any bytes into the decoders of the verbs transport. An accepted
// message has to keep the limits of its format.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "base/little_endian.h"
#include "verbs/address_card.h"
#include "verbs/credit.h"
#include "verbs/hello.h"
#include "verbs/packet.h"

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto card = acp::verbs::decode_card(bytes)) {
    ACP_ASSERT(card->colors >= 1 && card->colors <= acp::verbs::kMaxColors);
  }
  if (const auto hello = acp::verbs::decode_hello(bytes)) {
    ACP_ASSERT(acp::verbs::decode_hello(acp::verbs::encode_hello(*hello)) ==
               hello);
  }
  if (const auto refusal = acp::verbs::decode_refusal(bytes)) {
    ACP_ASSERT(acp::verbs::decode_refusal(
                   acp::verbs::encode_refusal(*refusal)) == refusal);
  }
  if (size >= sizeof(std::uint32_t)) {
    const auto bits = acp::load_little<std::uint32_t>(bytes.data());
    if (const auto credit = acp::verbs::decode_credit(bits)) {
      ACP_ASSERT(acp::verbs::encode_credit(*credit) == bits);
    }
  }
  std::span<const std::byte> packet = bytes;
  while (!packet.empty()) {
    const std::size_t before = packet.size();
    const auto frame = acp::verbs::take_frame(packet);
    if (!frame) {
      break;
    }
    ACP_ASSERT(packet.size() + frame->bytes.size() +
                   acp::verbs::kFrameHeaderBytes ==
               before);
  }
  return 0;
}
