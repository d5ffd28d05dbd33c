// Copies between two other ranks by way of this one: read into a buffer here,
// written from there. Where wires do both, no processor of the two takes part.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "gma/operation.h"
#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::gma {

/// Cuts copies into parts, each an operation of its own: a copy into a slot of
/// the runtime's own memory, and one out of it. As many as there are slots are
/// under way at a time, of the oldest copies first. Guarded by the engine's
/// mutex.
class Relay {
 public:
  static constexpr std::size_t kSlots = 8;
  static constexpr std::uint64_t kSlotBytes = protocol::kRelayBytes / kSlots;

  explicit Relay(const gmm::AddressSpace& space);

  /// Takes over the step under way, whose piece_remote, piece_local and
  /// piece_bytes are set. Its ends must not overlap.
  void add(Operation& copy);

  /// Whether a part may be started.
  bool has_next() const noexcept { return !waiting_.empty() && !free_.empty(); }

  /// That part. Precondition: has_next().
  Operation& next_part();

  /// A part has ended. The copy that it was the last of; null when there are
  /// more.
  Operation* on_ended(Operation& part);

 private:
  struct Slot {
    Operation part;
    Operation* copy = nullptr;  ///< Whose part it is; null: free.
  };

  const gmm::AddressSpace& space_;
  std::array<Slot, kSlots> slots_;
  std::vector<std::size_t> free_;
  std::deque<Operation*> waiting_;  ///< Copies with parts to come.
};

}  // namespace acp::gma
