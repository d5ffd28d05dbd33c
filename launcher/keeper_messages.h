// Packets on the control socket between acprun and its keeper; both are the
// same program, so the bytes are the struct.
#pragma once

#include <cstdint>
#include <type_traits>

namespace acp::launcher {

enum class KeeperMessageType : std::uint32_t {
  kSignal,       ///< To the keeper. value: signal for every rank.
  kEnd,          ///< To the keeper. value: milliseconds until SIGKILL.
  kKill,         ///< To the keeper.
  kStarted,      ///< From it. rank, value: process id.
  kStartFailed,  ///< From it. rank, value: errno of the fork.
  kExited,       ///< From it. rank, value: wait status, step, error.
};

struct KeeperMessage {
  KeeperMessageType type = KeeperMessageType::kKill;
  std::uint32_t rank = 0;
  std::int64_t value = 0;
  std::int32_t step = 0;   ///< SpawnStep that failed, 0: none.
  std::int32_t error = 0;  ///< Its errno.
};

static_assert(std::is_trivially_copyable_v<KeeperMessage>);

}  // namespace acp::launcher
