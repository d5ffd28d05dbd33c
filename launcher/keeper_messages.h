// Packets on the control socket between acprun and its keeper. Both are one
// program, forked, so a packet is the bytes of the struct.
#pragma once

#include <cstdint>
#include <type_traits>

namespace acp::launcher {

enum class KeeperMessageType : std::uint32_t {
  kSignal,       ///< To keeper. value: signal for every rank.
  kEnd,          ///< To keeper. value: milliseconds until SIGKILL.
  kKill,         ///< To keeper.
  kAlive,        ///< To keeper, in a job on several hosts, every 3 s.
  kPause,        ///< To keeper. The sender is about to be stopped: its silence
                 ///< is no death.
  kStarted,      ///< From keeper. slot; value: process id.
  kStartFailed,  ///< From keeper. slot; value: errno of the fork.
  kExited,       ///< From keeper. slot; value: wait status; stage; error.
};

struct KeeperMessage {
  KeeperMessageType type = KeeperMessageType::kKill;
  std::uint32_t slot = 0;
  std::int64_t value = 0;
  std::int32_t stage = 0;  ///< SpawnStage that failed, 0: none.
  std::int32_t error = 0;  ///< Its errno.
};

static_assert(std::is_trivially_copyable_v<KeeperMessage>);

}  // namespace acp::launcher
