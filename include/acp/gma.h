/* ACP global memory access: specification 2.1, chapter 4.11. One-sided copies
 * and atomics over all ranks' memory, and their order.
 *
 * Conventions, in addition to acp/infrastructure.h and
 * acp/global_memory.h; docs/ordering.md explains them with examples:
 *
 *  1. An operation needs no help of the ranks it touches: they may compute, or
 *     sleep, without calling the library.
 *  2. Every operation returns a handle, or ACP_HANDLE_NULL when it failed at
 *     once and does not happen. Handles count from 1 in the order of the
 *     calls. An operation that is already done when the call returns gives the
 *     newest number in use: handles are not unique.
 *  3. Completion is in order: when a handle is complete, so is everything this
 *     rank issued before it. An operation is complete when its effect is in the
 *     target's memory, and its result, if it has one, in the caller's.
 *  4. `order` says when an operation may start:
 *       ACP_HANDLE_NULL  at once, in any order to others
 *       a handle         when that handle is complete
 *       ACP_HANDLE_ALL   when everything issued before is complete
 *       ACP_HANDLE_CONT  as ACP_HANDLE_ALL in all that memory shows. Operations
 *                        with one rank may be on their way together where the
 *                        network keeps their order. A portable program relies
 *                        only on this: the operation does not overtake the
 *                        one issued just before, if both have the same source
 *                        rank, target rank and colors
 *     A handle that was not issued yet counts as ACP_HANDLE_NULL, here and in
 *     acp_complete and acp_inquire. Without an order nothing is promised
 *     between two operations, not even on one address. A call that fails
 *     returns ACP_HANDLE_NULL, so test a handle before you give it as an order:
 *     the next operation would start at once.
 *  5. An error that the caller's side can see (ranks, alignment, regions of
 *     this rank and of its host) fails in the call. Such a call is no
 *     operation, and no order waits for it. An operation with an error
 *     that only the target can see completes in its turn as failed. The first
 *     acp_complete that covers it sets acp_errno, or acpx_complete_timeout
 *     returns -1; this collects the failure. Until then, operations ordered
 *     after it do not start and fail with ACPX_ORDER_FAILED. No operation
 *     writes outside a region.
 *  6. Memory of an operation belongs to it until it is complete: do not change
 *     a source, do not read a destination before.
 *  7. Issuing blocks only while the window of outstanding operations is full,
 *     and makes progress meanwhile, so any number may be issued. Inside a
 *     progress step (acpx_add_progress) it does not block: a full window gives
 *     ACP_HANDLE_NULL with ACPX_AGAIN.
 *  8. Threads share one sequence of handles: "issued before" is the order in
 *     which the calls of all threads of the rank took place.
 */
#ifndef ACP_GMA_H
#define ACP_GMA_H

#include <stddef.h>
#include <stdint.h>

#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Names an operation of the calling rank; valid until acp_reset. */
typedef uint64_t acp_handle_t;

/* No handle; all operations issued so far; the operation issued just before.
 * ACP_HANDLE_CONT is an order only. */
#define ACP_HANDLE_NULL UINT64_C(0)
#define ACP_HANDLE_ALL UINT64_C(0xffffffffffffffff)
#define ACP_HANDLE_CONT UINT64_C(0xfffffffffffffffe)

/** Copies @p size bytes from @p src to @p dst. Specification 4.11.2.
 *
 * Each of the two may be on any rank, the caller's or not. Overlapping
 * ranges on one rank copy as memmove does. Bytes arrive in no particular
 * order, but an aligned copy of 8 bytes is seen whole. Large copies are one
 * operation with one handle.
 *
 * Does not block except as convention 7 says.
 *
 * @code
 * acp_handle_t copied = acp_copy(theirs, mine, 64, ACP_HANDLE_NULL);
 * if (copied == ACP_HANDLE_NULL) acp_abort("cannot copy");
 * acp_copy(their_flag, mine + 64, 8, copied); // after the 64 bytes are there
 * acp_errno = 0;
 * acp_complete(ACP_HANDLE_ALL);
 * if (acp_errno != 0) acp_abort("a copy has failed");
 * @endcode
 *
 * @param dst    first byte to write
 * @param src    first byte to read
 * @param size   bytes, up to the end of both regions; 0 succeeds, does
 *               nothing, and does not look at the addresses
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL: ACPX_BAD_ADDRESS (ACP_GA_NULL, or a
 *   byte outside its region), ACPX_BAD_RANK (no such rank), ACPX_BAD_COLOR,
 *   ACPX_BAD_KEY, ACPX_AGAIN (in a progress step only), ACPX_NO_MEMORY,
 *   ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_handle_t acp_copy(acp_ga_t dst,
                      acp_ga_t src,
                      size_t size,
                      acp_handle_t order);

/* ---- Atomics --------------------------------------------------------------
 */

/* The atomics share the following.
 *
 * The word at src, on any rank, changes in one indivisible step. The value it
 * had BEFORE goes to dst, another word, on the caller's rank. Atomics whose old
 * values nobody reads may share one dst. All atomics of one width on one word
 * are atomic with each other, from any rank and over any network. Atomics of
 * two widths need not be. The owner's own CPU atomics may be mixed in where
 * acpx_atomics_agree returns 1. None blocks except as convention 7 says.
 *
 * @return a handle, or ACP_HANDLE_NULL: ACPX_MISALIGNED (dst or src is not a
 *   multiple of the width, 4 or 8 bytes), ACPX_BAD_RANK (dst is not on the
 *   caller's rank, or src is on no rank), ACPX_BAD_ADDRESS (ACP_GA_NULL, or a
 *   word outside its region), ACPX_INVALID_ARGUMENT (dst is src),
 *   ACPX_BAD_KEY, ACPX_BAD_COLOR, ACPX_AGAIN (in a progress step only),
 *   ACPX_NO_MEMORY, ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */

/** Adds @p value; wraps around. 4 bytes. Specification 4.11.3.
 *
 * @param dst    receives the old value; on the caller's rank, 4-byte aligned
 * @param src    the word to change; on any rank, 4-byte aligned
 * @param value  addend
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_add4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t value,
                      acp_handle_t order);

/** Adds @p value; wraps around. 8 bytes. Specification 4.11.4.
 *
 * @code
 * const uint64_t* old = acp_query_address(mine);
 * acp_complete(acp_add8(mine, counter, 1, ACP_HANDLE_NULL));
 * printf("I am number %" PRIu64 "\n", *old);
 * @endcode
 *
 * @param dst    receives the old value; on the caller's rank, 8-byte aligned
 * @param src    the word to change; on any rank, 8-byte aligned
 * @param value  addend
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_add8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order);

/** Stores @p newval if the word equals @p oldval. 4 bytes.
 * Specification 4.11.5.
 *
 * @param dst    receives the old value; on the caller's rank, 4-byte aligned
 * @param src    the word to change; on any rank, 4-byte aligned
 * @param oldval value the word must have to be changed; dst equals it on
 *               success, and tells the word's value otherwise
 * @param newval value to store
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_cas4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t oldval,
                      uint32_t newval,
                      acp_handle_t order);

/** Stores @p newval if the word equals @p oldval. 8 bytes.
 * Specification 4.11.6.
 *
 * @code
 * // A lock: 0 is free. The owner's processor takes no part.
 * const uint64_t* old = acp_query_address(mine);
 * do {
 *   acp_complete(acp_cas8(mine, lock, 0, 1, ACP_HANDLE_NULL));
 * } while (*old != 0);
 * @endcode
 *
 * @param dst    receives the old value; on the caller's rank, 8-byte aligned
 * @param src    the word to change; on any rank, 8-byte aligned
 * @param oldval value the word must have to be changed; dst equals it on
 *               success, and tells the word's value otherwise
 * @param newval value to store
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_cas8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t oldval,
                      uint64_t newval,
                      acp_handle_t order);

/** Bitwise AND with @p value. 4 bytes. Specification 4.11.7.
 *
 * @param dst    receives the old value; on the caller's rank, 4-byte aligned
 * @param src    the word to change; on any rank, 4-byte aligned
 * @param value  mask
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_and4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t value,
                      acp_handle_t order);

/** Bitwise AND with @p value. 8 bytes. Specification 4.11.8.
 *
 * @param dst    receives the old value; on the caller's rank, 8-byte aligned
 * @param src    the word to change; on any rank, 8-byte aligned
 * @param value  mask
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_and8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order);

/** Bitwise OR with @p value. 4 bytes. Specification 4.11.9.
 *
 * @param dst    receives the old value; on the caller's rank, 4-byte aligned
 * @param src    the word to change; on any rank, 4-byte aligned
 * @param value  mask
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_or4(acp_ga_t dst,
                     acp_ga_t src,
                     uint32_t value,
                     acp_handle_t order);

/** Bitwise OR with @p value. 8 bytes. Specification 4.11.10.
 *
 * @param dst    receives the old value; on the caller's rank, 8-byte aligned
 * @param src    the word to change; on any rank, 8-byte aligned
 * @param value  mask
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_or8(acp_ga_t dst,
                     acp_ga_t src,
                     uint64_t value,
                     acp_handle_t order);

/** Bitwise XOR with @p value. 4 bytes. Specification 4.11.11.
 *
 * @param dst    receives the old value; on the caller's rank, 4-byte aligned
 * @param src    the word to change; on any rank, 4-byte aligned
 * @param value  mask
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_xor4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t value,
                      acp_handle_t order);

/** Bitwise XOR with @p value. 8 bytes. Specification 4.11.12.
 *
 * @param dst    receives the old value; on the caller's rank, 8-byte aligned
 * @param src    the word to change; on any rank, 8-byte aligned
 * @param value  mask
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_xor8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order);

/** Stores @p value. 4 bytes. Specification 4.11.13.
 *
 * @param dst    receives the old value; on the caller's rank, 4-byte aligned
 * @param src    the word to change; on any rank, 4-byte aligned
 * @param value  new value
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_swap4(acp_ga_t dst,
                       acp_ga_t src,
                       uint32_t value,
                       acp_handle_t order);

/** Stores @p value. 8 bytes. Specification 4.11.14.
 *
 * @param dst    receives the old value; on the caller's rank, 8-byte aligned
 * @param src    the word to change; on any rank, 8-byte aligned
 * @param value  new value
 * @param order  when to start, convention 4
 * @return a handle, or ACP_HANDLE_NULL; codes as above
 */
acp_handle_t acp_swap8(acp_ga_t dst,
                       acp_ga_t src,
                       uint64_t value,
                       acp_handle_t order);

/* ---- Completion -----------------------------------------------------------
 */

/** Waits until @p handle, and everything issued before it, is complete.
 * Specification 4.11.15.
 *
 * Then the results of those operations may be read, and their sources changed.
 * When one of them failed, and no earlier call has reported it, acp_errno is
 * set to the reason of the first of them. Otherwise acp_errno is left alone.
 * Set it to 0 before the call to tell the two apart.
 *
 * Blocks and makes progress, except in a progress step, which must not call
 * it. Returns at once for ACP_HANDLE_NULL, for a handle that is complete and
 * whose failures are collected, and for one that was not issued yet.
 * ACP_HANDLE_CONT counts as one that was not issued yet: nothing is waited for.
 *
 * acp_errno: the error of the failed operation, such as ACPX_BAD_KEY,
 * ACPX_BAD_ADDRESS or ACPX_ORDER_FAILED; ACPX_PEER_DEAD, ACPX_ABORTED,
 * ACPX_NOT_INITIALIZED, ACPX_FINALIZED.
 *
 * @code
 * acp_errno = 0;
 * acp_complete(ACP_HANDLE_ALL);
 * if (acp_errno != 0) fprintf(stderr, "%s\n", acpx_strerror(acp_errno));
 * @endcode
 *
 * @param handle  a handle, or ACP_HANDLE_ALL for everything issued so far by
 *                all threads of this rank
 */
void acp_complete(acp_handle_t handle);

/** Whether an operation up to @p handle is incomplete. Specification 4.11.16.
 *
 * A failed operation counts as complete; its failure stays to be collected by
 * acp_complete. Makes progress, does not block. A call that learns of no new
 * completion makes a pass of progress, also when nothing is under way: a
 * program that looks at its own memory for a put of another rank may call it
 * between two looks, with any handle.
 *
 * @param handle  a handle, or ACP_HANDLE_ALL
 * @return 0 when all of them are complete (also for ACP_HANDLE_NULL, for
 *   ACP_HANDLE_CONT and for a handle not issued yet), 1 when an operation is
 *   not. Outside acp_init .. acp_finalize: 0, with ACPX_NOT_INITIALIZED or
 *   ACPX_FINALIZED.
 */
int acp_inquire(acp_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif /* ACP_GMA_H */
