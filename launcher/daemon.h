// `acprun --daemon`: the part of a job on a host that acprun reaches by a
// remote shell, and the daemons below it.
#pragma once

#include "launcher/signals.h"

namespace acp::launcher {

/// Runs until the job is over on this host and on all hosts below it, or until
/// standard input closes. In the second case everything is killed at once.
/// Returns the exit status.
int run_daemon(const Signals& signals);

}  // namespace acp::launcher
