// Words that tell the peers of all channels that this rank has left.
// docs/qmp.md, "Leaving".
#pragma once

#include <cstdint>
#include <vector>

#include "acp/gma.h"

namespace qmp {

/// End marks on their way. The caller holds the lock of the process.
class EndMarks {
 public:
  /// Queues the end mark for the half of a peer at `half`: this rank has
  /// started `total` transfers on its own half of the channel.
  void add(acp_ga_t half, bool is_receiver, std::uint64_t total);

  /// Writes queued end marks until the window is full. Returns whether at least
  /// one has left the queue.
  bool send();

 private:
  struct Mark {
    acp_ga_t word;
    std::uint64_t value;
  };

  /// Guarded as the class says. add() adds, and send() removes.
  std::vector<Mark> waiting_;
};

}  // namespace qmp
