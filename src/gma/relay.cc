// Divides relayed copies into parts. The operation runner starts the parts and
// reports their ends; nothing here sends.
#include "gma/relay.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace acp::gma {

Relay::Relay(const gmm::AddressSpace& space) : space_(space) {
  for (std::size_t i = kSlots; i > 0; --i) {
    free_.push_back(i - 1);
  }
}

void Relay::add(Operation& copy) {
  ACP_ASSERT(std::holds_alternative<Relayed>(copy.flight));
  copy.has_unsent = true;
  waiting_.push_back(&copy);
}

/// Gives the next bytes of the oldest copy to a free slot. The first step of
/// the part copies into the slot, and the second copies out of it.
Operation& Relay::next_part() {
  const std::size_t index = free_.back();
  free_.pop_back();
  Operation& copy = *waiting_.front();
  auto& relayed = std::get<Relayed>(copy.flight);
  const std::uint64_t offset = relayed.begun_bytes;
  const std::uint64_t size = std::min(kSlotBytes, relayed.copy.size - offset);
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
                            protocol::kRuntimeWordBytes + index * kSlotBytes);
  Step out = piece;
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
