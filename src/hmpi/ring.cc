// Writes messages into rings and reads them; ring.h has the invariants. The
// reader checks what it finds, because another process has written it.
#include "hmpi/ring.h"

#include <algorithm>
#include <cstring>

#include "hmpi/copy.h"

namespace hmpi {

namespace {

/// Cell::kind of cells that are skipped up to the end of the ring.
constexpr std::uint8_t kSkip = 255;

std::uint32_t turn_of(std::uint64_t cell) {
  return static_cast<std::uint32_t>(cell / kRingCells + 1);
}

std::uint32_t cells_to_end(std::uint64_t cell) {
  return kRingCells - static_cast<std::uint32_t>(cell % kRingCells);
}

/// Reads the words of a cell once, into memory that no other process changes.
Envelope envelope_of(const Cell& cell) {
  return {.context = cell.context,
          .source = cell.source,
          .tag = cell.tag,
          .size = cell.size};
}

}  // namespace

/// Room for the message and for the cells that it may have to skip.
bool RingWriter::has_room(std::uint32_t cells) noexcept {
  const std::uint32_t skipped =
      cells_to_end(next_) < cells ? cells_to_end(next_) : 0;
  const std::uint64_t end = next_ + skipped + cells;
  if (end - taken_ > kRingCells) {
    // Acquire: the reader has copied what it has taken.
    taken_ = ring_->taken.load(std::memory_order_acquire);
  }
  return end - taken_ <= kRingCells;
}

/// The message at `first` becomes visible, and the next one comes behind it.
void RingWriter::publish(Cell& first) noexcept {
  const std::uint32_t cells =
      first.kind == kSkip ? cells_to_end(next_) : first.cells;
  const std::uint64_t behind = next_ + cells;
  std::atomic<std::uint32_t>& next_turn =
      ring_->cells[behind % kRingCells].turn;
  // Data of an earlier pass, which the reader has taken. Where the reader may
  // still have to read it, it is the first cell of a message of that pass.
  if (next_turn.load(std::memory_order_relaxed) == turn_of(behind)) {
    next_turn.store(0, std::memory_order_relaxed);
  }
  // Release: pairs with look().
  first.turn.store(turn_of(next_), std::memory_order_release);
  next_ = behind;
}

bool RingWriter::write(const Message& message) noexcept {
  const bool is_inline = message.kind == Kind::kInline;
  const std::uint32_t cells = cells_for(is_inline ? message.in_ring.size() : 0);
  if (!has_room(cells)) {
    return false;
  }
  if (cells_to_end(next_) < cells) {
    next_cell().kind = kSkip;
    publish(next_cell());
  }
  Cell& cell = next_cell();
  cell.kind = static_cast<std::uint8_t>(message.kind);
  cell.cells = static_cast<std::uint8_t>(cells);
  cell.spare = 0;
  cell.tag = message.envelope.tag;
  cell.source = message.envelope.source;
  cell.context = message.envelope.context;
  cell.size = message.envelope.size;
  if (is_inline) {
    // The data go over the end of the first cell, into the further ones.
    std::byte* data =
        reinterpret_cast<std::byte*>(&cell) + offsetof(Cell, data);
    copy_message(data, message.in_ring.data(), message.in_ring.size());
  } else {
    std::memcpy(cell.data.data(), &message.offer, sizeof message.offer);
  }
  publish(cell);
  return true;
}

/// Each word of a cell is read once, so a peer that changes it afterwards
/// cannot undo a check.
RingReader::Look RingReader::look(Message& message) noexcept {
  const Cell* cell = &ring_->cells[next_ % kRingCells];
  // Acquire: pairs with RingWriter::publish().
  if (cell->turn.load(std::memory_order_acquire) != turn_of(next_)) {
    return Look::kEmpty;
  }
  if (cell->kind == kSkip) {
    next_ += cells_to_end(next_);
    cell = &ring_->cells.front();
    if (cell->turn.load(std::memory_order_acquire) != turn_of(next_)) {
      return Look::kEmpty;
    }
  }
  const auto kind = static_cast<Kind>(cell->kind);
  const Envelope envelope = envelope_of(*cell);
  const bool is_inline = kind == Kind::kInline;
  const bool is_known =
      is_inline || kind == Kind::kOffer || kind == Kind::kGive;
  if (!is_known || envelope.tag < 0 || envelope.source < 0 ||
      (is_inline && envelope.size > kMostInlineBytes)) {
    return Look::kBroken;
  }
  cells_ = cells_for(is_inline ? envelope.size : 0);
  if (cells_ > cells_to_end(next_) || cells_ != cell->cells) {
    return Look::kBroken;
  }
  message.envelope = envelope;
  message.kind = kind;
  message.in_ring = {};
  message.offer = {};
  if (is_inline) {
    message.in_ring = {
        reinterpret_cast<const std::byte*>(cell) + offsetof(Cell, data),
        envelope.size};
  } else {
    std::memcpy(&message.offer, cell->data.data(), sizeof message.offer);
  }
  return Look::kMessage;
}

void RingReader::pop() noexcept {
  next_ += cells_;
  // Release: pairs with RingWriter::has_room().
  ring_->taken.store(next_, std::memory_order_release);
}

}  // namespace hmpi
