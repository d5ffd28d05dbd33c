// Functions that the mains of acprun and macprun share.
#pragma once

#include "launcher/early_exit.h"
#include "launcher/plan.h"

namespace acp::launcher {

/// Opens descriptors 0 to 3 where they are closed, so that no descriptor of the
/// launcher gets these numbers. Sets close-on-exec on 3 and all above, so that
/// ranks get none that the launcher inherited.
void tidy_descriptors();

/// Prints the text of an early exit and returns its status.
int leave(const EarlyExit& exit);

/// Prints the plan, or runs the job. Returns the launcher's exit status.
int run_plan(const JobPlan& plan);

/// Runs as the daemon of an acprun on another host.
int be_daemon();

}  // namespace acp::launcher
