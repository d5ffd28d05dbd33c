// The slow path of the spin lock. Called by QMP and the older LQCD interface
// when another thread holds the lock; the holder itself must not call it.
#include "inbox/lock.h"

#include <sched.h>

namespace inbox {

void Lock::lock_slowly() noexcept {
  // The holder may be waiting for this very processor.
  for (int looks = 0; !try_lock(); ++looks) {
    if (looks >= 16) {
      ::sched_yield();
    }
  }
}

}  // namespace inbox
