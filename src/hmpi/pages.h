// Whole pages of memory, for what the kernel does to pages.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hmpi {

/// Bytes of a page of the processors that ACP runs on.
inline constexpr std::size_t kPageBytes = 4096;

/// A block of the heap of this size or more gives its pages to the system when
/// it is freed, as the C library does.
inline constexpr std::size_t kReturnedBytes = std::size_t{32} << 20;

struct Pages {
  std::byte* begin;
  std::size_t bytes;  ///< 0: no page.
};

/// The pages that lie in this memory as a whole. Others have bytes of
/// neighbours.
inline Pages whole_pages(const void* memory, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kPageBytes - 1) & ~(kPageBytes - 1);
  const std::uintptr_t last = (begin + bytes) & ~(kPageBytes - 1);
  return {reinterpret_cast<std::byte*>(first), last > first ? last - first : 0};
}

/// Gives pages of shared memory to the system: they are zero when they are
/// touched the next time. False: it does not take them, and nothing has
/// changed.
inline bool return_pages(const Pages& pages) noexcept {
  return pages.bytes == 0 ||
         ::madvise(pages.begin, pages.bytes, MADV_REMOVE) == 0;
}

}  // namespace hmpi
