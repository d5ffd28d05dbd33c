// Makes the keeper's requests from the plan, and judges ranks that never ran.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "launcher/keeper_connection.h"
#include "launcher/plan.h"
#include "launcher/rank_streams.h"
#include "launcher/verdict.h"

namespace acp::launcher {

/// Forks the keeper, which starts every rank of the plan with its streams and
/// its end of the bootstrap socket. Fails with kSystem, logged.
[[nodiscard]] Status start_ranks(const JobPlan& plan,
                                 std::span<const RankStreams> streams,
                                 std::span<const UniqueFd> bootstrap_ends,
                                 const InheritedState& inherited,
                                 KeeperConnection& keeper);

/// The verdict on a rank that has never run its program. `step` and `error` are
/// those that the exec shim reported.
Verdict judge_failed_start(const JobPlan& plan,
                           std::uint32_t rank,
                           std::uint32_t pid,
                           SpawnStep step,
                           int error);

/// The verdict when the keeper could not make a process for the rank.
Verdict judge_failed_fork(std::uint32_t rank, int error);

/// Advice to the user for an errno of fork.
std::string advise_on_fork(int error);

}  // namespace acp::launcher
