// The messages that rank 0 keeps for leaders whose connection it takes later
// (host_connections.h).
#pragma once

#include <span>
#include <vector>

#include "runtime/leader_message.h"

namespace acp::runtime {

/// Pure. The lock of HostConnections guards it. It holds one absence of each
/// kind but kResetting, and of kResetting all absences after the most meetings.
class KeptMessages {
 public:
  /// Keeps an absence that changes the words or the judgement of a host which
  /// has only the messages here.
  void keep_absence(const LeaderMessage& message);

  /// Keeps a message of another type for good.
  void keep(const LeaderMessage& message) { messages_.push_back(message); }

  /// In the order in which they have to be sent.
  std::span<const LeaderMessage> messages() const noexcept { return messages_; }

 private:
  std::vector<LeaderMessage> messages_;
};

}  // namespace acp::runtime
