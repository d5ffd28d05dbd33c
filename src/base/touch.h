// Accesses registered memory that may be gone, without ending the process when
// it is.
//
// The program may unmap memory, or make it read-only, before it unregisters it.
// An access for another process must then fail and not end this one; see
// docs/decisions/0007-touch-before-access.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acp {

enum class Access : std::uint8_t { kRead, kWrite };

/// While a FaultHandler exists, the functions below survive memory that is not
/// mapped. It handles SIGSEGV and SIGBUS. Other faults go to the handler that
/// the program had installed before, or end the process as they would without
/// any handler. Thread-safe.
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

/// Copies bytes that the program may have unmapped, and may be writing. Returns
/// false when some cannot be read; then the first bytes of `to` may have been
/// written. Slower than memcpy. Faults are as in can_touch().
bool copy_if_mapped(std::byte* to,
                    const std::byte* from,
                    std::size_t size) noexcept;

}  // namespace acp
