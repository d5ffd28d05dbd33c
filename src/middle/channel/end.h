// An end of a channel in this process, and the table of all of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "middle/channel/receiver.h"
#include "middle/channel/requests.h"
#include "middle/channel/sender.h"
#include "middle/spin_lock.h"

namespace acp::middle::channel {

/// A place for an end. Places are used again and stay until the process ends,
/// so that a handle can be looked at whatever it is.
///
/// Everything but `index` and `head` is guarded by `lock`.
struct End {
  SpinLock lock;
  std::uint32_t index = 0;
  std::uint32_t generation = 1;  ///< Of the user's handle; never 0.
  bool is_listed = false;        ///< Among those that each step looks at.
  bool is_direct = false;        ///< The other end's memory is mapped here.
  bool is_in_use = false;        ///< Until it is gone and all is waited for.
  Request* free_request = nullptr;
  std::unique_ptr<Sender> sender;  ///< One of the two, until it is gone.
  std::unique_ptr<Receiver> receiver;
  RequestPool requests;
  /// Receiver: where the next header is, for who polls without the lock; what
  /// it shows has been cleared before. Heap memory stays mapped, so an old
  /// value does no harm.
  std::atomic<const std::uint64_t*> head{nullptr};

  bool has_record() const {
    const std::uint64_t* header = head.load(std::memory_order_acquire);
    return header != nullptr && load(*header) != 0;
  }

  bool advance() {
    if (sender != nullptr) {
      return sender->advance();
    }
    return receiver != nullptr && receiver->advance();
  }

  bool has_end() const { return sender != nullptr || receiver != nullptr; }

  bool is_closing() const {
    return sender != nullptr ? sender->is_closing()
                             : receiver != nullptr && receiver->is_closing();
  }

  bool is_gone() const {
    return sender != nullptr ? sender->is_gone()
                             : receiver != nullptr && receiver->is_gone();
  }

  /// Before a thread sleeps: asks for what it waits for. True: look again.
  bool ask() {
    return sender != nullptr ? sender->ask_for_credit()
                             : receiver != nullptr && receiver->arm();
  }

  /// Before a step or a call leaves it to itself: asks for what the other end
  /// brings without a signal. True: look again.
  bool ask_before_leaving() {
    return sender != nullptr ? sender->ask_for_credit()
                             : awaits_piece() && receiver->arm();
  }

  bool awaits_piece() const {
    return receiver != nullptr && receiver->awaits_piece();
  }

  bool is_idle() const {
    return sender != nullptr ? sender->is_idle()
                             : receiver == nullptr || receiver->is_idle();
  }
};

/// Index -> place. Looked up by any thread without a lock.
class EndTable {
 public:
  static constexpr std::uint32_t kIndexBits = 20;
  static constexpr std::uint32_t kMaxEnds = 1U << kIndexBits;

  /// nullptr: no such place.
  End* find(std::uint32_t index) const {
    if (index >= kMaxEnds) {
      return nullptr;
    }
    // Pairs with the store in at_or_new().
    Block* block = blocks_[index / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &(*block)[index % kBlock];
  }

  /// The same, made when it is not there yet. One thread at a time.
  End& at_or_new(std::uint32_t index);

 private:
  static constexpr std::uint32_t kBlock = 64;
  using Block = std::array<End, kBlock>;

  std::array<std::atomic<Block*>, kMaxEnds / kBlock> blocks_{};
};

}  // namespace acp::middle::channel
