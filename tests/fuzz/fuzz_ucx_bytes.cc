// Fuzz target: any bytes into the decoders of the UCX transport. An accepted
// message has to keep the limits of its format, and comes out again as it went
// in.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "transport/ucx/address_card.h"
#include "transport/ucx/packet.h"

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace acp::ucx;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto card = decode_card(bytes)) {
    ACP_ASSERT(
        !card->addresses.empty() && card->addresses.size() <= kMaxColors &&
        card->tls.size() <= kMaxText && card->host.size() <= kMaxHostName);
    ACP_ASSERT(decode_card(encode_card(*card)) == card);
  }
  if (decode_packet(bytes)) {
    std::size_t total = kPacketHeaderBytes;
    for_each_frame(bytes, [&](FrameKind, std::span<const std::byte> frame) {
      total += kFrameHeaderBytes + frame.size();
      return true;
    });
    ACP_ASSERT(total == size);
  }
  return 0;
}
