// Which processors each rank may use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/host_facts.h"
#include "launcher/core_claims.h"
#include "launcher/options.h"

namespace acp::launcher {

/// A mask, and its name for people.
struct CpuSet {
  CpuMask mask;                  ///< Empty: unbound.
  std::string name = "unbound";  ///< "core (cpus 3,11)"
};

/// The ranks' places. Move-only: the claims last as long as this.
struct Bindings {
  std::vector<CpuSet> ranks;
  CoreClaims claims;
  std::string why_unbound;  ///< "": they are bound, or were not to be.
};

/// One set per rank, inside of what acprun itself may use; all of them or none
/// are bound, and that is never an error.
///
/// kCore and kHwThread take those that no other job has claimed. kAuto binds
/// two and more ranks, to cores if there are enough free ones, else to hardware
/// threads; not when `environment`, the ranks', asks for several threads in
/// each rank. kNuma shares the NUMA nodes and claims nothing.
Bindings bind_ranks(Binding binding,
                    std::uint32_t ranks,
                    std::span<const std::string> environment);

/// The first variable like OMP_NUM_THREADS that is more than 1; "" for none.
std::string asks_for_threads(std::span<const std::string> environment);

}  // namespace acp::launcher
