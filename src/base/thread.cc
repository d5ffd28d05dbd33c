// Starts threads with blocked signals. The progress thread, the watch over the
// host, wakers of other processes and the modules of foreign libraries start
// here. May not change the mask of the caller.
#include "base/thread.h"

#include <system_error>
#include <utility>

#include "base/blocked_signals.h"
#include "base/log.h"

namespace acp {

std::optional<std::thread> start_thread(const char* what,
                                        std::function<void()> work) {
  const BlockedSignals blocked;
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    log_error("starting {}: {}", what, error.what());
    return std::nullopt;
  }
}

}  // namespace acp
