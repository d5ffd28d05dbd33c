// An end of a channel in this process, and the table of all ends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/spin_lock.h"
#include "middle/channel/receiver.h"
#include "middle/channel/requests.h"
#include "middle/channel/sender.h"

namespace acp::middle::channel {

/// An end of a channel. Ends are used again and stay until the process ends, so
/// that any handle can be looked up.
///
/// Everything but `index` and `head` is guarded by `lock`.
struct End {
  SpinLock lock;
  std::uint32_t index = 0;
  /// Generation of the channel's handle; never 0.
  std::uint32_t generation = 1;
  bool is_listed = false;  ///< Each progress step drives this end.
  bool is_direct = false;  ///< The other end's memory is mapped here.
  /// False once the end is gone and all its requests were waited for.
  bool is_in_use = false;
  /// The sending rank can no longer connect. Set by the connector.
  bool has_lost_sender = false;
  /// The arguments of acp_create_ch, and the handle that it returned.
  /// They stay until the end is used again, for errors of its requests.
  int sending_rank = -1;
  int receiving_rank = -1;
  std::uint64_t handle = 0;
  Request* free_request = nullptr;
  /// The last function that waited for this end, and the name by which the
  /// roll-call shows such a wait: wait_name().
  const char* waiting_function = nullptr;
  const char* shown_wait = nullptr;
  /// One of the two is set, until the end is gone.
  std::unique_ptr<Sender> sender;
  std::unique_ptr<Receiver> receiver;
  RequestPool requests;
  /// Address of a receiver's next header, for threads that poll without the
  /// lock. Old bytes there were cleared before this was stored. Heap memory
  /// stays mapped, so reading an old address does no harm.
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

  /// No connect request of the sending rank has met this receiver.
  bool lacks_sender() const {
    return receiver != nullptr && receiver->is_waiting();
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

  /// Called before a thread sleeps: asks the other end for a doorbell when it
  /// has done what this end waits for. True: look again.
  bool ask() {
    return sender != nullptr ? sender->ask_for_credit()
                             : receiver != nullptr && receiver->arm();
  }

  /// Called before a step or a call leaves the end: asks for a doorbell for
  /// what the other end does without a signal. True: look again.
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

/// The ends by index. Any thread looks them up without a lock.
class EndTable {
 public:
  /// Bits of a request's handle that name the end (handles.h).
  static constexpr std::uint32_t kIndexBits = 20;
  static constexpr std::uint32_t kMaxEnds = 1U << kIndexBits;

  /// nullptr: there is no end with this index.
  End* find(std::uint32_t index) const {
    if (index >= kMaxEnds) {
      return nullptr;
    }
    // Pairs with the store in at_or_new().
    Block* block = blocks_[index / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &(*block)[index % kBlock];
  }

  /// Finds the end, or makes it. One thread at a time.
  End& at_or_new(std::uint32_t index);

 private:
  /// Ends that are made at a time: fewer make blocks_ longer.
  static constexpr std::uint32_t kBlock = 64;
  using Block = std::array<End, kBlock>;

  std::array<std::atomic<Block*>, kMaxEnds / kBlock> blocks_{};
};

}  // namespace acp::middle::channel
