// The life of the library in a process, from acp_init to acp_finalize, once.
//
// The C functions of chapter 4.1 call it. A layer above may hold the job, which
// then goes on behind the program's acp_finalize (acpx_hold_job). It makes the
// task of current_task.h and applies the settings that concern the whole
// process.
#pragma once

#include "runtime/modules.h"
#include "status/status.h"

namespace acp::api {

/// Carries out acp_init. It removes the library's own options from `argc` and
/// `argv`, which may both be null. Errors are logged, and after a failure
/// init() may be called again. Thread-safe.
Status init(int* argc, char*** argv);

/// Carries out acp_finalize: meets the other ranks and destroys the task.
/// Errors are logged.
Status finalize();

/// Carries out acpx_hold_job and acpx_release_job. Errors are logged.
Status hold();
Status release();

/// Whether a module of the program may be added: no job has begun, or a layer
/// above has begun the job and the program has not joined it.
bool may_add_modules() noexcept;

/// Whether a layer above holds the job.
bool is_held() noexcept;

/// In a child made by fork(): its stores into held memory reach no other
/// process from now on. False, with errno: the kernel refuses that.
bool leave_held_memory() noexcept;

/// The modules of the program and of the middle layer. They may be changed only
/// before init().
runtime::Modules& modules();

}  // namespace acp::api
