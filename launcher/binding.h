// Which processors each rank may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/options.h"

namespace acp::launcher {

/// A mask as sched_setaffinity takes it, and its name for people.
struct CpuSet {
  std::vector<unsigned long> mask;  ///< Empty: unbound.
  std::string name = "unbound";     ///< "core 3 (cpus 3,11)".
};

/// One set per rank, inside of what acprun itself may use. All unbound when
/// the binding is kNone or there are fewer cores than ranks, or when the
/// topology cannot be read; never an error. Reading it takes some 20 ms.
std::vector<CpuSet> bind_ranks(Binding binding, std::uint32_t ranks);

}  // namespace acp::launcher
