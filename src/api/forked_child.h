// Switches the library off in children made by fork(): every call fails there.
//
// The child has copies of the rank's sockets and of its mapping of the host
// segment, but no progress thread. The peers do not know the child. A call that
// worked would act in the name of the parent's rank.
#pragma once

namespace acp::api {

/// From now on fork() switches the library off in the child. acp_init calls it;
/// repeated calls do nothing. Children of vfork, posix_spawn and system run no
/// handlers of pthread_atfork, but they exec at once and need none.
void watch_forks() noexcept;

/// Whether this process was forked from a rank between that rank's acp_init and
/// acp_finalize.
bool is_forked_child() noexcept;

}  // namespace acp::api
