// The allocator behind operator new: an arena for ranks, malloc for the
// explorer. Blocks of the arena have a size of a power of two and a list of
// free blocks each. Everything it knows lies in the arena itself.
#include "explore/arena.h"

#include <sys/mman.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace explore {

bool g_is_in_rank = false;

namespace {

constexpr std::size_t kArenaBytes = std::size_t{1} << 30;
constexpr std::size_t kClasses = 32;
constexpr std::size_t kHeader = 16;  ///< In front of each block: its class.

struct Head {
  std::size_t used = 4096;  ///< Bytes that blocks were ever made of.
  std::size_t in_use = 0;
  void* free[kClasses] = {};
};

/// Made at the first allocation of a rank.
std::byte* arena() {
  static std::byte* const memory_of_ranks = [] {
    void* memory = ::mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      std::perror("explore: no memory for the arena");
      std::abort();
    }
    new (memory) Head;
    return static_cast<std::byte*>(memory);
  }();
  return memory_of_ranks;
}

Head& head() {
  return *reinterpret_cast<Head*>(arena());
}

void* take(std::size_t bytes) {
  const auto number = static_cast<std::size_t>(
      std::bit_width(bytes + kHeader - 1 < 31 ? 31 : bytes + kHeader - 1));
  Head& all = head();
  const std::size_t size = std::size_t{1} << number;
  all.in_use += size;
  if (void* block = all.free[number]; block != nullptr) {
    all.free[number] = *static_cast<void**>(block);
    return block;
  }
  if (all.used + size > kArenaBytes) {
    std::fputs("explore: the arena is full\n", stderr);
    std::abort();
  }
  std::byte* block = arena() + all.used + kHeader;
  all.used += size;
  *reinterpret_cast<std::size_t*>(block - kHeader) = number;
  return block;
}

bool is_in_arena(const void* block) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(block) -
                                  arena()) < kArenaBytes;
}

void give(void* block) {
  const std::size_t number =
      *reinterpret_cast<std::size_t*>(static_cast<std::byte*>(block) - kHeader);
  Head& all = head();
  all.in_use -= std::size_t{1} << number;
  *static_cast<void**>(block) = all.free[number];
  all.free[number] = block;
}

void* allocate(std::size_t bytes) {
  if (g_is_in_rank) {
    return take(bytes);
  }
  void* block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) {
    std::abort();
  }
  return block;
}

void release(void* block) noexcept {
  if (block == nullptr) {
    return;
  }
  if (is_in_arena(block)) {
    give(block);
  } else {
    std::free(block);
  }
}

}  // namespace

void* arena_begin() {
  return arena();
}

std::size_t arena_bytes() {
  return kArenaBytes;
}

std::size_t arena_in_use() {
  return head().in_use;
}

}  // namespace explore

void* operator new(std::size_t bytes) {
  return explore::allocate(bytes);
}

void* operator new[](std::size_t bytes) {
  return explore::allocate(bytes);
}

void operator delete(void* block) noexcept {
  explore::release(block);
}

void operator delete[](void* block) noexcept {
  explore::release(block);
}

void operator delete(void* block, std::size_t /*bytes*/) noexcept {
  explore::release(block);
}

void operator delete[](void* block, std::size_t /*bytes*/) noexcept {
  explore::release(block);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  // Blocks are aligned to 16 behind their header; a stricter
  // alignment takes a part of a larger block, which is given back whole.
  const auto to = static_cast<std::size_t>(alignment);
  if (!explore::g_is_in_rank) {
    return std::aligned_alloc(to, (bytes + to - 1) / to * to);
  }
  auto* block = static_cast<std::byte*>(explore::allocate(bytes + to + 16));
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  std::byte* aligned = block + ((at + to - 1) / to * to - at);
  if (aligned != block && aligned - block < 16) {
    aligned += to;
  }
  if (aligned != block) {
    // The offset, where release with an alignment finds it.
    *reinterpret_cast<std::size_t*>(aligned - 8) =
        static_cast<std::size_t>(aligned - block) | std::size_t{1} << 63;
  }
  return aligned;
}

void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
  if (block != nullptr && explore::is_in_arena(block)) {
    const std::size_t mark =
        *reinterpret_cast<std::size_t*>(static_cast<std::byte*>(block) - 8);
    if ((mark >> 63) != 0) {
      block = static_cast<std::byte*>(block) - (mark & ~(std::size_t{1} << 63));
    }
  }
  explore::release(block);
}

void operator delete(void* block,
                     std::size_t /*bytes*/,
                     std::align_val_t alignment) noexcept {
  operator delete(block, alignment);
}
