// The measured loop of rows of puts and gets. Used by rows_bandwidth.cc and
// rows_registered.cc.
#pragma once

#include <cstdint>

#include "rows.h"

namespace acp::perf {

/// Measures copies between this rank's outbox and `remote`: `window` copies,
/// then one completion. Leaves no copy open. The outcome is about the bytes.
Outcome run_copies(Context& context,
                   Samples& samples,
                   Way way,
                   acp_ga_t remote,
                   std::uint64_t bytes,
                   std::uint64_t window);

}  // namespace acp::perf
