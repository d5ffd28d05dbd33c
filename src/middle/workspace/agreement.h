// How all ranks agree on a collective call that some of them may have to
// refuse.
#pragma once

#include <cstdint>

#include "middle/structure/site.h"

namespace acp::middle::workspace {

enum class Verdict : std::uint8_t {
  kAgreed,   ///< All ranks want the same, and all can.
  kRefused,  ///< All ranks want the same, but some cannot.
  kDiffer,   ///< The ranks do not all want the same.
  kEnded,    ///< There is no answer: acp_sync failed, acp_errno says why.
};

/// Tells all ranks what this one wants, and why it cannot (0: it can), and
/// returns what they all conclude; on every rank the same, but for kEnded.
/// Collective: every rank calls acp_sync twice in here, whatever it wants.
/// One thread.
Verdict agree(structure::Site& site, std::uint64_t wish, int refusal);

}  // namespace acp::middle::workspace
