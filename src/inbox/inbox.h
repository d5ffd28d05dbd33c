// The inbox of a rank: a ring of cells in its memory, into which every rank of
// the job can write short messages. QMP tells of its channels through one, and
// the older LQCD interface its sends. Nothing here waits.
//
// A sender takes a ticket t by adding 1 to the ticket counter. It then owns
// cell t % 256 for lap t / 256, as soon as the receiver has emptied that cell:
//
//   word of a cell, lap l     meaning
//     2 l                     free for the sender of this lap
//     2 l + 1                 full; the receiver may read the message
//     2 l + 2                 read: free in lap l + 1
//
// Channels of the middle layer meet by another structure, a linked list of
// blocks in the senders' memory. It cannot be full, and costs a receiver one
// word instead of 16 KiB. But a receiver has to fetch each block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "acp/gma.h"

namespace inbox {

/// Cells of an inbox, 16 KiB in all. A sender that finds its cell in use tries
/// again in a later step. So fewer cells are correct, but slower when many
/// ranks write at once. All ranks need one number.
inline constexpr std::uint64_t kCells = 256;
/// Bytes of a message: with the word, they fit a cache line.
inline constexpr std::size_t kMessageBytes = 32;

struct alignas(64) Cell {
  std::uint64_t word;
  std::byte message[kMessageBytes];
};

static_assert(sizeof(Cell) == 64 && offsetof(Cell, message) == 8);

/// Where the inbox of another rank is.
struct Address {
  acp_ga_t tickets;  ///< The ticket counter: how many were given out.
  acp_ga_t cells;    ///< kCells of them.
};

/// Memory of a sender, with a global address. The operations of a Delivery
/// write `ticket` and `word` there and read `message`.
struct Scratch {
  std::uint64_t ticket;
  std::uint64_t word;
  std::byte message[kMessageBytes];
};

/// A message on its way into the inbox of another rank. One thread at a time.
class Delivery {
 public:
  enum class Result {
    kMoved,      ///< An operation was issued or has completed: call again.
    kStays,      ///< Nothing to do now.
    kDelivered,  ///< The receiver can read the message. The scratch is free.
    kFailed,     ///< The job is ending; acp_errno says why.
  };

  Delivery() = default;

  /// `scratch` has the message and the global address `scratch_address`; it
  /// lives until advance() has answered kDelivered or kFailed.
  Delivery(const Address& inbox,
           const Scratch* scratch,
           acp_ga_t scratch_address)
      : inbox_(inbox), scratch_(scratch), scratch_address_(scratch_address) {}

  /// Goes one step on.
  Result advance();

 private:
  /// Each stage with an operation is followed by the one that waits for it.
  enum class Stage { kTake, kTaken, kLook, kLooked, kWritten };

  acp_ga_t cell() const;
  acp_handle_t look() const;
  acp_handle_t write() const;
  Result after(acp_handle_t issued);

  Address inbox_{};
  const Scratch* scratch_ = nullptr;
  acp_ga_t scratch_address_ = ACP_GA_NULL;
  Stage stage_ = Stage::kTake;
  acp_handle_t handle_ = ACP_HANDLE_NULL;  ///< The operation under way.
  std::uint64_t ticket_ = 0;               ///< Known from kLook on.
};

/// The owner's side of an inbox. One thread at a time.
class Reader {
 public:
  Reader() = default;

  /// `cells` are kCells cells of zeros, in memory of this rank.
  explicit Reader(Cell* cells) : cells_(cells) {}

  /// Copies the message with the next ticket, and frees its cell. False: that
  /// message has not arrived, and `message` is as before.
  template <typename Message>
  bool take(Message& message) {
    static_assert(sizeof(Message) <= kMessageBytes &&
                  std::is_trivially_copyable_v<Message>);
    Cell& cell = cells_[next_ % kCells];
    const std::uint64_t lap = next_ / kCells;
    const std::atomic_ref word(cell.word);
    // Acquire: pairs with Delivery::write, whose chain stores the message
    // first.
    if (word.load(std::memory_order_acquire) != 2 * lap + 1) {
      return false;
    }
    std::memcpy(&message, cell.message, sizeof message);
    // Release: the sender of the next lap writes after this copy.
    word.store(2 * lap + 2, std::memory_order_release);
    ++next_;
    return true;
  }

 private:
  Cell* cells_ = nullptr;
  std::uint64_t next_ = 0;  ///< Ticket of the next message.
};

}  // namespace inbox
