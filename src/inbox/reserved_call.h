// Memory for the calls of a library above ACP. A call that has begun cannot be
// undone half-way: a peer waits for its message, or part of a list is changed.
// So a public function of QMP and of the older interfaces begins only when ACP
// has its reserve of memory, as ACP's own functions do. Any thread.
#pragma once

#include "acp/extension.h"

namespace inbox {

/// A call of the program. While it lives, an allocation of this thread that
/// fails takes from ACP's reserve. Calls nest; only the outermost call asks for
/// the reserve.
class ReservedCall {
 public:
  ReservedCall() noexcept : outer_lacks_(lacks()) {
    if (acpx_enter_reserve() != 0) {
      lacks() = true;
    }
  }

  ReservedCall(const ReservedCall&) = delete;
  ReservedCall& operator=(const ReservedCall&) = delete;

  ~ReservedCall() {
    acpx_leave_reserve();
    lacks() = outer_lacks_;
  }

  /// Whether the reserve was incomplete when this thread's call began. A
  /// function that can fail then refuses. A function that frees memory goes on.
  static bool lacks_memory() noexcept { return lacks(); }

  /// The failure of such a call: a format with the name of the function.
  static constexpr const char* kRefusal =
      "%s: no memory: the system refuses what ACP keeps in reserve; the call "
      "has done nothing, and may be repeated";

 private:
  static bool& lacks() noexcept {
    thread_local bool value = false;
    return value;
  }

  bool outer_lacks_;
};

}  // namespace inbox
