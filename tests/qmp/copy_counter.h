// Counts the bytes that this process copies: memcpy, memmove and the kernel's
// copies between processes, from everywhere in it. copy_counter.cc defines
// these functions in the executable, so all shared libraries call them.
#pragma once

#include <cstdint>

namespace copy_counter {

/// Smaller copies are not counted: words, grants, names, and the 16 steps of 48
/// bytes of the longest chain.
inline constexpr std::uint64_t kLeast = 16 * 48 + 1;

/// Bytes copied since the last call. Thread-safe.
std::uint64_t take() noexcept;

}  // namespace copy_counter
