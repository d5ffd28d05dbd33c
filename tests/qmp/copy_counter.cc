// Replaces memcpy, memmove and the copies of the kernel in this executable by
// functions that count.
#include "copy_counter.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

namespace {

std::atomic<std::uint64_t> copied{0};

void count(std::uint64_t bytes) noexcept {
  if (bytes >= copy_counter::kLeast) {
    copied.fetch_add(bytes, std::memory_order_relaxed);
  }
}

ssize_t count_result(long bytes) noexcept {
  if (bytes > 0) {
    count(static_cast<std::uint64_t>(bytes));
  }
  return bytes;
}

}  // namespace

namespace copy_counter {

std::uint64_t take() noexcept {
  return copied.exchange(0, std::memory_order_relaxed);
}

}  // namespace copy_counter

extern "C" {

// Copies byte by byte. Compiler options keep the loops from becoming calls of
// these functions.
[[gnu::visibility("default")]] void* memmove(void* dest,
                                             const void* src,
                                             std::size_t n) {
  count(n);
  auto* target = static_cast<unsigned char*>(dest);
  const auto* source = static_cast<const unsigned char*>(src);
  if (target <= source) {
    for (std::size_t i = 0; i < n; ++i) {
      target[i] = source[i];
    }
  } else {
    for (std::size_t i = n; i-- > 0;) {
      target[i] = source[i];
    }
  }
  return dest;
}

[[gnu::visibility("default")]] void* memcpy(void* dest,
                                            const void* src,
                                            std::size_t n) {
  return memmove(dest, src, n);
}

[[gnu::visibility("default")]] ssize_t process_vm_readv(pid_t pid,
                                                        const iovec* lvec,
                                                        unsigned long liovcnt,
                                                        const iovec* rvec,
                                                        unsigned long riovcnt,
                                                        unsigned long flags) {
  return count_result(::syscall(SYS_process_vm_readv, pid, lvec, liovcnt, rvec,
                                riovcnt, flags));
}

[[gnu::visibility("default")]] ssize_t process_vm_writev(pid_t pid,
                                                         const iovec* lvec,
                                                         unsigned long liovcnt,
                                                         const iovec* rvec,
                                                         unsigned long riovcnt,
                                                         unsigned long flags) {
  return count_result(::syscall(SYS_process_vm_writev, pid, lvec, liovcnt, rvec,
                                riovcnt, flags));
}

}  // extern "C"
