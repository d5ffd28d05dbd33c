// Copies of messages of a few KiB.
#pragma once

#include <cstddef>
#include <cstring>

namespace hmpi {

/// Copies as memcpy does. From some KiB on, the C library copies by `rep movsb`
/// (ERMS). Where the target's lines are in another processor's cache, as those
/// of a message are, that takes several times as long as moves of registers.
inline void copy_message(std::byte* to,
                         const std::byte* from,
                         std::size_t bytes) noexcept {
  constexpr std::size_t kStep = 128;
  constexpr std::size_t kLongest = std::size_t{16} << 10;
  if (bytes <= kLongest) {
    for (; bytes >= kStep; bytes -= kStep, to += kStep, from += kStep) {
      std::memcpy(to, from, kStep);
    }
  }
  if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace hmpi
