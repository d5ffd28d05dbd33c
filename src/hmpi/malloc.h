// The program's malloc and its kind give large blocks from library memory.
#pragma once

#include <cstddef>

namespace hmpi {

/// From now on blocks of at least `from` bytes come from this process's heap,
/// as long as it has room.
void begin_malloc(std::size_t from) noexcept;

/// No further blocks come from the heap. Earlier blocks stay valid, and may be
/// freed.
void end_malloc() noexcept;

}  // namespace hmpi
