#include "gma/relay.h"

#include <algorithm>
#include <utility>

namespace acp::gma {

Relay::Relay(const gmm::AddressSpace& space) : space_(space) {
  for (std::size_t i = kSlots; i > 0; --i) {
    free_.push_back(i - 1);
  }
}

void Relay::add(Operation& copy) {
  copy.sent_bytes = 0;
  copy.has_unsent = true;
  waiting_.push_back(&copy);
}

Operation& Relay::next_part() {
  const std::size_t index = free_.back();
  free_.pop_back();
  Operation& copy = *waiting_.front();
  const std::uint64_t offset = copy.sent_bytes;
  const std::uint64_t size = std::min(kSlotBytes, copy.piece_bytes - offset);
  copy.sent_bytes += size;
  copy.has_unsent = copy.sent_bytes < copy.piece_bytes;
  ++copy.outstanding;
  if (!copy.has_unsent) {
    waiting_.pop_front();
  }
  Step in;
  in.remote =
      space_.codec().encode(space_.my_rank(), 0, gmm::kModuleKey, 0,
                            protocol::kRuntimeWordBytes + index * kSlotBytes);
  in.local = copy.piece_local + offset;
  in.size = size;
  Step out = in;
  out.remote = copy.piece_remote + offset;
  out.local = in.remote;
  Slot& slot = slots_[index];
  slot.copy = &copy;
  slot.part.owner = Owner::kRelay;
  slot.part.steps = {in, out};
  return slot.part;
}

Operation* Relay::on_ended(Operation& part) {
  const auto slot = std::ranges::find_if(
      slots_, [&](const Slot& each) { return &each.part == &part; });
  ACP_ASSERT(slot != slots_.end() && slot->copy != nullptr);
  Operation& copy = *std::exchange(slot->copy, nullptr);
  free_.push_back(static_cast<std::size_t>(slot - slots_.begin()));
  --copy.outstanding;
  if (part.status != Status::kOk && copy.status == Status::kOk) {
    copy.status = part.status;
    if (copy.has_unsent) {
      std::erase(waiting_, &copy);
      copy.has_unsent = false;
    }
  }
  return copy.outstanding == 0 && !copy.has_unsent ? &copy : nullptr;
}

}  // namespace acp::gma
