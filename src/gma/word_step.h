// Words (kPut8 and atomics) that the CPU of this process executes.
#pragma once

#include <cstddef>

#include "gma/operation.h"
#include "gma/route.h"
#include "gmm/address_space.h"
#include "gmm/doorbell.h"

namespace acp::gma {

/// The way of a word step whose `remote` was looked up.
inline WordWay word_way(const gmm::AddressSpace& space,
                        const Step& step,
                        const gmm::Target& remote) noexcept {
  const bool cpu_may = step.opcode == protocol::Opcode::kPut8 ||
                       space.has_cpu_atomics(step.width);
  return route_word(end_of(remote), cpu_may ? CpuMay::kYes : CpuMay::kNo);
}

/// Executes a word step at `address`, stores its result and rings the doorbell
/// if the step asks for that. Precondition: word_way() is kHere.
void run_word(const gmm::AddressSpace& space,
              gmm::ThreadWaker& waker,
              const Step& step,
              std::byte* address);

}  // namespace acp::gma
