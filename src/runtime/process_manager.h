// A launcher that is not acprun, as a rank sees it. It has the number of the
// rank, a key-value space that all ranks of the job share, and a barrier.
//
// There is one implementation for each protocol: pmi1.cc, pmi2.cc, and
// pmix/pmix_client.cc in a module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/node_map.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// Exit status of a job whose ranks did not meet in time; acprun has the same.
inline constexpr int kStatusTimeout = 124;
/// Exit status of a job whose ranks wait for each other in unlike calls; acprun
/// has the same.
inline constexpr int kStatusUnlikeCalls = 125;

/// The way of the values that ranks have put before a fence.
enum class FenceValues : std::uint8_t {
  kToAllHosts,  ///< Each host gets them; then no get() leaves the host.
  kOnRequest    ///< A host gets a value when one of its ranks asks for it.
                ///< PMI-1 and PMI-2 have no such fence: kToAllHosts.
};

/// Used by one thread at a time, but for abort() and get(). Every failure is
/// logged.
class ProcessManager {
 public:
  ProcessManager() = default;
  ProcessManager(const ProcessManager&) = delete;
  ProcessManager& operator=(const ProcessManager&) = delete;
  virtual ~ProcessManager() = default;

  /// The protocol: "pmi1", "pmi2" or "pmix".
  virtual std::string_view name() const noexcept = 0;
  virtual std::uint32_t rank() const noexcept = 0;
  virtual std::uint32_t size() const noexcept = 0;
  /// Most characters of a value.
  virtual std::size_t value_limit() const noexcept = 0;

  /// The host of every rank; empty when the launcher does not tell.
  virtual Result<NodeMap> node_map(const WaitLimit& limit) = 0;

  /// Puts a value into the key-value space, before a fence. Each key once.
  [[nodiscard]] virtual Status put(std::string_view key,
                                   std::string_view value,
                                   const WaitLimit& limit) = 0;
  /// The value that `owner` has put before the last fence. Any thread, also
  /// while another one is in a function of this class.
  virtual Result<std::string> get(std::uint32_t owner,
                                  std::string_view key,
                                  const WaitLimit& limit) = 0;
  /// Returns when every rank of the job has called it, each with the same
  /// `values`. kTimedOut and kAborted, not logged: the limit.
  [[nodiscard]] virtual Status fence(FenceValues values,
                                     const WaitLimit& limit) = 0;

  /// Whether an MPI library of this process uses the same connection to the
  /// launcher, so that get() must not run beside the program's own calls.
  virtual bool shares_connection() const noexcept = 0;

  /// Tells the launcher to end all processes of the job. Any thread, any time.
  virtual void abort(int exit_status, std::string_view text) = 0;

  /// This process may exit from now on. Nothing else is called afterwards.
  virtual void finalize() = 0;

  /// How to notice that the launcher's process on this host is gone.
  virtual DeathWatch death_watch() const noexcept = 0;
};

}  // namespace acp::runtime
