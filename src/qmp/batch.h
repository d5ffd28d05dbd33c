// What one start has posted to peers on other hosts, held back so that it
// leaves together.
#pragma once

#include "acp/extension.h"

namespace qmp {

/// Under the lock of the process. Whoever has one calls send() at the end.
class Batch {
 public:
  /// Something was posted with ACPX_HOLD.
  void add() { is_holding_ = true; }

  void send() {
    if (is_holding_) {
      is_holding_ = false;
      acpx_flush();
    }
  }

 private:
  bool is_holding_ = false;
};

}  // namespace qmp
