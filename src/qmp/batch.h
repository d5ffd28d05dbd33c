// Operations that one start has posted to peers on other hosts with ACPX_HOLD.
// All leave together at the end of the start.
#pragma once

#include "acp/extension.h"

namespace qmp {

/// The caller holds the lock of the process, and calls send() at the end.
class Batch {
 public:
  /// An operation was posted with ACPX_HOLD.
  void add() { is_holding_ = true; }

  void send() {
    if (is_holding_) {
      is_holding_ = false;
      acpx_flush();
    }
  }

 private:
  bool is_holding_ = false;  ///< Written by add() and send(), under the lock.
};

}  // namespace qmp
