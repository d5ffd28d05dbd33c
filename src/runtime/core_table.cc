// One look at the table of cores. Called between two passes of a waiting
// caller, so it costs a few nanoseconds and makes no system call.
#include "runtime/core_table.h"

#include <sched.h>

namespace acp::runtime {

// Relaxed throughout: no other memory is read because of an entry.
bool CoreTable::is_shared_here() noexcept {
  const int core = ::sched_getcpu();
  if (core < 0) {
    return false;
  }
  const std::uint32_t entry = static_cast<std::uint32_t>(core) + 1;
  // Written only when it changes, so that the other ranks' cached copies of the
  // line stay valid.
  if (cores_[mine_].load(std::memory_order_relaxed) != entry) {
    cores_[mine_].store(entry, std::memory_order_relaxed);
  }
  for (std::uint32_t slot = 0; slot < ranks_; ++slot) {
    if (slot != mine_ &&
        cores_[slot].load(std::memory_order_relaxed) == entry) {
      return true;
    }
  }
  return false;
}

}  // namespace acp::runtime
