// Keys of complete messages, on their way back to the program.
#pragma once

#include <vector>

#include "middle/channel/site.h"

namespace acp::middle::channel {

/// The keys that an end of a channel has ended. A peer that has used such a key
/// is asked to forget it, which takes a round trip over RDMA; nobody waits for
/// that. Guarded by the lock of the end.
class EndedKeys {
 public:
  explicit EndedKeys(Site& site) : site_(site) {}

  /// Ends a key. No access with it is under way or comes later.
  void end(acp_atkey_t key) {
    if (!give_back(key)) {
      keys_.push_back(key);
    }
  }

  /// Gives keys back that peers have forgotten. True: there was one.
  bool advance() {
    return std::erase_if(
               keys_, [this](acp_atkey_t key) { return give_back(key); }) != 0;
  }

  bool is_empty() const { return keys_.empty(); }

 private:
  bool give_back(acp_atkey_t key) {
    if (acpx_try_unregister_memory(key) == 0) {
      return false;
    }
    site_.keys.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  Site& site_;
  /// end() adds, and advance() removes, under the lock of the end.
  std::vector<acp_atkey_t> keys_;
};

}  // namespace acp::middle::channel
