// The allocation functions of a test program. Every thread of the process calls
// them, from its first instruction on, so they use nothing but atomics.
#include "fault/refused_memory.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace refused {

namespace {

// Counters of all threads; relaxed, because no other data belong to them.
std::atomic<bool> g_is_on{false};
std::atomic<bool> g_is_limit{false};
std::atomic<long> g_left{0};   ///< Allocations that succeed first.
std::atomic<long> g_hits{0};   ///< Allocations that were refused.
std::atomic<long> g_freed{0};  ///< Bytes that were freed under the limit.

bool refuses(std::size_t bytes) noexcept {
  if (!g_is_on.load(std::memory_order_relaxed)) return false;
  const long left = g_left.fetch_sub(1, std::memory_order_relaxed);
  if (left > 1) return false;
  if (!g_is_limit.load(std::memory_order_relaxed)) {
    if (left == 1) g_hits.fetch_add(1, std::memory_order_relaxed);
    return left == 1;
  }
  const auto size = static_cast<long>(bytes);
  if (g_freed.fetch_sub(size, std::memory_order_relaxed) >= size) return false;
  g_freed.fetch_add(size, std::memory_order_relaxed);
  g_hits.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void note_free(void* memory) noexcept {
  if (memory != nullptr && g_is_on.load(std::memory_order_relaxed) &&
      g_is_limit.load(std::memory_order_relaxed)) {
    g_freed.fetch_add(static_cast<long>(::malloc_usable_size(memory)),
                      std::memory_order_relaxed);
  }
}

}  // namespace

void begin(Mode mode, long nth) {
  g_hits = 0;
  g_freed = 0;
  g_left = nth;
  g_is_limit = mode == Mode::kLimit;
  g_is_on = true;
}

std::unique_ptr<char[]> begin_without_reserve() {
  begin(Mode::kLimit, 1);
  return std::make_unique<char[]>(1000);
}

bool end() {
  g_is_on = false;
  return g_hits != 0;
}

}  // namespace refused

#ifndef __SANITIZE_ADDRESS__
// The names are those of the C library.
// NOLINTBEGIN(*-reserved-identifier, readability-*)
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

static void* refuse() {
  errno = ENOMEM;
  return nullptr;
}

void* malloc(size_t size) {
  return refused::refuses(size) ? refuse() : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return refused::refuses(count * size) ? refuse() : __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  if (refused::refuses(size)) return refuse();
  return __libc_realloc(memory, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return refused::refuses(size) ? refuse() : __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (refused::refuses(size)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return 0;
}

void free(void* memory) {
  refused::note_free(memory);
  __libc_free(memory);
}

}  // extern "C"
// NOLINTEND(*-reserved-identifier, readability-*)
#else

// The standard describes this loop. The sanitizer has its own form of each new,
// so those for single objects are all here: memory that the sanitizer's new has
// made may not reach the delete below.
void* operator new(std::size_t size) {
  for (;;) {
    if (!refused::refuses(size)) {
      if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* memory) noexcept {
  refused::note_free(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  operator delete(memory);
}
#endif
