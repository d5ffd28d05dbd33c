// Starts a command on another host: ssh, or the command of --rsh.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "launcher/host_orders.h"
#include "status/result.h"

namespace acp::launcher {

/// A remote shell that runs, and its pipes. All descriptors are non-blocking.
struct StartedShell {
  pid_t pid = -1;
  UniqueFd in;     ///< To its standard input.
  UniqueFd out;    ///< From its standard output.
  UniqueFd words;  ///< From its standard error.
};

/// The remote shell of --rsh, or ssh where the list is empty.
RemoteShell remote_shell_of(const std::vector<std::string>& words);

/// Starts the daemon on the host as a child in a process group of its own. The
/// kernel kills the shell when the caller dies. Fails with kSystem, logged.
Result<StartedShell> start_remote_shell(const RemoteShell& shell,
                                        const std::string& host);

/// "ssh", for messages.
std::string shell_name(const RemoteShell& shell);

/// The command line by which a user sees whether the shell reaches the host. It
/// has all words of --rsh and the options that acprun adds.
std::string shell_command(const RemoteShell& shell, const std::string& host);

/// Whether a remote shell that exited with this status, and printed this, may
/// succeed when it is started again.
bool may_pass(int exit_status, std::string_view words) noexcept;

/// Advice for a shell that ended with this wait status before the daemon ran.
std::string advise_on_shell(const RemoteShell& shell,
                            const std::string& host,
                            int wait_status);

}  // namespace acp::launcher
