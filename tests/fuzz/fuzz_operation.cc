// Fuzz target: any bytes into the decoders of requests and replies. The sizes
// in an accepted message have to add up to its length.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "protocol/operation.h"

namespace {

using namespace acp::protocol;

void check_request(const RequestView& request,
                   std::span<const std::byte> bytes) {
  ACP_ASSERT(request.header.steps >= 1 && request.header.steps <= kMaxSteps);
  std::size_t data_bytes = 0;
  for (std::size_t i = 0; i < request.header.steps; ++i) {
    const Step step = request.step(i);
    ACP_ASSERT(step.opcode >= Opcode::kPut && step.opcode <= Opcode::kCopy);
    ACP_ASSERT(!is_atomic(step.opcode) || step.width == 4 || step.width == 8);
    data_bytes += request_bytes(step);
  }
  ACP_ASSERT(data_bytes == request.data.size());
  ACP_ASSERT(sizeof(RequestHeader) + request.step_bytes.size() + data_bytes ==
             bytes.size());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto type = message_type(bytes);
  const auto request = decode_request(bytes);
  const auto reply = decode_reply(bytes);
  const auto shared_ids = decode_shared_reply(bytes);
  ACP_ASSERT(!shared_ids || type == MessageType::kSharedReply);
  ACP_ASSERT(!request || type == MessageType::kRequest);
  ACP_ASSERT(!reply || type == MessageType::kReply);
  if (request) {
    check_request(*request, bytes);
  }
  if (reply) {
    ACP_ASSERT(reply->header.failed_step < kMaxSteps);
    ACP_ASSERT(sizeof(ReplyHeader) + reply->data.size() == bytes.size());
  }
  if (shared_ids) {
    ACP_ASSERT(shared_ids->size() >= 16 && shared_ids->size() % 8 == 0);
    ACP_ASSERT(shared_ids->data() + shared_ids->size() ==
               bytes.data() + bytes.size());
  }
  return 0;
}
