// acp_top on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "live_job.h"
#include "picture.h"

namespace acp::top {

/// Shows pictures of a job until the user leaves. `live` may be null: then
/// `picture` stays. Returns the exit status, and writes the reason of a
/// failure into `error`. Uses ncurses, so one call in a process.
int run_screen(Picture picture,
               LiveJob* live,
               std::chrono::milliseconds interval,
               std::string& error);

}  // namespace acp::top
