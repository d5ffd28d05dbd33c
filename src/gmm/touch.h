// Whether registered memory can be touched without ending this process.
//
// The program may unmap memory, or make it read-only, before it unregisters it.
// A peer's access must then fail, and not kill the rank. docs/decisions/
// 0007-touch-before-access.md says why it is done this way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gmm/address_space.h"

namespace acp::gmm {

enum class Access : std::uint8_t { kRead, kWrite };

/// While one exists, can_touch() survives memory that is not there. Handles
/// SIGSEGV and SIGBUS; faults from elsewhere go to the handler that was there
/// before, or end the process as if there were none. Thread-safe.
class FaultHandler {
 public:
  FaultHandler() noexcept;
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;
  ~FaultHandler();
};

/// Touches one byte of each page of a range, and changes none: true when all
/// of them can be accessed. `size` is not 0. Takes a few nanoseconds for memory
/// that is there. Needs a FaultHandler that nobody has replaced, or a fault
/// ends the process.
bool can_touch(std::byte* address, std::size_t size, Access access) noexcept;

/// can_touch() for memory at a global address of mine. Library memory is always
/// there, and is not touched.
inline bool can_touch(const AddressSpace& space,
                      GlobalAddress ga,
                      std::byte* address,
                      std::size_t size,
                      Access access) noexcept {
  return space.codec().index(ga) < kFirstUserKey ||
         can_touch(address, size, access);
}

}  // namespace acp::gmm
