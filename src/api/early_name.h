// The name of this process in log lines before it has joined its job.
#pragma once

namespace acp::api {

/// Has log lines begin with the rank that the launcher gave in the environment,
/// and the host. Does nothing without such a rank, and after the first call.
/// Called before the first line can be logged; the task sets the name that
/// holds from acp_init on. Thread-safe.
void name_early_process();

}  // namespace acp::api
