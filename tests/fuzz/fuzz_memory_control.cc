// Fuzz target: any bytes into the decoder of control frames. An accepted frame
// comes out again as it went in, and its registration does not wrap around.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "transport/registrations/control.h"

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace acp::transport;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto control = decode_control(bytes)) {
    const auto again = encode_control(*control);
    ACP_ASSERT(again.size() == size);
    ACP_ASSERT(decode_control(again) == control);
    ACP_ASSERT(control->offset + control->size >= control->offset);
    ACP_ASSERT(control->address + control->size >= control->address);
  }
  return 0;
}
