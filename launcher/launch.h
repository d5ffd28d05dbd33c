// Makes the keeper's requests for one host, and judges ranks that never ran.
#pragma once

#include <span>
#include <string>

#include "launcher/host_message.h"
#include "launcher/host_work.h"
#include "launcher/keeper_connection.h"
#include "launcher/rank_streams.h"
#include "status/status.h"

namespace acp::launcher {

/// Forks the keeper, which starts every rank of the host with its streams and
/// its end of the bootstrap socket. Fails with kSystem, logged.
[[nodiscard]] Status start_ranks(const HostWork& work,
                                 std::span<const RankStreams> streams,
                                 std::span<const UniqueFd> bootstrap_ends,
                                 const InheritedState& inherited,
                                 KeeperConnection& keeper);

/// Why a rank has never run its program.
struct FailedStart {
  int status = 0;  ///< Exit status for acprun.
  Reason reason;
};

/// Judges the rank in this slot. `stage` and `error` are those that the exec
/// shim reported.
FailedStart judge_failed_start(const HostWork& work,
                               std::uint32_t slot,
                               SpawnStage stage,
                               int error);

/// Judges a rank for which the keeper could not make a process.
FailedStart judge_failed_fork(int error);

/// Advice to the user for an errno of fork.
std::string advise_on_fork(int error);

}  // namespace acp::launcher
