// A ring leads messages from a process of a host to another process there. The
// ring has a single writer and a single reader, and lies in memory that both
// have mapped. Neither of the two ever waits, and neither locks the ring, so a
// process that stops or dies at any moment leaves the ring readable.
//
// Invariants:
//  1. The writer fills all cells of a message, and then stores `turn` of the
//     first one (release). The reader loads it (acquire). The writer counts its
//     passes over the ring, from 1, and `turn` is this number. A cell of an
//     earlier pass has a lower number.
//  2. No message goes over the end of the ring. The writer skips the cells that
//     are left, by a cell of kind kSkip.
//  3. The further cells of a message are data, whose first word may be any
//     number. Before a message is published, the cell behind it is no message
//     that is still to come: the writer clears a word that looks like one.
//  4. The reader has copied a message before it stores `taken` (release), which
//     the writer loads (acquire) before it writes these cells again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hmpi/message.h"

namespace hmpi {

inline constexpr std::size_t kCellBytes = 64;
/// Cells of a ring, 128 KiB.
inline constexpr std::uint32_t kRingCells = 2048;
/// Bytes of data in the first cell of a message.
inline constexpr std::size_t kFirstCellBytes = 32;
/// Bytes of data in a ring at most, for one message.
inline constexpr std::size_t kMostInlineBytes = 8192;

/// Cells of a message with this many bytes of data in the ring.
constexpr std::uint32_t cells_for(std::size_t inline_bytes) {
  const std::size_t further =
      inline_bytes > kFirstCellBytes ? inline_bytes - kFirstCellBytes : 0;
  return 1 +
         static_cast<std::uint32_t>((further + kCellBytes - 1) / kCellBytes);
}

/// The first cell of a message. The data of further cells follow `data`, so
/// that all data of a message lie in a row.
struct alignas(kCellBytes) Cell {
  std::atomic<std::uint32_t> turn = 0;
  std::uint8_t kind = 0;   ///< Kind, or kSkip.
  std::uint8_t cells = 0;  ///< Cells of the message, this one included.
  std::uint16_t spare = 0;
  std::int32_t tag = 0;
  std::int32_t source = 0;
  std::uint64_t context = 0;
  std::uint64_t size = 0;
  /// Inline data, or an Offer.
  std::array<std::byte, kFirstCellBytes> data{};
};

static_assert(sizeof(Cell) == kCellBytes);
static_assert(offsetof(Cell, data) == kCellBytes - kFirstCellBytes);
static_assert(sizeof(Offer) <= kFirstCellBytes);
static_assert(cells_for(kMostInlineBytes) < kRingCells / 8);

/// The shared memory of a ring. All zeros is an empty ring.
struct RingMemory {
  /// Cells that the reader has read, in all. The reader writes it.
  alignas(kCellBytes) std::atomic<std::uint64_t> taken = 0;
  /// Inline bytes that receives have got. The reader writes it now and then.
  std::atomic<std::uint64_t> matched = 0;
  /// Not 0: the writer wants to be woken when there is room.
  std::atomic<std::uint32_t> writer_waits = 0;
  std::array<Cell, kRingCells> cells;
};

static_assert(sizeof(RingMemory) == kCellBytes * (kRingCells + 1));

/// The writing end. One thread at a time.
class RingWriter {
 public:
  /// `ring` is empty, outlives the writer, and has no other writer.
  explicit RingWriter(RingMemory& ring) noexcept : ring_(&ring) {}

  /// Copies a message into the ring. False, and nothing has changed: there is
  /// no room until the reader goes on. Inline data have at most
  /// kMostInlineBytes.
  [[nodiscard]] bool write(const Message& message) noexcept;

 private:
  bool has_room(std::uint32_t cells) noexcept;

  Cell& next_cell() noexcept { return ring_->cells[next_ % kRingCells]; }

  void publish(Cell& first) noexcept;

  RingMemory* ring_;
  std::uint64_t next_ = 0;   ///< Cells written, in all.
  std::uint64_t taken_ = 0;  ///< A value that ring_->taken had.
};

/// The reading end. One thread at a time.
class RingReader {
 public:
  enum class Look {
    kEmpty,
    kMessage,
    kBroken,  ///< The cells are of no message that a writer makes.
  };

  /// `ring` outlives the reader, and has no other reader.
  explicit RingReader(RingMemory& ring) noexcept : ring_(&ring) {}

  /// Reads the oldest message. `message` is written for kMessage only, and
  /// `message.in_ring` is valid until pop(). Until pop(), a further
  /// look shows the same message.
  [[nodiscard]] Look look(Message& message) noexcept;

  /// Gives the cells of the message of the last look() back to the writer.
  void pop() noexcept;

 private:
  RingMemory* ring_;
  std::uint64_t next_ = 0;   ///< Cells read, in all.
  std::uint32_t cells_ = 0;  ///< Cells of the message that look() has shown.
};

}  // namespace hmpi
