// Copies between two other ranks by way of memory of this rank: read into a
// buffer here, and written from there. Where endpoints post, the CPUs of both
// ranks have no part in the copy.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "gma/operation.h"
#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::gma {

/// Divides copies into parts. A part is an operation of two copies: into a
/// buffer in the runtime's own memory, and out of it. One part per buffer is
/// under way at a time, and the oldest copy's parts go first. Guarded by the
/// engine's mutex.
class Relay {
 public:
  /// Parts under way. With one, the copies in and out would alternate. With
  /// more, each part is smaller, since they share kRelayBytes.
  static constexpr std::size_t kBuffers = 8;
  static constexpr std::uint64_t kBufferBytes =
      protocol::kRelayBytes / kBuffers;

  explicit Relay(const gmm::AddressSpace& space);

  /// Takes over the step under way, whose flight is Relayed. Its ends must not
  /// overlap.
  void add(Operation& copy);

  /// Whether a copy has a part to start, and a buffer is free for it.
  bool has_next() const noexcept { return !waiting_.empty() && !free_.empty(); }

  /// Makes the next part of the oldest copy. Precondition: has_next().
  Operation& next_part();

  /// Frees the buffer of a part that has ended. Returns its copy when this was
  /// the last part, otherwise null.
  Operation* on_ended(Operation& part);

 private:
  struct Buffer {
    Operation part;
    Operation* copy = nullptr;  ///< The copy of this part; null: free.
  };

  const gmm::AddressSpace& space_;
  std::array<Buffer, kBuffers> buffers_;
  std::vector<std::size_t> free_;   ///< Indices of free buffers.
  std::deque<Operation*> waiting_;  ///< Copies with parts to come.
};

}  // namespace acp::gma
