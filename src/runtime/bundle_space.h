// Bytes of any length in the key-value space of a launcher other than acprun:
// each bundle is split into values that the launcher can carry (host_bundle.h).
// Used by the bootstrap under such a launcher.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/process_manager.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// Locks nothing: the functions may run beside each other as those of
/// ProcessManager may, so get() beside any function. Keeps no state.
class BundleSpace {
 public:
  /// `manager` must outlive this.
  explicit BundleSpace(ProcessManager& manager) : manager_(manager) {}

  /// Puts the bytes under a key, before a fence. Each key once. kTooLarge,
  /// kTimedOut and the failures of ProcessManager::put(), logged.
  [[nodiscard]] Status put(const std::string& key,
                           std::string_view bytes,
                           const WaitLimit& limit);

  /// The bytes that `owner` has put under a key before the last fence.
  /// kProtocol, kTimedOut and the failures of ProcessManager::get(), logged.
  Result<std::string> get(std::uint32_t owner,
                          const std::string& key,
                          const WaitLimit& limit);

  /// Returns when every rank of the job has called it. kTimedOut, logged, and
  /// kAborted, not logged. kProtocol and kSystem, which the process manager has
  /// logged.
  [[nodiscard]] Status fence(FenceValues values, const WaitLimit& limit);

  /// Logs that a bundle has bytes that no rank of this build puts there, and
  /// returns kProtocol.
  static Status bad_value(std::uint32_t owner, const std::string& key);

 private:
  ProcessManager& manager_;
};

}  // namespace acp::runtime
