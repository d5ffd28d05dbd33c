// acprun's side of the keeper.
#pragma once

#include <sys/types.h>

#include <functional>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/keeper_messages.h"
#include "launcher/spawn.h"

namespace acp::launcher {

/// Used by one thread.
class KeeperConnection {
 public:
  /// Forks the keeper, which starts the ranks; kSystem, logged. The requests
  /// may go when this returns.
  [[nodiscard]] Status start(std::span<const SpawnRequest> requests);

  int fd() const noexcept { return control_.get(); }

  pid_t pid() const noexcept { return pid_; }

  /// Sends an order; a keeper that is gone does not need it.
  void order(KeeperMessageType type, std::int64_t value = 0);

  enum class Received : std::uint8_t { kMessage, kNothing, kClosed };

  /// The next message, if there is one.
  Received receive(KeeperMessage& message);

  /// Waits for the end of the keeper, which is gone; its wait status.
  int collect();

 private:
  UniqueFd control_;
  pid_t pid_ = -1;
};

}  // namespace acp::launcher
