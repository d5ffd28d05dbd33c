// Cores that belong to this job while it runs, so that two jobs of one host
// never bind their ranks to the same ones. docs/decisions/0006 says why so.
#pragma once

#include <vector>

#include "base/host_facts.h"
#include "base/unique_fd.h"

namespace acp::launcher {

/// Processors that are bound to, and claimed, together: a core, or one hardware
/// thread of it.
using Processors = std::vector<unsigned>;

/// The cores of these processors, each with those of its hardware threads that
/// are among them. Ordered by their first processor. A processor of which the
/// kernel says nothing is a core.
std::vector<Processors> cores_of(const CpuMask& cpus);

/// Hardware threads of these processors, one in each set. Threads of different
/// cores come first.
std::vector<Processors> hardware_threads_of(const CpuMask& cpus);

/// Claims of processors. A claim is a lock (flock) on the kernel's own folder
/// of the processor, /sys/devices/system/cpu/cpuN, so nothing is made, and the
/// kernel releases it when its holder dies. The descriptors are close-on-exec.
/// Jobs see each other's claims, of all users, within one network namespace.
class CoreClaims {
 public:
  /// Claims `count` of the sets, the first ones that are free, and returns
  /// them. Fewer: there are not so many, and nothing is claimed.
  std::vector<Processors> take(const std::vector<Processors>& sets,
                               std::size_t count);

 private:
  std::vector<UniqueFd> locks_;
};

}  // namespace acp::launcher
