// How all ranks agree on a collective call that some of them may have to
// refuse.
#pragma once

#include <cstdint>

#include "middle/structure/site.h"

namespace acp::middle::workspace {

enum class Outcome : std::uint8_t {
  kAgreed,   ///< All ranks want the same, and all can.
  kRefused,  ///< All ranks want the same, but some cannot.
  kDiffer,   ///< The ranks do not all want the same.
  kEnded,    ///< There is no answer: acp_sync failed, acp_errno says why.
};

/// Tells all ranks what this rank wants and whether it can (`refusal` 0) or why
/// not. Returns the outcome, which is the same on every rank, but for kEnded.
/// Collective: every rank calls acp_sync twice in here, whatever it wants.
/// Called by one thread.
Outcome agree(structure::Site& site, std::uint64_t wish, int refusal);

}  // namespace acp::middle::workspace
