// Words (kPut8 and atomics) that the CPU of this process executes.
#pragma once

#include <cstddef>

#include "gma/operation.h"
#include "gmm/address_space.h"
#include "gmm/doorbell.h"

namespace acp::gma {

/// Executes a word step at `address`, stores its result and rings the doorbell
/// if the step asks for that. Precondition: its way is kLocal.
void run_word(const gmm::AddressSpace& space,
              gmm::ThreadWaker& waker,
              const Step& step,
              std::byte* address);

}  // namespace acp::gma
