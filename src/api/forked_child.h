// A child made by fork() may not use the library.
//
// The child has a copy of everything that the rank has, its sockets and its
// mapping of the host segment included, but no progress thread, and its peers
// know nothing of it. A call that went on would speak in the rank's name. So
// the library is switched off in the child: every call is refused.
#pragma once

namespace acp::api {

/// Has fork() switch the library off in children from now on. Called by
/// acp_init; any number of times. Children that run no handlers of
/// pthread_atfork (vfork, posix_spawn, system) exec at once and need none.
void watch_forks() noexcept;

/// Whether this process is a child that was forked between acp_init and
/// acp_finalize.
bool is_forked_child() noexcept;

}  // namespace acp::api
