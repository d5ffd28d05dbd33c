// Refuses memory to this process. It replaces operator new and, without a
// sanitizer, malloc as well.
#pragma once

#include <cstdint>
#include <memory>

namespace refused {

enum class Mode : std::uint8_t {
  kOnce,   ///< One allocation fails, and those after it succeed.
  kLimit,  ///< From then on the process has no more than it had, as under
           ///< ulimit -v: only memory that was freed can be had again.
};

/// The `nth` allocation from now on fails, in whatever thread.
void begin(Mode mode, long nth);

/// From now on the process has no more memory than it had, and the reserve is
/// incomplete: it has given way for the memory that is returned.
std::unique_ptr<char[]> begin_without_reserve();

/// Ends it; true when an allocation has failed.
bool end();

}  // namespace refused
