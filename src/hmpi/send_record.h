// A send record stands in library memory of the sender. It has the address of
// the data of an offered message, and the state of the message for both ends.
// docs/hmpi.md has the states.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmpi {

enum class Offered : std::uint32_t {
  kFree = 0,
  kWaiting = 1,    ///< The receiver may take it.
  kDetaching = 2,  ///< The sender copies the data elsewhere.
  kTaken = 3,      ///< The receiver copies.
  kBoth = 4,       ///< Both copy pieces, from the sender's data to `target`.
  kBounce = 5,     ///< The sender copies into `bounce`, the receiver out of it.
  kDone = 6,       ///< The receiver has the data, and forgets the record.
};

/// Bytes that one end copies at a time when both do.
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{32} << 10;
/// A bounce buffer has this many pieces.
inline constexpr std::uint64_t kBouncePieces = 4;
inline constexpr std::uint64_t kBounceBytes = kPieceBytes * kBouncePieces;

/// An address is valid in the process that wrote it.
struct alignas(64) SendRecord {
  std::atomic<Offered> state = Offered::kFree;
  /// Whether all processes of the host can read the data.
  std::uint32_t is_in_library = 0;
  std::uint64_t address = 0;  ///< The data's.
  std::uint64_t size = 0;     ///< Bytes of data.

  /// While both copy: the receiver's buffer, and the bytes that it takes.
  std::uint64_t target = 0;
  std::uint64_t wanted = 0;  ///< Also while they bounce.
  /// The first byte that no end has claimed, and the number of bytes copied.
  alignas(64) std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> copied = 0;

  /// While they bounce: the buffer, and the bytes that went in and came out.
  std::atomic<std::uint64_t> bounce = 0;
  std::atomic<std::uint64_t> filled = 0;
  std::atomic<std::uint64_t> drained = 0;
};

static_assert(sizeof(SendRecord) == 128);

}  // namespace hmpi
