// The bytes of requests, for the files that send flights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/operation.h"
#include "transport/transport.h"

namespace acp::gma {

/// Bytes in front of the data of a request of one step.
inline constexpr std::size_t kRequestHead =
    sizeof(protocol::RequestHeader) + protocol::kStepBytes;

/// Data of this size fit one request to any endpoint at any time.
inline constexpr std::uint64_t kLeastPiece =
    transport::kLeastMessage - kRequestHead;

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Divides `bytes` into the fewest pieces of at most `most` bytes, as equal as
/// they can be. The target copies one piece while the next is on its way; a
/// full piece and a small rest would overlap little.
inline std::uint64_t piece_size(std::uint64_t bytes, std::uint64_t most) {
  constexpr std::uint64_t kLine = 64;  // pieces begin where copies are fast
  if (bytes <= most) {
    return bytes;
  }
  const std::uint64_t pieces = (bytes + most - 1) / most;
  const std::uint64_t share = (bytes + pieces - 1) / pieces;
  return std::min((share + kLine - 1) / kLine * kLine, most);
}

}  // namespace acp::gma
