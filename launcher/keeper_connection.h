// acprun's connection to the keeper: a socket, and the keeper's process.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/unique_fd.h"
#include "launcher/keeper_messages.h"
#include "launcher/spawn.h"
#include "status/result.h"

namespace acp::launcher {

/// Used by one thread, which alone touches all fields.
class KeeperConnection {
 public:
  /// Forks the keeper, which starts the ranks from its copy of the requests. It
  /// removes `copied_program` at its end, or when this process is gone. Fails
  /// with kSystem, logged.
  [[nodiscard]] Status start(std::span<const SpawnRequest> requests,
                             const std::string& copied_program);

  int fd() const noexcept { return control_.get(); }

  pid_t pid() const noexcept { return pid_; }

  /// Sends an order. A keeper that is gone does not get it, which is no error.
  void order(KeeperMessageType type, std::int64_t value = 0);

  /// kClosed: the keeper has ended.
  enum class Received : std::uint8_t { kMessage, kNothing, kClosed };

  /// Takes the next message without waiting. `message` has a meaning with
  /// kMessage only.
  Received receive(KeeperMessage& message);

  /// Returns the keeper's wait status. Waits for its end, so it is called after
  /// kClosed.
  int collect();

 private:
  UniqueFd control_;
  pid_t pid_ = -1;
};

}  // namespace acp::launcher
