// A library for LD_PRELOAD: malloc refuses everything from the REFUSE_AT-th
// allocation on, in processes whose name is REFUSE_IN. A name that a process
// gives itself later counts as well.
#include <sys/prctl.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

// The names are those of the C library.
// NOLINTBEGIN(*-reserved-identifier, readability-*)
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);

static bool refuses() {
  static std::atomic<long> count{0};
  const char* at = std::getenv("REFUSE_AT");
  const char* in = std::getenv("REFUSE_IN");
  char name[16] = "";
  ::prctl(PR_GET_NAME, name);
  if (at == nullptr || in == nullptr || std::strcmp(name, in) != 0 ||
      ++count < std::strtol(at, nullptr, 10)) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

void* malloc(size_t size) {
  return refuses() ? nullptr : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return refuses() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  return refuses() ? nullptr : __libc_realloc(memory, size);
}

}  // extern "C"
// NOLINTEND(*-reserved-identifier, readability-*)
