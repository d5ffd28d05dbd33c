// The agreement of all ranks, called by the collective functions of workspaces.
// The sums are on rank 0 and are changed by atomic additions alone.
#include "middle/workspace/agreement.h"

#include "middle/structure/chain.h"

namespace acp::middle::workspace {

using structure::Ballot;
using structure::Chain;
using structure::Scratch;
using structure::Site;

/// Add, barrier, read, barrier, take back. All wishes are the same when their
/// sum is that of `procs` times this one.
Outcome agree(Site& site, std::uint64_t wish, int refusal) {
  const acp_ga_t ballot = site.memory_of(0) + structure::kBallotOffset;
  const acp_ga_t refusals = ballot + offsetof(Ballot, refusals);
  const acp_ga_t wishes = ballot + offsetof(Ballot, wishes);
  const std::uint64_t refused = refusal != 0 ? 1 : 0;
  Scratch scratch(site);
  Chain chain(scratch);
  chain.add8(refusals, refused);
  chain.add8(wishes, wish);
  bool is_alive = chain.run();
  is_alive = acp_sync() == 0 && is_alive;
  const std::uint64_t* all_refusals = chain.get(refusals, 8);
  const std::uint64_t* all_wishes = chain.get(wishes, 8);
  is_alive = is_alive && chain.run();
  is_alive = acp_sync() == 0 && is_alive;
  if (!is_alive) {
    return Outcome::kEnded;
  }
  const auto procs = static_cast<std::uint64_t>(site.procs());
  const Outcome outcome = *all_wishes != wish * procs ? Outcome::kDiffer
                          : *all_refusals != 0        ? Outcome::kRefused
                                                      : Outcome::kAgreed;
  // All ranks have read the sums. Each rank takes back its own addition, and
  // has done so before its next acp_sync. The next ballot is read after that
  // acp_sync, so nothing of this one is left in it. Faster ranks may have added
  // to the next one already.
  chain.add8(refusals, 0 - refused);
  chain.add8(wishes, 0 - wish);
  return chain.run() ? outcome : Outcome::kEnded;
}

}  // namespace acp::middle::workspace
