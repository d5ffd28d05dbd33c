/* ACP: small operations between ranks of one host, inside of the caller's code.
 * An addition of this implementation. A program asks for it: it defines the
 * macro ACP_INLINE, and then includes acp.h.
 *
 * acp_copy of a constant size up to ACPX_INLINE_BYTES, the atomics,
 * acp_complete and acpx_put_signal then do their work without a call when both
 * memories are library memory (starter memory, acp_malloc, modules) of this
 * host, and nothing is under way. Everything else calls the library as before:
 * other sizes and memories, other hosts, operations behind one that is under
 * way, jobs that count (ACP_COUNTERS), and calls before acp_init, after
 * acp_finalize or in a forked child. Arguments, results, errors, order and
 * thread-safety are those of the functions. A name without parentheses behind
 * it, such as &acp_copy, still is the function.
 *
 * The code reads the structure below. A library that lays it out in another way
 * gives it another name, and leaves the old name empty: the program then calls
 * the library for everything. */
#ifndef ACP_INLINE_H
#define ACP_INLINE_H

#include <stddef.h>
#include <stdint.h>

#include "acp/extension.h"
#include "acp/gma.h"
#include "acp/infrastructure.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest copy in bytes that is made without a call. */
#define ACPX_INLINE_BYTES 256

/** The facts of the job that the inline functions need. Programs do not use it.
 * The library writes it in acp_init and acp_reset. The memory of a rank begins
 * with its starter memory here; offsets count from there, modulo 2^64. */
typedef struct {
  const uint64_t* issued; /**< The newest handle. Any thread may change it. */
  const unsigned char* is_busy; /**< Not 0: operations are under way, or
                                     failures not collected. Any thread may
                                     change it. */
  char* const* memories;  /**< By the rank field of an address, which is rank
                             + 1.  NULL: not on this host, or no rank. */
  uint64_t rank_shift;    /**< Where the rank field begins in an address. */
  uint64_t within_mask;   /**< The bits of an address below the rank field. */
  uint64_t starter_last;  /**< Offset of the last 8 bytes of starter memory. */
  uint64_t modules_begin; /**< The bits in within_mask of the first byte of
                               modules' memory. */
  uint64_t modules_last;  /**< From there to the last 8 bytes. */
  uint64_t
      modules_shift; /**< Added to bits in within_mask, gives the offset. */
  char* mine;        /**< The memory of this rank. */
  uint64_t my_base;  /**< The lowest global address of this rank. */
  uint64_t asleep;   /**< Offset of a word that is 0 while no thread of the
                          rank sleeps until it is woken. */
} acpx_inline_t;

/** NULL: every operation is a call. */
extern const acpx_inline_t* acpx_inline_1;

/** Not 0: this thread has stored to other ranks since its last fence. */
#ifdef __cpp_constinit
extern thread_local constinit unsigned char acpx_has_stores  // NOLINT
#else
extern __thread unsigned char acpx_has_stores
#endif
    __attribute__((tls_model("initial-exec")));

/** Wakes the threads of a rank of this host that sleep until a word changes.
 * For inlined signals, behind the change.
 *
 * @param word  the word; any address in library memory of that rank
 */
void acpx_wake(acp_ga_t word);

#define ACPX_INLINE static inline __attribute__((always_inline, unused))
#define ACPX_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* ThreadSanitizer cannot see the order that fences make. */
#if defined(__SANITIZE_THREAD__)
#define ACPX_INLINE_FENCES 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACPX_INLINE_FENCES 0
#endif
#endif
#ifndef ACPX_INLINE_FENCES
#define ACPX_INLINE_FENCES 1
#endif

/** The job, if an operation with this order may be made in the caller; else
 * NULL. */
ACPX_INLINE const acpx_inline_t* acpx_inline_job(acp_handle_t order) {
  const acpx_inline_t* job = __atomic_load_n(&acpx_inline_1, __ATOMIC_RELAXED);
  return ACPX_LIKELY(job != NULL) &&
                 (order == ACP_HANDLE_NULL ||
                  __atomic_load_n(job->is_busy, __ATOMIC_ACQUIRE) == 0)
             ? job
             : NULL;
}

/** The handle of an operation that is done. The plain load is left out where
 * nobody reads the handle. Other threads may make it newer meanwhile; any of
 * their values is a handle for this operation, and a call of the library
 * between two operations keeps the order of their handles. */
ACPX_INLINE acp_handle_t acpx_inline_handle(const acpx_inline_t* job) {
#if ACPX_INLINE_FENCES
  return *job->issued;
#else
  return __atomic_load_n(job->issued, __ATOMIC_RELAXED);
#endif
}

/** Earlier stores of this thread come before the operation that follows. */
ACPX_INLINE void acpx_inline_settle(void) {
  if (acpx_has_stores != 0) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    acpx_has_stores = 0;
  }
}

/** The bytes at an address of which the bits below the rank field are `within`,
 * in the memory of its rank; NULL: not in library memory. `bytes` is a constant
 * up to ACPX_INLINE_BYTES, and both memories have so many bytes. */
ACPX_INLINE char* acpx_inline_within(const acpx_inline_t* job,
                                     char* memory,
                                     uint64_t within,
                                     uint64_t bytes) {
  if (ACPX_LIKELY(within <= job->starter_last - (bytes - 8))) {
    return memory + within;
  }
  return within - job->modules_begin <= job->modules_last - (bytes - 8)
             ? memory + (within + job->modules_shift)
             : NULL;
}

/** The memory of the rank of an address; NULL: not of this host. */
ACPX_INLINE char* acpx_inline_memory(const acpx_inline_t* job, acp_ga_t ga) {
  return job->memories[ga >> job->rank_shift];
}

/** The bytes at an address of any rank; NULL: they are to be reached by a call.
 */
ACPX_INLINE char* acpx_inline_at(const acpx_inline_t* job,
                                 acp_ga_t ga,
                                 uint64_t bytes) {
  char* memory = acpx_inline_memory(job, ga);
  return ACPX_LIKELY(memory != NULL)
             ? acpx_inline_within(job, memory, ga & job->within_mask, bytes)
             : NULL;
}

/** The bytes at an address of this rank; NULL: another rank's, or to be reached
 * by a call. An address of another rank is far behind all memory, since the
 * difference is modulo 2^64. */
ACPX_INLINE char* acpx_inline_mine(const acpx_inline_t* job,
                                   acp_ga_t ga,
                                   uint64_t bytes) {
  return acpx_inline_within(job, job->mine, ga - job->my_base, bytes);
}

/** Moves a constant number of bytes. Aligned words of 8 bytes are moved whole.
 */
ACPX_INLINE void acpx_inline_move(char* to, const char* from, size_t size) {
  if (size == 8) {
    __atomic_store_n(
        (uint64_t*)(void*)to,
        __atomic_load_n((const uint64_t*)(const void*)from, __ATOMIC_ACQUIRE),
        __ATOMIC_RELEASE);
    return;
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  __builtin_memmove(to, from, size);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

/** acp_copy. */
ACPX_INLINE acp_handle_t acpx_inline_copy(acp_ga_t dst,
                                          acp_ga_t src,
                                          size_t size,
                                          acp_handle_t order) {
  if (__builtin_constant_p(size) && size != 0 && size <= ACPX_INLINE_BYTES &&
      (ACPX_INLINE_FENCES || size == 8)) {
    const acpx_inline_t* job = acpx_inline_job(order);
    if (ACPX_LIKELY(job != NULL) &&
        (size != 8 || ACPX_LIKELY(((dst | src) & 7) == 0))) {
      const char* from = acpx_inline_mine(job, src, size);
      char* to = NULL;
      if (from != NULL) {
        to = acpx_inline_at(job, dst, size);
      } else {
        from = acpx_inline_at(job, src, size);
        to = acpx_inline_mine(job, dst, size);
      }
      if (ACPX_LIKELY(to != NULL && from != NULL)) {
        if (order != ACP_HANDLE_NULL) {
          acpx_inline_settle();
        }
        acpx_inline_move(to, from, size);
        if ((dst ^ job->my_base) > job->within_mask) {
          acpx_has_stores = 1;
        }
        return acpx_inline_handle(job);
      }
    }
  }
  return acp_copy(dst, src, size, order);
}

/** acp_complete. */
ACPX_INLINE void acpx_inline_complete(acp_handle_t handle) {
  const acpx_inline_t* job = __atomic_load_n(&acpx_inline_1, __ATOMIC_RELAXED);
  if (ACPX_LIKELY(job != NULL) &&
      ACPX_LIKELY(__atomic_load_n(job->is_busy, __ATOMIC_ACQUIRE) == 0)) {
    acpx_inline_settle();
    return;
  }
  acp_complete(handle);
}

/** acpx_put_signal. */
ACPX_INLINE acp_handle_t acpx_inline_put_signal(acp_ga_t dst,
                                                acp_ga_t src,
                                                size_t size,
                                                acp_ga_t word,
                                                uint64_t add,
                                                acp_handle_t order) {
  if (__builtin_constant_p(size) && size != 0 && size <= ACPX_INLINE_BYTES &&
      ACPX_INLINE_FENCES) {
    const acpx_inline_t* job = acpx_inline_job(order);
    if (ACPX_LIKELY(job != NULL) &&
        ACPX_LIKELY(((size == 8 ? dst | src | word : word) & 7) == 0 &&
                    (dst ^ word) <= job->within_mask)) {
      char* memory = acpx_inline_memory(job, word);
      char* to = NULL;
      char* signal = NULL;
      const char* from = acpx_inline_mine(job, src, size);
      if (ACPX_LIKELY(memory != NULL)) {
        to = acpx_inline_within(job, memory, dst & job->within_mask, size);
        signal = acpx_inline_within(job, memory, word & job->within_mask, 8);
      }
      if (ACPX_LIKELY(to != NULL && signal != NULL && from != NULL)) {
        if (order != ACP_HANDLE_NULL) {
          acpx_inline_settle();
        }
        acpx_inline_move(to, from, size);
        __atomic_fetch_add((uint64_t*)(void*)signal, add, __ATOMIC_SEQ_CST);
#if defined(__x86_64__)
        acpx_has_stores = 0; /* the add is a full fence */
#else
        acpx_has_stores = 1;
#endif
        if (!ACPX_LIKELY(
                __atomic_load_n((uint64_t*)(void*)(memory + job->asleep),
                                __ATOMIC_SEQ_CST) == 0)) {
          acpx_wake(word);
        }
        return acpx_inline_handle(job);
      }
    }
  }
  return acpx_put_signal(dst, src, size, word, add, order);
}

/* acp_add4 and so on. OPERATE changes *word, a pointer to TYPE, by `value`, and
 * gives the value that it had. */
#define ACPX_INLINE_ATOMIC(NAME, TYPE, PARAMETERS, ARGUMENTS, OPERATE)        \
  ACPX_INLINE acp_handle_t acpx_inline_##NAME PARAMETERS {                    \
    const acpx_inline_t* job = acpx_inline_job(order);                        \
    if (ACPX_LIKELY(job != NULL) &&                                           \
        ACPX_LIKELY(((dst | src) & (sizeof(TYPE) - 1)) == 0 && dst != src)) { \
      TYPE* word = (TYPE*)(void*)acpx_inline_at(job, src, sizeof(TYPE));      \
      TYPE* result = (TYPE*)(void*)acpx_inline_mine(job, dst, sizeof(TYPE));  \
      if (ACPX_LIKELY(word != NULL && result != NULL)) {                      \
        __atomic_store_n(result, OPERATE, __ATOMIC_RELEASE);                  \
        return acpx_inline_handle(job);                                       \
      }                                                                       \
    }                                                                         \
    return acp_##NAME ARGUMENTS;                                              \
  }

#define ACPX_INLINE_FETCH(NAME, TYPE, OPERATE)                      \
  ACPX_INLINE_ATOMIC(                                               \
      NAME, TYPE,                                                   \
      (acp_ga_t dst, acp_ga_t src, TYPE value, acp_handle_t order), \
      (dst, src, value, order), OPERATE(word, value, __ATOMIC_SEQ_CST))

/* The value that the word had, whether it was `oldval` or not. */
#define ACPX_INLINE_CAS(NAME, TYPE)                                           \
  ACPX_INLINE TYPE acpx_inline_try_##NAME(TYPE* word, TYPE old, TYPE fresh) { \
    (void)__atomic_compare_exchange_n(word, &old, fresh, 0, __ATOMIC_SEQ_CST, \
                                      __ATOMIC_SEQ_CST);                      \
    return old;                                                               \
  }                                                                           \
  ACPX_INLINE_ATOMIC(NAME, TYPE,                                              \
                     (acp_ga_t dst, acp_ga_t src, TYPE oldval, TYPE newval,   \
                      acp_handle_t order),                                    \
                     (dst, src, oldval, newval, order),                       \
                     acpx_inline_try_##NAME(word, oldval, newval))

ACPX_INLINE_FETCH(add4, uint32_t, __atomic_fetch_add)
ACPX_INLINE_FETCH(add8, uint64_t, __atomic_fetch_add)
ACPX_INLINE_FETCH(and4, uint32_t, __atomic_fetch_and)
ACPX_INLINE_FETCH(and8, uint64_t, __atomic_fetch_and)
ACPX_INLINE_FETCH(or4, uint32_t, __atomic_fetch_or)
ACPX_INLINE_FETCH(or8, uint64_t, __atomic_fetch_or)
ACPX_INLINE_FETCH(xor4, uint32_t, __atomic_fetch_xor)
ACPX_INLINE_FETCH(xor8, uint64_t, __atomic_fetch_xor)
ACPX_INLINE_FETCH(swap4, uint32_t, __atomic_exchange_n)
ACPX_INLINE_FETCH(swap8, uint64_t, __atomic_exchange_n)
ACPX_INLINE_CAS(cas4, uint32_t)
ACPX_INLINE_CAS(cas8, uint64_t)

#undef ACPX_INLINE_ATOMIC
#undef ACPX_INLINE_FETCH
#undef ACPX_INLINE_CAS

#ifdef __cplusplus
}
#endif

#define acp_copy(dst, src, size, order) acpx_inline_copy(dst, src, size, order)
#define acp_complete(handle) acpx_inline_complete(handle)
#define acpx_put_signal(dst, src, size, word, add, order) \
  acpx_inline_put_signal(dst, src, size, word, add, order)
#define acp_add4(dst, src, value, order) \
  acpx_inline_add4(dst, src, value, order)
#define acp_add8(dst, src, value, order) \
  acpx_inline_add8(dst, src, value, order)
#define acp_and4(dst, src, value, order) \
  acpx_inline_and4(dst, src, value, order)
#define acp_and8(dst, src, value, order) \
  acpx_inline_and8(dst, src, value, order)
#define acp_or4(dst, src, value, order) acpx_inline_or4(dst, src, value, order)
#define acp_or8(dst, src, value, order) acpx_inline_or8(dst, src, value, order)
#define acp_xor4(dst, src, value, order) \
  acpx_inline_xor4(dst, src, value, order)
#define acp_xor8(dst, src, value, order) \
  acpx_inline_xor8(dst, src, value, order)
#define acp_swap4(dst, src, value, order) \
  acpx_inline_swap4(dst, src, value, order)
#define acp_swap8(dst, src, value, order) \
  acpx_inline_swap8(dst, src, value, order)
#define acp_cas4(dst, src, oldval, newval, order) \
  acpx_inline_cas4(dst, src, oldval, newval, order)
#define acp_cas8(dst, src, oldval, newval, order) \
  acpx_inline_cas8(dst, src, oldval, newval, order)

#endif /* ACP_INLINE_H */
