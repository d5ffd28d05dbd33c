// An order that thread sanitizer cannot see, for QMP and the older LQCD
// interface. This header is in src/inbox because both include that folder.
#pragma once

#include "acp/extension.h"

namespace inbox {

/// Only tsan needs this call. Two threads of this process may order their
/// accesses to one memory through a word that another process stores or reads.
/// tsan does not see what that process does. acpx_wait_until shows tsan such an
/// order (gma::Engine::show_order_to_tsan).
inline void show_order_to_tsan() {
#ifdef __SANITIZE_THREAD__
  (void)acpx_wait_until([](void*) { return 1; }, nullptr, 0);
#endif
}

}  // namespace inbox
