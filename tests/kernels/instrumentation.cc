// The functions that instrumented code calls for each access to memory. The
// compiler's option for ThreadSanitizer puts the calls there. Outside of the
// threads of a schedule they do the plain access.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/run.h"

namespace {

using kernels::Order;
using kernels::Run;
using kernels::the_run;

std::uintptr_t number(const volatile void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

void plain(const void* address,
           std::size_t size,
           bool is_write,
           const void* code) {
  Run& run = the_run();
  if (run.is_in_thread()) {
    run.plain(number(address), size, is_write, code);
  }
}

template <typename Word, typename Next>
Word exchange(volatile Word* word,
              int order,
              const char* what,
              const void* code,
              Next next) {
  Run& run = the_run();
  if (run.is_in_thread()) {
    return static_cast<Word>(
        run.exchange(number(word), sizeof(Word), Order{order}, what, code,
                     [&](std::uint64_t old) -> std::uint64_t {
                       return static_cast<Word>(next(static_cast<Word>(old)));
                     }));
  }
  const Word old = *word;
  *word = next(old);
  return old;
}

template <typename Word>
int compare_exchange(volatile Word* word,
                     Word* expected,
                     Word value,
                     int order,
                     int failure,
                     bool is_weak,
                     const void* code) {
  Run& run = the_run();
  if (run.is_in_thread()) {
    std::uint64_t seen = *expected;
    const bool is_equal =
        run.compare_exchange(number(word), sizeof(Word), seen, value,
                             Order{order}, Order{failure}, is_weak, code);
    if (!is_equal) {
      *expected = static_cast<Word>(seen);
    }
    return is_equal ? 1 : 0;
  }
  if (*word == *expected) {
    *word = value;
    return 1;
  }
  *expected = *word;
  return 0;
}

}  // namespace

// NOLINTBEGIN: the names and types are the compiler's.
extern "C" {

void __tsan_init() {}

void __tsan_func_entry(void*) {}

void __tsan_func_exit() {}

void __tsan_vptr_update(void**, void*) {}

void __tsan_vptr_read(void**) {}

#define ACP_PLAIN(size)                                  \
  void __tsan_read##size(void* at) {                     \
    plain(at, size, false, __builtin_return_address(0)); \
  }                                                      \
  void __tsan_write##size(void* at) {                    \
    plain(at, size, true, __builtin_return_address(0));  \
  }                                                      \
  void __tsan_unaligned_read##size(void* at) {           \
    plain(at, size, false, __builtin_return_address(0)); \
  }                                                      \
  void __tsan_unaligned_write##size(void* at) {          \
    plain(at, size, true, __builtin_return_address(0));  \
  }
ACP_PLAIN(1)
ACP_PLAIN(2)
ACP_PLAIN(4)
ACP_PLAIN(8)
ACP_PLAIN(16)

void __tsan_read_range(void* at, std::size_t size) {
  plain(at, size, false, __builtin_return_address(0));
}

void __tsan_write_range(void* at, std::size_t size) {
  plain(at, size, true, __builtin_return_address(0));
}

#define ACP_FETCH(bits, name, text, expression)                            \
  std::uint##bits##_t __tsan_atomic##bits##_##name(                        \
      volatile std::uint##bits##_t* word, std::uint##bits##_t value,       \
      int order) {                                                         \
    return exchange(word, order, text, __builtin_return_address(0),        \
                    [value](std::uint##bits##_t old) {                     \
                      return static_cast<std::uint##bits##_t>(expression); \
                    });                                                    \
  }

#define ACP_ATOMIC(bits)                                                   \
  std::uint##bits##_t __tsan_atomic##bits##_load(                          \
      const volatile std::uint##bits##_t* word, int order) {               \
    Run& run = the_run();                                                  \
    return run.is_in_thread() ? static_cast<std::uint##bits##_t>(run.load( \
                                    number(word), bits / 8, Order{order},  \
                                    __builtin_return_address(0)))          \
                              : *word;                                     \
  }                                                                        \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* word,     \
                                   std::uint##bits##_t value, int order) { \
    Run& run = the_run();                                                  \
    if (run.is_in_thread()) {                                              \
      run.store(number(word), bits / 8, value, Order{order},               \
                __builtin_return_address(0));                              \
    } else {                                                               \
      *word = value;                                                       \
    }                                                                      \
  }                                                                        \
  ACP_FETCH(bits, exchange, "exchange", (static_cast<void>(old), value))   \
  ACP_FETCH(bits, fetch_add, "add", old + value)                           \
  ACP_FETCH(bits, fetch_sub, "subtract", old - value)                      \
  ACP_FETCH(bits, fetch_and, "and", old& value)                            \
  ACP_FETCH(bits, fetch_or, "or", old | value)                             \
  ACP_FETCH(bits, fetch_xor, "xor", old ^ value)                           \
  int __tsan_atomic##bits##_compare_exchange_strong(                       \
      volatile std::uint##bits##_t* word, std::uint##bits##_t* expected,   \
      std::uint##bits##_t value, int order, int failure) {                 \
    return compare_exchange(word, expected, value, order, failure, false,  \
                            __builtin_return_address(0));                  \
  }                                                                        \
  int __tsan_atomic##bits##_compare_exchange_weak(                         \
      volatile std::uint##bits##_t* word, std::uint##bits##_t* expected,   \
      std::uint##bits##_t value, int order, int failure) {                 \
    return compare_exchange(word, expected, value, order, failure, true,   \
                            __builtin_return_address(0));                  \
  }
ACP_ATOMIC(8)
ACP_ATOMIC(16)
ACP_ATOMIC(32)
ACP_ATOMIC(64)

void __tsan_atomic_thread_fence(int order) {
  Run& run = the_run();
  if (run.is_in_thread()) {
    run.fence(Order{order}, __builtin_return_address(0));
  }
}

/// Orders the compiler alone, and instrumented code is compiled already.
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"
// NOLINTEND
