// Functions of the system that wait, wake, give up the core or move bytes. The
// linker leads the calls of instrumented code here (--wrap). Outside of the
// threads of a schedule the real function does the work.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/run.h"

namespace {

using kernels::Run;
using kernels::the_run;

std::uintptr_t number(const volatile void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// Without a mask of bits: the product and libstdc++ use none.
long futex(long word, long operation, long value, long limit, const void* code) {
  const auto at = static_cast<std::uintptr_t>(word);
  const int command = static_cast<int>(operation) & FUTEX_CMD_MASK;
  if (command == FUTEX_WAKE) {
    return the_run().futex_wake(at, static_cast<int>(value), code);
  }
  const auto* time = reinterpret_cast<const timespec*>(limit);
  const std::int64_t limit_ns =
      time == nullptr ? -1
                      : time->tv_sec * std::int64_t{1'000'000'000} + time->tv_nsec;
  switch (the_run().futex_wait(at, static_cast<std::uint32_t>(value), limit_ns,
                               code)) {
    case Run::Slept::kWoken: return 0;
    case Run::Slept::kUnlike: errno = EAGAIN; return -1;
    case Run::Slept::kTimedOut: errno = ETIMEDOUT; return -1;
  }
  return -1;
}

}  // namespace

// NOLINTBEGIN: the linker's names.
extern "C" {

long __real_syscall(long number, ...);
int __real_sched_yield();
int __real_pthread_mutex_lock(pthread_mutex_t*);
int __real_pthread_mutex_trylock(pthread_mutex_t*);
int __real_pthread_mutex_unlock(pthread_mutex_t*);
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);

long __wrap_syscall(long call, ...) {
  va_list list;
  va_start(list, call);
  long arguments[6];
  for (long& argument : arguments) {
    argument = va_arg(list, long);
  }
  va_end(list);
  if (the_run().is_in_thread()) {
    if (call == SYS_futex) {
      return futex(arguments[0], arguments[1], arguments[2], arguments[3],
                   __builtin_return_address(0));
    }
    if (call == SYS_membarrier) {
      the_run().fence_all_threads(__builtin_return_address(0));
      return 0;
    }
  }
  return __real_syscall(call, arguments[0], arguments[1], arguments[2],
                        arguments[3], arguments[4], arguments[5]);
}

int __wrap_sched_yield() {
  if (the_run().is_in_thread()) {
    the_run().yield(__builtin_return_address(0));
    return 0;
  }
  return __real_sched_yield();
}

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (the_run().is_in_thread()) {
    the_run().lock(number(mutex), __builtin_return_address(0));
    return 0;
  }
  return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (the_run().is_in_thread()) {
    return the_run().try_lock(number(mutex), __builtin_return_address(0))
               ? 0
               : EBUSY;
  }
  return __real_pthread_mutex_trylock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (the_run().is_in_thread()) {
    the_run().unlock(number(mutex), __builtin_return_address(0));
    return 0;
  }
  return __real_pthread_mutex_unlock(mutex);
}

void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
  if (the_run().is_in_thread()) {
    the_run().plain(number(from), size, false, __builtin_return_address(0));
    the_run().plain(number(to), size, true, __builtin_return_address(0));
  }
  return __real_memcpy(to, from, size);
}

void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  if (the_run().is_in_thread()) {
    the_run().plain(number(from), size, false, __builtin_return_address(0));
    the_run().plain(number(to), size, true, __builtin_return_address(0));
  }
  return __real_memmove(to, from, size);
}

void* __wrap_memset(void* to, int byte, std::size_t size) {
  if (the_run().is_in_thread()) {
    the_run().plain(number(to), size, true, __builtin_return_address(0));
  }
  return __real_memset(to, byte, size);
}

/// ACP_ASSERT of the product.
[[noreturn]] void __wrap__ZN3acp16assertion_failedEPKcS1_i(
    const char* condition, const char* file, int line) {
  the_run().stop_thread(std::string("ACP_ASSERT(") + condition + ") in " +
                        file + ":" + std::to_string(line));
}

}  // extern "C"
// NOLINTEND
