// The words of a message between two processes of a host, as its receiver
// matches them. Plain values; docs/hmpi.md has the protocols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hmpi {

/// The part of a message that MPI's matching compares, and its size.
struct Envelope {
  std::uint64_t context = 0;  ///< The communicator's, equal at both ends.
  std::int32_t source = 0;    ///< The sender's rank in the communicator.
  std::int32_t tag = 0;       ///< At least 0.
  std::uint64_t size = 0;     ///< Bytes of data.

  bool operator==(const Envelope&) const = default;
};

/// How the data of a message come to the receiver. The values stand in rings.
enum class Kind : std::uint8_t {
  kInline = 1,  ///< In the ring.
  kOffer = 2,   ///< From a buffer of the sender, by a send record.
  kGive = 3,    ///< The buffer itself is passed.
};

/// Where the data of an offered or given message are, in the sender's address
/// space. The receiver translates both if pointers do not agree.
struct Offer {
  std::uint64_t address = 0;
  std::uint64_t record = 0;  ///< The send record; 0: none.

  bool operator==(const Offer&) const = default;
};

/// A message as it lies in a ring.
struct Message {
  Envelope envelope;
  Kind kind = Kind::kInline;
  Offer offer{};  ///< The data, unless the kind is kInline.
  std::span<const std::byte> in_ring{};  ///< The data if the kind is kInline.
};

}  // namespace hmpi
