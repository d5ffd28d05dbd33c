// Keeps a peer's region from being unregistered while this process copies to or
// from it without the peer (process_vm_readv, process_vm_writev).
//
// copier: transfers += 1; look at the state again; copy; transfers -= 1
// owner:  state = dead; wait until transfers == 0
// Every access is seq_cst. Either the copier sees the dead state and does not
// copy, or the owner sees the count and waits. A copier that dies in between
// leaves its count, but its death ends the job, and with it the owner's wait.
#pragma once

#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::gmm {

/// Held for one copy, by the thread that makes it.
class TransferHold {
 public:
  /// `target` is on this host and not direct.
  explicit TransferHold(const Target& target) noexcept
      : entry_(*target.entry), state_(target.state) {
    entry_.transfers.fetch_add(1, std::memory_order_seq_cst);
  }

  TransferHold(const TransferHold&) = delete;
  TransferHold& operator=(const TransferHold&) = delete;

  ~TransferHold() { entry_.transfers.fetch_sub(1, std::memory_order_seq_cst); }

  /// False: the region has been unregistered since it was located.
  bool is_live() const noexcept {
    return entry_.state.load(std::memory_order_seq_cst) == state_;
  }

 private:
  protocol::KeyEntry& entry_;
  std::uint64_t state_;
};

}  // namespace acp::gmm
