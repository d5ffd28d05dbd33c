// The middle layer's modules: what acp_init starts before the program's own.
//
// The one header of this layer that src/api includes. Everything in this
// folder stands on the public headers alone, as a program does; only its
// start is built in, so that every rank has it, first and in the same order.
#pragma once

#include "acp/extension.h"

namespace acp::middle {

/// Calls `add` for each module, in the order of their start. Called once in
/// every acp_init, when acpx_setting() answers and nothing else does. `add`
/// returns the module's number for acpx_module_ga(), or -1 with acp_errno.
/// Returns 0, or -1 when `add` failed.
int add_modules(int (*add)(const acpx_module_t* module));

/// In a child made by fork(): every call fails from now on, as outside of a
/// job. Takes no lock and ends nothing, since all of it is the parent's.
void leave_job() noexcept;

}  // namespace acp::middle
