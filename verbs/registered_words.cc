// Makes the registered words of a device, from one packet buffer. Called by
// Device when it is opened, and when atomics or proofs need words. It may not
// grow later: steps wait until a word is free.
#include "verbs/registered_words.h"

namespace acp::verbs {

Status RegisteredWords::make() {
  if (memory_.size() != 0) {
    return Status::kOk;
  }
  if (const Status status = memory_.grow(1); status != Status::kOk) {
    return status;
  }
  const Buffer& buffer = *memory_.acquire();
  auto* words = reinterpret_cast<std::uint64_t*>(buffer.data);
  constexpr std::size_t kCount = kPacketBytes / sizeof(std::uint64_t);
  free_.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    release({words + i, buffer.lkey});
  }
  return Status::kOk;
}

}  // namespace acp::verbs
