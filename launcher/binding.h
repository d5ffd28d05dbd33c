// Chooses the processors that each rank may use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/host_facts.h"
#include "launcher/core_claims.h"
#include "launcher/options.h"

namespace acp::launcher {

/// A set of processors, with a name for people.
struct CpuSet {
  CpuMask mask;                  ///< Empty: unbound.
  std::string name = "unbound";  ///< "core (cpus 3,11)"
};

/// The processors of each rank. Move-only: the claims last as long as this.
struct Bindings {
  std::vector<CpuSet> ranks;
  CoreClaims claims;
  std::string why_unbound;  ///< "": bound, or unbound as asked for.
};

/// Chooses one set of processors per rank, among those that acprun itself may
/// use. Either all ranks are bound or none; unbound ranks are no error.
///
/// kCore and kHwThread take processors that no other job has claimed. kAuto
/// binds jobs of two and more ranks: to cores if there are enough free ones,
/// else to hardware threads. It binds nothing when `environment`, that of the
/// ranks, asks for several threads in each rank. kNuma shares the NUMA nodes
/// and claims nothing.
Bindings bind_ranks(Binding binding,
                    std::uint32_t ranks,
                    std::span<const std::string> environment);

/// Returns the first variable like OMP_NUM_THREADS whose value is above 1, as
/// "NAME=value"; "" when there is none.
std::string asks_for_threads(std::span<const std::string> environment);

}  // namespace acp::launcher
