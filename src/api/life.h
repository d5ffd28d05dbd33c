// The life of the library in a process, from acp_init to acp_finalize, once.
//
// The C functions of chapter 4.1 call it. It makes the task of current_task.h
// and applies the settings that concern the whole process.
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

/// The modules of the program and of the middle layer. They may be changed only
/// before init().
runtime::Modules& modules();

}  // namespace acp::api
