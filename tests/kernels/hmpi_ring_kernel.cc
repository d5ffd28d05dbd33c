// HMPI's ring of cells under all schedules: its writer and its reader at the
// end of the ring, and where the ring is full. hmpi/ring.h has the invariants.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hmpi/ring.h"
#include "kernels/program.h"

namespace kernels {

namespace {

using hmpi::Message;
using hmpi::RingReader;

/// Bytes of a message of two cells.
constexpr std::size_t kTwoCells = hmpi::kFirstCellBytes + 8;

/// Thread 0 writes messages of these sizes, thread 1 reads them. `before` cells
/// have gone through the ring, and `full` are in it.
class Messages : public Program {
 public:
  Messages(std::array<std::size_t, 3> sizes,
           std::uint32_t before,
           std::uint32_t full)
      : sizes_(sizes) {
    pass(before, true);
    in_ring_ = pass(full, false);
    name_memory(&ring_->taken, 8, "taken");
    for (std::uint32_t cell = 0; cell < hmpi::kRingCells; ++cell) {
      if (wants_names()) {
        const std::string number = "[" + std::to_string(cell) + "]";
        name_memory(&ring_->cells[cell], sizeof(hmpi::Cell), "cell" + number);
        name_memory(&ring_->cells[cell].turn, 4, "turn" + number);
      }
    }
  }

  std::size_t threads() const override { return 2; }

  void run(std::size_t thread) override {
    if (thread == 0) {
      for (const std::size_t size : sizes_) {
        while (!write(written_, size)) {
          // The ring is full until the reader goes on.
        }
      }
      return;
    }
    for (std::size_t left = in_ring_ + sizes_.size(); left != 0;) {
      left -= read() ? 1 : 0;
    }
  }

 private:
  static std::uint64_t word(std::uint64_t number) {
    // A cell's turn may be any number, also one that comes next (invariant 3).
    return number << 32 | 2;
  }

  /// Fills cells, with messages as long as possible. Returns how many.
  std::size_t pass(std::uint32_t cells, bool are_read) {
    std::size_t messages = 0;
    while (cells != 0) {
      const std::uint32_t next =
          std::min(cells, hmpi::cells_for(hmpi::kMostInlineBytes));
      write(written_, std::min(8 + (next - 1) * hmpi::kCellBytes,
                               hmpi::kMostInlineBytes));
      if (are_read) {
        read();
      }
      cells -= next;
      ++messages;
    }
    return messages;
  }

  bool write(std::uint64_t number, std::size_t size) {
    // Clearing it would be a store of the thread, in each look of a full ring.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    std::array<std::uint64_t, hmpi::kMostInlineBytes / 8> data;
    std::fill_n(data.begin(), size / 8, word(number));
    Message message;
    message.envelope = {.context = number, .source = 0, .tag = 1, .size = size};
    message.in_ring = std::as_bytes(std::span(data)).first(size);
    const bool has_room = writer_.write(message);
    written_ += has_room ? 1 : 0;
    return has_room;
  }

  bool read() {
    Message message;
    const RingReader::Look look = reader_.look(message);
    expect(look != RingReader::Look::kBroken, "a reader finds whole messages");
    if (look != RingReader::Look::kMessage) {
      return false;
    }
    expect(message.envelope.context == read_,
           "invariants 1 and 3: messages come once, in order");
    for (std::size_t at = 0; at < message.in_ring.size(); at += 8) {
      expect(*reinterpret_cast<const std::uint64_t*>(message.in_ring.data() +
                                                     at) == word(read_),
             "invariants 1 and 4: the data of a message are whole");
    }
    ++read_;
    reader_.pop();
    return true;
  }

  const std::array<std::size_t, 3> sizes_;
  std::unique_ptr<hmpi::RingMemory> ring_ =
      std::make_unique<hmpi::RingMemory>();
  hmpi::RingWriter writer_{*ring_};
  hmpi::RingReader reader_{*ring_};
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  std::size_t in_ring_ = 0;
};

}  // namespace

std::vector<Case> all_cases() {
  using Sizes = std::array<std::size_t, 3>;
  const auto two = kTwoCells;
  return {
      make_case<Messages>("messages", 4, Sizes{8, two, 8}, 0U, 0U),
      make_case<Messages>("end", 4, Sizes{8, two, 8}, hmpi::kRingCells - 2, 0U),
      make_case<Messages>("full", 3, Sizes{8, 8, two}, 0U,
                          hmpi::kRingCells - 1),
      make_case<Messages>("next_pass", 4, Sizes{two, two, 8},
                          hmpi::kRingCells - 1, 0U),
  };
}

}  // namespace kernels
