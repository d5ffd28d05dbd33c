// A look at a rank, made on its host: the words of its record in the host
// segment and of /proc. The summary and the watchdog judge it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_state.h"
#include "protocol/host_segment.h"
#include "protocol/traffic.h"

namespace acp::launcher {

/// Plain value.
struct RankLook {
  std::uint32_t launch_rank = 0;  ///< Number at launch.
  std::uint32_t rank = 0;         ///< Present number; acp_reset changes it.
  std::uint32_t wait_kind = 0;    ///< protocol::WaitKind.
  std::uint32_t wait_peer = protocol::kNoSlot;
  std::string wait_name;
  std::uint64_t passes = 0;
  std::uint64_t waits = 0;
  std::uint64_t arrivals = 0;
  protocol::Traffic traffic;
  ProcessState process;
};

/// Looks at every process of the host. `pids` has the kernel's numbers by slot;
/// 0 is a process that is not running.
std::vector<RankLook> look_at_ranks(const protocol::HostSegment& segment,
                                    std::span<const std::uint32_t> pids);

std::string encode_looks(const std::vector<RankLook>& looks);

/// nullopt: bytes that no acprun of this version would send, for a job of so
/// many ranks.
std::optional<std::vector<RankLook>> decode_looks(std::string_view bytes,
                                                  std::uint32_t ranks);

}  // namespace acp::launcher
