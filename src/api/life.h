// The life of the library in a process: from acp_init to acp_finalize, once.
//
// The C functions of chapter 4.1 call this. It makes the one task, in the room
// of current_task.h, and applies the settings that concern the whole process.
#pragma once

#include "base/status.h"
#include "runtime/modules.h"

namespace acp::api {

/// acp_init. `argc` and `argv` lose the library's own words, and may both be
/// null. Logged; after a failure it may be called again. Thread-safe.
Status init(int* argc, char*** argv);

/// acp_finalize: meets the other ranks and destroys the task. Logged.
Status finalize();

/// The modules of the program and of the middle layer; changed before init().
runtime::Modules& modules();

}  // namespace acp::api
