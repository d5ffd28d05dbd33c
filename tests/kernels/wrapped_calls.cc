// Functions of the system that wait, wake, give up the core or move bytes. The
// linker leads the calls of instrumented code here (--wrap). Outside of the
// threads of a schedule the real function does the work.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "kernels/run.h"

namespace {

using kernels::Run;
using kernels::the_run;

std::uintptr_t number(const volatile void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// -1: none.
std::int64_t nanoseconds(const timespec* time) {
  return time == nullptr
             ? -1
             : time->tv_sec * std::int64_t{1'000'000'000} + time->tv_nsec;
}

/// Without a mask of bits: the product and libstdc++ use none.
long futex(
    long word, long operation, long value, long limit, const void* code) {
  const auto at = static_cast<std::uintptr_t>(word);
  const int command = static_cast<int>(operation) & FUTEX_CMD_MASK;
  if (command == FUTEX_WAKE) {
    return the_run().futex_wake(at, static_cast<int>(value), code);
  }
  switch (the_run().futex_wait(
      at, static_cast<std::uint32_t>(value),
      nanoseconds(reinterpret_cast<const timespec*>(limit)), code)) {
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
int __real_sched_getcpu();
ssize_t __real_sendto(
    int, const void*, std::size_t, int, const sockaddr*, socklen_t);
ssize_t __real_recv(int, void*, std::size_t, int);
int __real_epoll_pwait2(
    int, epoll_event*, int, const timespec*, const sigset_t*);
std::int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
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

int __wrap_sched_getcpu() {
  return the_run().is_in_thread() ? the_run().core() : __real_sched_getcpu();
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

ssize_t __wrap_sendto(int socket,
                      const void* bytes,
                      std::size_t size,
                      int flags,
                      const sockaddr* to,
                      socklen_t to_size) {
  if (the_run().is_in_thread()) {
    the_run().note_datagram(__builtin_return_address(0));
  }
  return __real_sendto(socket, bytes, size, flags, to, to_size);
}

ssize_t __wrap_recv(int socket, void* bytes, std::size_t size, int flags) {
  if (the_run().is_in_thread()) {
    the_run().look_for_datagram(__builtin_return_address(0));
  }
  return __real_recv(socket, bytes, size, flags);
}

/// Looks without waiting, and sleeps as a thread of the schedule does.
int __wrap_epoll_pwait2(int epoll,
                        epoll_event* events,
                        int most,
                        const timespec* limit,
                        const sigset_t* mask) {
  if (!the_run().is_in_thread()) {
    return __real_epoll_pwait2(epoll, events, most, limit, mask);
  }
  the_run().look_for_datagram(__builtin_return_address(0));
  const timespec none{};
  for (;;) {
    const std::uint64_t seen = the_run().datagrams();
    const int found = __real_epoll_pwait2(epoll, events, most, &none, mask);
    if (found != 0 ||
        !the_run().wait_for_datagram(seen, nanoseconds(limit),
                                     __builtin_return_address(0))) {
      return found;
    }
  }
}

std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  return the_run().is_in_thread()
             ? static_cast<std::int64_t>(the_run().now_ns())
             : __real__ZNSt6chrono3_V212steady_clock3nowEv();
}

/// std::thread::join() of a thread that __wrap_start_thread has made.
void __wrap__ZNSt6thread4joinEv(std::thread* thread) {
  if (the_run().is_in_thread()) {
    the_run().join_started(__builtin_return_address(0));
  }
  std::memset(static_cast<void*>(thread), 0, sizeof *thread);
}

/// ACP_ASSERT of the product.
[[noreturn]] void __wrap__ZN3acp16assertion_failedEPKcS1_i(
    const char* condition, const char* file, int line) {
  the_run().stop_thread(std::string("ACP_ASSERT(") + condition + ") in " +
                        file + ":" + std::to_string(line));
}

}  // extern "C"

/// acp::start_thread(): the function begins in a thread of the schedule. The
/// object that stands for the thread can only be joined.
std::optional<std::thread>
start_thread(const char*, std::function<void()> work) asm(
    "__wrap__ZN3acp12start_threadEPKcSt8functionIFvvEE");

std::optional<std::thread> start_thread(const char*,
                                        std::function<void()> work) {
  the_run().adopt(std::move(work));
  std::optional<std::thread> thread(std::in_place);
  const std::uintptr_t any = 1;
  static_assert(sizeof any == sizeof *thread);
  std::memcpy(static_cast<void*>(&*thread), &any, sizeof any);
  return thread;
}

// NOLINTEND
