// Fuzz target: any bytes as a bootstrap message. The decoder refuses them, or
// encoding the result again gives equal bytes. A roll-call that gets the
// message must keep a valid state.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "launcher/rollcall.h"
#include "protocol/bootstrap.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto message = acp::protocol::decode_bootstrap(bytes);
  if (!message) return 0;
  const auto again = acp::protocol::encode_bootstrap(*message);
  if (!std::equal(bytes.begin(), bytes.end(), again.begin(), again.end())) {
    std::abort();
  }
  acp::launcher::Rollcall rollcall(2);
  for (const std::uint32_t rank : {0U, 1U, 0U, 1U}) {
    (void)rollcall.on_message(rank, *message);
  }
  if (rollcall.state(0) > acp::launcher::RankState::kFinalized) std::abort();
  return 0;
}
