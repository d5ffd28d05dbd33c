// The allocation functions of the C library, for the whole program: large
// blocks come from this process's heap in library memory, all others from the
// library behind this one. docs/hmpi.md has the reasons.
//
// malloc is called early, by every thread, and by the dynamic linker, so
// nothing here may allocate or wait.
#include "hmpi/malloc.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hmpi/host_memory.h"
#include "hmpi/log.h"
#include "hmpi/pages.h"

// NOLINTBEGIN(*-no-malloc): these are the functions
namespace hmpi {

namespace {

/// The functions of the library behind this one.
struct Behind {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  void* (*memalign)(std::size_t, std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};

/// Blocks for the dynamic linker while it looks for those functions. They are
/// never freed. In front of each block stands its size.
class EarlyBlocks {
 public:
  void* take(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t wanted = bytes + alignment + sizeof(std::size_t);
    const std::size_t at = used_.fetch_add(wanted, std::memory_order_relaxed);
    if (bytes > room_.size() || at + wanted > room_.size()) {
      return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(&room_[at]);
    const std::uintptr_t block =
        (begin + sizeof(std::size_t) + alignment - 1) & ~(alignment - 1);
    std::memcpy(reinterpret_cast<void*>(block - sizeof bytes), &bytes,
                sizeof bytes);
    return reinterpret_cast<void*>(block);
  }

  bool has(const void* block) const noexcept {
    return reinterpret_cast<std::uintptr_t>(block) -
               reinterpret_cast<std::uintptr_t>(room_.data()) <
           room_.size();
  }

  static std::size_t size_of(const void* block) noexcept {
    std::size_t bytes = 0;
    std::memcpy(&bytes, static_cast<const std::byte*>(block) - sizeof bytes,
                sizeof bytes);
    return bytes;
  }

 private:
  std::atomic<std::size_t> used_ = 0;
  alignas(64) std::array<std::byte, std::size_t{64} << 10> room_{};
};

constinit EarlyBlocks g_early;

void* early_malloc(std::size_t bytes) {
  return g_early.take(bytes, alignof(std::max_align_t));
}

void* early_calloc(std::size_t count, std::size_t size) {
  return early_malloc(count * size);  // The room is zero, and used once.
}

void* early_realloc(void* block, std::size_t bytes) {
  void* more = early_malloc(bytes);
  if (more != nullptr && block != nullptr) {
    std::memcpy(more, block, std::min(bytes, EarlyBlocks::size_of(block)));
  }
  return more;
}

void early_free(void* /*block*/) {}

void* early_memalign(std::size_t alignment, std::size_t bytes) {
  return g_early.take(bytes, std::max(alignment, alignof(std::max_align_t)));
}

constexpr Behind kEarly{early_malloc, early_calloc,   early_realloc,
                        early_free,   early_memalign, nullptr};

void find_behind() noexcept;

/// Until the functions are known each call looks for them.
constinit Behind g_behind{[](std::size_t bytes) {
                            find_behind();
                            return g_behind.malloc(bytes);
                          },
                          [](std::size_t count, std::size_t size) {
                            find_behind();
                            return g_behind.calloc(count, size);
                          },
                          [](void* block, std::size_t bytes) {
                            find_behind();
                            return g_behind.realloc(block, bytes);
                          },
                          [](void* block) {
                            find_behind();
                            g_behind.free(block);
                          },
                          [](std::size_t alignment, std::size_t bytes) {
                            find_behind();
                            return g_behind.memalign(alignment, bytes);
                          },
                          [](void* block) {
                            find_behind();
                            return g_behind.malloc_usable_size(block);
                          }};

template <typename Function>
void find(const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// In the first call of the process, which has one thread then.
void find_behind() noexcept {
  g_behind = kEarly;
  Behind found{};
  find("malloc", found.malloc);
  find("calloc", found.calloc);
  find("realloc", found.realloc);
  find("free", found.free);
  find("memalign", found.memalign);
  find("malloc_usable_size", found.malloc_usable_size);
  g_behind = found;
}

/// Blocks from this size on come from the heap; none before MPI_Init and in a
/// forked child.
constinit std::atomic<std::size_t> g_from{SIZE_MAX};
constinit std::atomic<bool> g_has_warned{false};

/// Without allocation.
void say(const char* text) noexcept {
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
}

void warn_of_full_heap(std::size_t bytes) noexcept {
  if (g_has_warned.exchange(true)) {
    return;
  }
  std::array<char, 500> text{};
  (void)std::snprintf(
      text.data(), text.size(),
      "HMPI: warning: %s: the heap has no room for %zu bytes; such blocks "
      "are private memory from now on, and their messages are slower; "
      "HMPI_HEAP_SIZE makes it larger, HMPI_HEAP=off does without\n",
      g_who.data(), bytes);
  say(text.data());
}

/// null: this block has to come from the library behind.
void* take_large(std::size_t bytes,
                 std::size_t alignment = Block::kUnit) noexcept {
  void* block = g_host_memory.take(bytes, alignment);
  if (block == nullptr) {
    warn_of_full_heap(bytes);
  }
  return block;
}

bool is_large(std::size_t bytes) noexcept {
  return bytes >= g_from.load(std::memory_order_relaxed);
}

/// Ends the process, as the C library does when it is given a wrong pointer.
[[noreturn]] void refuse(const char* call, const void* block, const char* why) {
  std::array<char, 400> text{};
  (void)std::snprintf(text.data(), text.size(), "HMPI: error: %s: %s(%p): %s\n",
                      g_who.data(), call, block, why);
  say(text.data());
  std::abort();
}

/// The block of the heap that the program passes to free() or realloc().
Block& block_of(const char* call, void* bytes) {
  Block* block = g_host_memory.block_at(bytes);
  if (block == nullptr) {
    refuse(call, bytes, "no block of the heap begins there, or it is free");
  }
  if (block->is_given != 0) {
    refuse(call, bytes, "OPI_Give has passed it to another process");
  }
  if (block->use.load(std::memory_order_relaxed) == Block::Use::kPooled) {
    refuse(call, bytes, "OPI_Free has freed it");
  }
  return *block;
}

void free_block(void* bytes) noexcept {
  if (g_host_memory.contains(bytes)) {
    if (g_host_memory.is_closed()) {
      return;  // The parent has it.
    }
    block_of("free", bytes);
    g_host_memory.give_back(bytes);
  } else if (!g_early.has(bytes)) {
    g_behind.free(bytes);
  }
}

std::size_t usable_size(void* bytes) noexcept {
  if (bytes == nullptr) {
    return 0;
  }
  if (g_host_memory.contains(bytes)) {
    const Block* block = g_host_memory.block_at(bytes);
    return block == nullptr ? 0 : block->capacity();
  }
  return g_early.has(bytes) ? EarlyBlocks::size_of(bytes)
                            : g_behind.malloc_usable_size(bytes);
}

/// A block moves into the heap when it becomes large, and out of it when it
/// becomes small.
void* resize(void* bytes, std::size_t wanted) noexcept {
  if (bytes == nullptr) {
    return std::malloc(wanted);
  }
  const bool is_here = g_host_memory.contains(bytes);
  if (!is_here && !is_large(wanted) && !g_early.has(bytes)) {
    return g_behind.realloc(bytes, wanted);
  }
  if (wanted == 0) {
    free_block(bytes);
    return nullptr;
  }
  const std::size_t size = usable_size(bytes);
  if (is_here && !g_host_memory.is_closed()) {
    Block& block = block_of("realloc", bytes);
    if (wanted <= size && wanted >= size / 2) {
      return bytes;
    }
    if (wanted > size && g_host_memory.grow(block, wanted)) {
      // The pool has sizes of its own, which this one is not any more.
      block.use.store(Block::Use::kTaken, std::memory_order_relaxed);
      return bytes;
    }
  }
  void* moved = std::malloc(wanted);
  if (moved != nullptr) {
    std::memcpy(moved, bytes, std::min(size, wanted));
    free_block(bytes);
  }
  return moved;
}

/// A program may ask for a table of which it uses little. So the pages of a
/// large block go back to the system, and are zero when they are touched.
void* take_zeroed(std::size_t bytes) noexcept {
  auto* block = static_cast<std::byte*>(take_large(bytes));
  if (block == nullptr) {
    return nullptr;
  }
  const Pages pages = whole_pages(block, bytes);
  if (bytes < kReturnedBytes || !return_pages(pages)) {
    return std::memset(block, 0, bytes);
  }
  std::byte* const behind = pages.begin + pages.bytes;
  std::memset(block, 0, static_cast<std::size_t>(pages.begin - block));
  std::memset(behind, 0, static_cast<std::size_t>(block + bytes - behind));
  return block;
}

bool is_power(std::size_t number) noexcept {
  return number != 0 && (number & (number - 1)) == 0;
}

void* align(std::size_t alignment, std::size_t bytes) noexcept {
  if (is_large(bytes) && is_power(alignment)) {
    if (void* block = take_large(bytes, alignment)) {
      return block;
    }
  }
  return g_behind.memalign(alignment, bytes);
}

}  // namespace

void begin_malloc(std::size_t from) noexcept {
  g_from.store(from, std::memory_order_relaxed);
}

void end_malloc() noexcept {
  g_from.store(SIZE_MAX, std::memory_order_relaxed);
}

}  // namespace hmpi

using hmpi::g_behind;

#define HMPI_VISIBLE [[gnu::visibility("default")]]

extern "C" {

HMPI_VISIBLE void* malloc(std::size_t bytes) {
  if (hmpi::is_large(bytes)) {
    if (void* block = hmpi::take_large(bytes)) {
      return block;
    }
  }
  return g_behind.malloc(bytes);
}

HMPI_VISIBLE void free(void* block) {
  const int error = errno;
  if (hmpi::g_host_memory.contains(block) || hmpi::g_early.has(block)) {
    hmpi::free_block(block);
    errno = error;
  } else {
    g_behind.free(block);
  }
}

HMPI_VISIBLE void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes) && hmpi::is_large(bytes)) {
    if (void* block = hmpi::take_zeroed(bytes)) {
      return block;
    }
  }
  return g_behind.calloc(count, size);
}

HMPI_VISIBLE void* realloc(void* block, std::size_t bytes) {
  return hmpi::resize(block, bytes);
}

HMPI_VISIBLE void* reallocarray(void* block,
                                std::size_t count,
                                std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return hmpi::resize(block, bytes);
}

HMPI_VISIBLE void* memalign(std::size_t alignment, std::size_t bytes) {
  return hmpi::align(alignment, bytes);
}

HMPI_VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return hmpi::align(alignment, bytes);
}

HMPI_VISIBLE int posix_memalign(void** block,
                                std::size_t alignment,
                                std::size_t bytes) {
  if (!hmpi::is_power(alignment) || alignment % sizeof(void*) != 0) {
    return EINVAL;
  }
  const int error = errno;
  void* made = hmpi::align(alignment, bytes);
  errno = error;
  if (made == nullptr) {
    return ENOMEM;
  }
  *block = made;
  return 0;
}

HMPI_VISIBLE void* valloc(std::size_t bytes) {
  return hmpi::align(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), bytes);
}

HMPI_VISIBLE void* pvalloc(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return hmpi::align(page, (bytes + page - 1) & ~(page - 1));
}

HMPI_VISIBLE std::size_t malloc_usable_size(void* block) {
  return hmpi::usable_size(block);
}

}  // extern "C"
// NOLINTEND(*-no-malloc)
