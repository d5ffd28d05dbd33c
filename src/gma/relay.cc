// Divides relayed copies into parts. The operation runner starts the parts and
// reports their ends; nothing here sends.
#include "gma/relay.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

namespace acp::gma {

Relay::Relay(const gmm::AddressSpace& space) : space_(space) {
  for (std::size_t i = kBuffers; i > 0; --i) {
    free_.push_back(i - 1);
  }
}

void Relay::add(Operation& copy) {
  ACP_ASSERT(std::holds_alternative<Relayed>(copy.flight));
  copy.has_unsent = true;
  waiting_.push_back(&copy);
}

/// Gives the next bytes of the oldest copy to a free buffer. The first step of
/// the part copies into the buffer, and the second copies out of it.
Operation& Relay::next_part() {
  const std::size_t index = free_.back();
  free_.pop_back();
  Operation& copy = *waiting_.front();
  auto& relayed = std::get<Relayed>(copy.flight);
  const std::uint64_t offset = relayed.begun_bytes;
  const std::uint64_t size = std::min(kBufferBytes, relayed.copy.size - offset);
  const Step piece = piece_of(relayed.copy, offset, size);
  relayed.begun_bytes += size;
  copy.has_unsent = relayed.begun_bytes < relayed.copy.size;
  ++copy.outstanding;
  if (!copy.has_unsent) {
    waiting_.pop_front();
  }
  Step in = piece;
  in.remote =
      space_.codec().encode(space_.my_rank(), 0, gmm::kModuleKey, 0,
                            protocol::kRuntimeWordBytes + index * kBufferBytes);
  Step out = piece;
  out.local = in.remote;
  Buffer& buffer = buffers_[index];
  buffer.copy = &copy;
  buffer.part.begin(Owner::kRelay, std::array{in, out});
  return buffer.part;
}

Operation* Relay::on_ended(Operation& part) {
  const auto buffer = std::ranges::find_if(
      buffers_, [&](const Buffer& each) { return &each.part == &part; });
  ACP_ASSERT(buffer != buffers_.end() && buffer->copy != nullptr);
  Operation& copy = *std::exchange(buffer->copy, nullptr);
  free_.push_back(static_cast<std::size_t>(buffer - buffers_.begin()));
  --copy.outstanding;
  if (part.status != Status::kOk && copy.status == Status::kOk) {
    copy.status = part.status;
    copy.failed_end =
        part.current == 0 ? CopyEnd::kSource : CopyEnd::kDestination;
    if (copy.has_unsent) {
      std::erase(waiting_, &copy);
      copy.has_unsent = false;
    }
  }
  return copy.outstanding == 0 && !copy.has_unsent ? &copy : nullptr;
}

}  // namespace acp::gma
