// can_touch() for memory at a global address. The agent and the engine call it
// before they copy registered memory.
#pragma once

#include <cstddef>

#include "base/touch.h"
#include "gmm/address_space.h"

namespace acp::gmm {

/// can_touch() for memory at a global address of this rank. Library memory is
/// always mapped, so it is not accessed.
inline bool can_touch(const AddressSpace& space,
                      GlobalAddress ga,
                      std::byte* address,
                      std::size_t size,
                      Access access) noexcept {
  return space.codec().index(ga) < kFirstUserKey ||
         acp::can_touch(address, size, access);
}

}  // namespace acp::gmm
