// Keeps a peer's region from being unregistered while this process copies to or
// from it without the peer (process_vm_readv, process_vm_writev).
//
// copier: cross_copies += 1; look at the state again; copy; cross_copies -= 1
// owner:  state = dead; wait until cross_copies == 0
// Invariant: every access is seq_cst. So the copier sees the dead state and
// does not copy, or the owner sees the count and waits. A copier that dies
// between the two leaves its count behind; its death ends the job and the
// owner's wait.
#pragma once

#include "gmm/address_space.h"
#include "protocol/host_segment.h"

namespace acp::gmm {

/// Exists while a thread makes one copy.
class CrossCopyGuard {
 public:
  /// Precondition: `target` is on this host and not directly reachable.
  explicit CrossCopyGuard(const Target& target) noexcept
      : entry_(*target.entry), state_(target.state) {
    entry_.cross_copies.fetch_add(1, std::memory_order_seq_cst);
  }

  CrossCopyGuard(const CrossCopyGuard&) = delete;
  CrossCopyGuard& operator=(const CrossCopyGuard&) = delete;

  ~CrossCopyGuard() {
    entry_.cross_copies.fetch_sub(1, std::memory_order_seq_cst);
  }

  /// Whether the region is still registered as it was when it was located.
  bool is_live() const noexcept {
    return entry_.state.load(std::memory_order_seq_cst) == state_;
  }

 private:
  protocol::KeyEntry& entry_;
  std::uint64_t state_;
};

}  // namespace acp::gmm
