// Refuses memory to this process. It replaces operator new and, without a
// sanitizer, malloc as well.
#pragma once

#include <cstdint>

namespace refused {

enum class Mode : std::uint8_t {
  kOnce,   ///< One allocation fails, and those after it succeed.
  kLimit,  ///< From then on the process has no more than it had, as under
           ///< ulimit -v: only memory that was freed can be had again.
};

/// The `nth` allocation from now on fails, in whatever thread.
void begin(Mode mode, long nth);

/// Ends it; true when an allocation has failed.
bool end();

}  // namespace refused
