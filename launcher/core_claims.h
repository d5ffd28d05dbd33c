// Claims cores for this job while it runs, so that two jobs of one host never
// bind their ranks to the same cores. docs/decisions/0006 has the reasons.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/host_facts.h"
#include "base/unique_fd.h"

namespace acp::launcher {

/// Processors that a rank is bound to together: all of a core, or one
/// hardware thread.
using Processors = std::vector<unsigned>;

/// Groups the processors by core, ordered by their first processor. Hardware
/// threads outside of `cpus` are left out. A processor of which the kernel says
/// nothing is a core of its own.
std::vector<Processors> cores_of(const CpuMask& cpus);

/// Returns the processors in sets of one. The first hardware threads of all
/// cores come before the second ones.
std::vector<Processors> hardware_threads_of(const CpuMask& cpus);

/// The result of CoreClaims::take.
struct Taken {
  std::vector<Processors> sets;
  /// Why a set that is not taken cannot be claimed by any job; "": another job
  /// has it, or no set is missing.
  std::string obstacle;
};

/// Claims of processors. A claim is a lock (flock) on the kernel's own folder
/// of the processor, /sys/devices/system/cpu/cpuN. So nothing is made, and the
/// kernel releases it when its holder dies. The descriptors are close-on-exec.
/// Jobs see each other's claims, of all users, within one network namespace.
class CoreClaims {
 public:
  /// `cpus`: the folder that has one for each processor.
  explicit CoreClaims(std::string cpus = "/sys/devices/system/cpu")
      : cpus_(std::move(cpus)) {}

  /// Claims the first `count` free sets and returns them. When fewer are free,
  /// it returns those and claims nothing.
  Taken take(const std::vector<Processors>& sets, std::size_t count);

 private:
  std::string cpus_;
  std::vector<UniqueFd> locks_;  ///< Open folders with a lock on each.
};

}  // namespace acp::launcher
