// Log lines of this process before it has joined its job.
#pragma once

namespace acp::api {

/// Has log lines begin with the rank that the launcher gave in the environment,
/// and the host. If the environment has ACP_ERRORS=abort, a line of level error
/// ends the job. Does nothing after the first call. Called before the first
/// line can be logged. The task sets the name that holds from acp_init on, and
/// acp_init the action. Thread-safe.
void prepare_early_log();

}  // namespace acp::api
