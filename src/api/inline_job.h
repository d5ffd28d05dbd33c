// The facts of the job that inlined operations of programs read
// (acp/inline.h).
#pragma once

#include "runtime/task.h"

namespace acp::api {

/// From now on programs may make operations without a call, if the job is one
/// for that: the CPU may touch all library memory of this host. Called while no
/// operation runs.
void allow_inlined_calls(runtime::Task& mine) noexcept;

/// From now on each operation is a call. Other threads may be inside of an
/// inlined operation only where they may be inside of a call.
void stop_inlined_calls() noexcept;

}  // namespace acp::api
