// Finds out whether registered memory can be accessed, without ending the
// process when it cannot.
//
// The program may unmap memory, or make it read-only, before it unregisters it.
// A peer's access must then fail and not kill the rank; see
// docs/decisions/0007-touch-before-access.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gmm/address_space.h"

namespace acp::gmm {

enum class Access : std::uint8_t { kRead, kWrite };

/// While a FaultHandler exists, can_touch() survives memory that is not mapped.
/// It handles SIGSEGV and SIGBUS. Faults outside of can_touch() go to the
/// handler that the program had installed before, or end the process as they
/// would without any handler. Thread-safe.
class FaultHandler {
 public:
  FaultHandler() noexcept;
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;
  ~FaultHandler();
};

/// Accesses one byte of each page of a range without changing it. Returns true
/// when every page can be accessed. `size` is not 0. Mapped memory costs a few
/// nanoseconds a page. A fault ends the process unless a FaultHandler exists
/// and the program has not replaced its signal handlers.
bool can_touch(std::byte* address, std::size_t size, Access access) noexcept;

/// can_touch() for memory at a global address of this rank. Library memory is
/// always mapped, so it is not accessed.
inline bool can_touch(const AddressSpace& space,
                      GlobalAddress ga,
                      std::byte* address,
                      std::size_t size,
                      Access access) noexcept {
  return space.codec().index(ga) < kFirstUserKey ||
         can_touch(address, size, access);
}

}  // namespace acp::gmm
