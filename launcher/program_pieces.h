// The program that --preload copies, on its way to the daemons.
// copied_program.h is its other end.
#pragma once

#include <functional>
#include <string>

#include "launcher/plan.h"
#include "status/status.h"

namespace acp::launcher {

/// Finds the program of the job on this host, and gives its file to `send` in
/// pieces, front to back. kSystem, logged: the file cannot be read.
[[nodiscard]] Status send_program(
    const JobPlan& plan, const std::function<void(std::string piece)>& send);

}  // namespace acp::launcher
