// Runs one job from start to end: ties keeper, bootstrap, streams, signals and
// time limits together.
#pragma once

#include "launcher/plan.h"
#include "launcher/signals.h"

namespace acp::launcher {

/// Runs the planned job and returns acprun's exit status. `signals` have been
/// taken over. Descriptors 0 to 3 have to be open, and 3 unused: it gets its
/// meaning in the ranks.
int run_job(const JobPlan& plan, const Signals& signals);

}  // namespace acp::launcher
