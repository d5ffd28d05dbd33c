// The middle layer's modules, which acp_init starts before the program's own.
//
// This is the only header of this layer that src/api includes. Of ACP,
// everything in this folder uses the public headers alone. Besides them it uses
// helpers of src/base/. Only its start is built in, so that every rank has it
// first and in the same order.
#pragma once

#include "acp/extension.h"

namespace acp::middle {

/// Calls `add` for each module, in the order of their start. acp_init calls
/// this once, when acpx_setting() answers and nothing else does. `add` returns
/// the module's number for acpx_module_ga(), or -1 with acp_errno set. Returns
/// 0, or -1 when `add` failed.
int add_modules(int (*add)(const acpx_module_t* module));

/// Called in a child made by fork(). Every call there fails from now on, as
/// outside of a job. Takes no lock and ends nothing, since everything belongs
/// to the parent.
void leave_job() noexcept;

}  // namespace acp::middle
