// A forked child leaves the state of a module to its parent process. Called by
// the modules of this layer in leave_job().
#pragma once

#include <atomic>

namespace acp::middle {

/// Makes the pointer null. The child keeps it elsewhere, so that leak checkers
/// find the memory, and destroys nothing. Call once for each type.
template <typename State>
void leave_to_parent(std::atomic<State*>& mine) noexcept {
  [[maybe_unused]] static State* parents = nullptr;
  parents = mine.exchange(nullptr, std::memory_order_relaxed);
}

}  // namespace acp::middle
