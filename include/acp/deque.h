/* ACP deques: specification 2.1, chapters 2.2.4 and 4.4. A queue of bytes on
 * one rank with two ends, which every rank changes and reads without that
 * rank's help.
 *
 * Conventions, in addition to acp/infrastructure.h and acp/gma.h:
 *
 *  1. Elements are bytes: sizes, offsets and distances count them. They are in
 *     one piece, so the address of the first byte leads to all. When only
 * elements of 8 bytes are pushed and popped they are aligned.
 *  2. A deque is a number that may be sent to other ranks. A handle of a
 *     destroyed deque, or of none, fails with ACPX_INVALID_ARGUMENT.
 *  3. An iterator is a deque and an offset from the first byte at the time of
 *     its use; making and advancing one sends no message, but acp_end_deque and
 *     acp_back_deque.
 *  4. Addresses are valid until the deque changes in any way. After that they
 *     are of memory of the deque, old or new, until it is destroyed or has
 *     grown twice.
 *  5. A source (ga) may be memory of any rank, the deque's own too. One of
 *     another rank than the caller costs a round trip more.
 *  6. When a function fails the deque is as it was. A void function says so in
 *     acp_errno: set it to 0 before. Every function can fail with
 *     ACPX_INVALID_ARGUMENT (convention 2), ACPX_NOT_INITIALIZED,
 *     ACPX_FINALIZED, ACPX_PEER_DEAD, ACPX_ABORTED.
 *  7. Functions wait for the network and for other ranks' operations on the
 *     same deque, not for their programs; and for operations that the caller
 *     issued before. Not in a progress step.
 *
 * Functions that may run at the same time, from all ranks and threads:
 *
 *   push, pop, take             with everything, at both ends: each is one
 *                               undivided change
 *   size, empty, capacity, at,  with everything; they see a deque between two
 *     begin, end, dereference   changes and wait for no lock
 *   insert, erase, assign,      with everything: one after the other. But
 *     clear, reserve, swap      changes of other ranks shift offsets: agree on
 *                               the rank that does this
 *   create, destroy             before and after all other use
 *
 * pop returns nothing. So of two ranks that read the first element and pop it,
 * both may have read one element. acpx_take_front_deque and
 * acpx_take_back_deque (acp/extension.h) read and pop in one change.
 */
#ifndef ACP_DEQUE_H
#define ACP_DEQUE_H

#include <stddef.h>
#include <stdint.h>

#include "acp/element.h"
#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A deque; no deque when ga is ACP_GA_NULL. The address is a number of the
 * library's, on the rank that has the deque. */
typedef struct {
  acp_ga_t ga;
} acp_deque_t;

/** A position in a deque. index is its offset in bytes. */
typedef struct {
  acp_deque_t deque;
  int index;
} acp_deque_it_t;

/** Makes @p deque1 equal to @p deque2. Specification 4.4.2. Nothing when
 * both are one. acp_errno: ACPX_NO_MEMORY.
 *
 * @param deque1  destination
 * @param deque2  source
 */
void acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2);

/** Makes a deque equal to a range. Specification 4.4.3. acp_errno:
 * ACPX_BAD_ADDRESS (the range is not in its deque), ACPX_INVALID_ARGUMENT
 * (start and end of two deques), ACPX_NO_MEMORY.
 *
 * @param deque  destination; may be the deque of the range
 * @param start   first byte
 * @param end     behind the last byte; not before @p start
 */
void acp_assign_range_deque(acp_deque_t deque,
                            acp_deque_it_t start,
                            acp_deque_it_t end);

/** The address of a byte. Specification 4.4.4. One round trip.
 *
 * @param deque  a deque
 * @param offset  0 .. size - 1
 * @return the address, or ACP_GA_NULL: ACPX_BAD_ADDRESS (offset)
 */
acp_ga_t acp_at_deque(acp_deque_t deque, int offset);

/** The position of the last byte. Specification 4.4.5. One round trip.
 *
 * @param deque  a deque
 * @return an iterator; of an empty deque, or when it fails, offset -1
 */
acp_deque_it_t acp_back_deque(acp_deque_t deque);

/** The first position. Specification 4.4.6. Sends no message.
 *
 * @param deque  a deque; not looked at
 * @return an iterator of offset 0
 */
acp_deque_it_t acp_begin_deque(acp_deque_t deque);

/** Bytes that the deque can have without growing. Specification 4.4.7.
 *
 * @param deque  a deque
 * @return bytes; 0 also when it fails, with acp_errno
 */
size_t acp_capacity_deque(acp_deque_t deque);

/** Makes the size 0; the capacity stays. Specification 4.4.8.
 *
 * @param deque  a deque
 */
void acp_clear_deque(acp_deque_t deque);

/** Creates an empty deque. Specification 4.4.9. Not collective: its creator
 * tells others the handle.
 *
 * @code
 * acp_deque_t queue = acp_create_deque(0, acp_rank());
 * if (queue.ga == ACP_GA_NULL) acp_abort("no deque");
 * acp_push_back_deque(queue, mine, 64); // any rank may push ...
 * if (acpx_take_front_deque(queue, mine, 64) == 1) { // ... and take
 *   puts("these 64 bytes are mine alone");
 * }
 * @endcode
 *
 * @param size  bytes that it can have without growing; the size is 0
 * @param rank  where it is, 0 .. acp_procs() - 1
 * @return the deque, or one whose ga is ACP_GA_NULL: ACPX_BAD_RANK,
 *   ACPX_TOO_LARGE, ACPX_NO_MEMORY (or 65,536 structures are on that rank)
 */
acp_deque_t acp_create_deque(size_t size, int rank);

/** Ends a deque and frees its memory. Specification 4.4.10.
 *
 * @param deque  a deque; its handle is dead on all ranks afterwards
 */
void acp_destroy_deque(acp_deque_t deque);

/** Whether the size is 0. Specification 4.4.11.
 *
 * @param deque  a deque
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_deque(acp_deque_t deque);

/** The position behind the last byte. Specification 4.4.12. One round trip.
 *
 * @param deque  a deque
 * @return an iterator; offset 0 when it fails, with acp_errno. An offset of
 *   more than INT_MAX cannot be had: INT_MAX with ACPX_TOO_LARGE
 */
acp_deque_it_t acp_end_deque(acp_deque_t deque);

/** Takes bytes out. Specification 4.4.13. The bytes behind them move up. A
 * range that goes beyond the end stops there. acp_errno: ACPX_BAD_ADDRESS
 * (@p it is not in the deque).
 *
 * @param it    first byte
 * @param size  bytes
 * @return the position of the byte behind: @p it
 */
acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size);

/** Takes a range out. Specification 4.4.14. acp_errno: ACPX_BAD_ADDRESS (not
 * in the deque), ACPX_INVALID_ARGUMENT (of two deques).
 *
 * @param start  first byte
 * @param end    behind the last; not before @p start
 * @return the position of the byte behind: @p start
 */
acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);

/** The position before the first byte. Specification 4.4.15. Advanced by 1 it
 * is acp_begin_deque; it has no address. Sends no message.
 *
 * @param deque  a deque; not looked at
 * @return an iterator of offset -1
 */
acp_deque_it_t acp_front_deque(acp_deque_t deque);

/** Puts bytes in. Specification 4.4.16. acp_errno: ACPX_BAD_ADDRESS (@p it not
 * in the deque and not its end, or @p ga cannot be read), ACPX_NO_MEMORY.
 *
 * @param it    position; the bytes behind it move back
 * @param ga    the bytes, on any rank
 * @param size  how many
 * @return the position of the first new byte: @p it
 */
acp_deque_it_t acp_insert_deque(acp_deque_it_t it,
                                const acp_ga_t ga,
                                size_t size);

/** Puts a range of a deque in. Specification 4.4.17. acp_errno: as
 * acp_insert_deque and acp_assign_range_deque.
 *
 * @param it     where
 * @param start  first byte; of any deque, also of @p it
 * @param end    behind the last
 * @return the position of the first new byte: @p it
 */
acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it,
                                      acp_deque_it_t start,
                                      acp_deque_it_t end);

/** Takes bytes off the end. Specification 4.4.18. Two round trips.
 *
 * @param deque  a deque
 * @param size   bytes; more than there are empties it
 */
void acp_pop_back_deque(acp_deque_t deque, size_t size);

/** Takes bytes off the front. Specification 4.4.19. Two round trips.
 *
 * @param deque  a deque
 * @param size   bytes; more than there are empties it
 */
void acp_pop_front_deque(acp_deque_t deque, size_t size);

/** Adds bytes at the end. Specification 4.4.20. Two round trips. acp_errno:
 * ACPX_BAD_ADDRESS (@p ga cannot be read), ACPX_TOO_LARGE, ACPX_NO_MEMORY.
 *
 * @param deque  a deque
 * @param ga     the bytes, on any rank
 * @param size   how many; 0 only looks whether there is such a deque
 */
void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);

/** Adds bytes at the front, in their order. Specification 4.4.21. As
 * acp_push_back_deque.
 *
 * @param deque  a deque
 * @param ga     the bytes, on any rank
 * @param size   how many
 */
void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);

/** Makes room. Specification 4.4.22. Never less than before. acp_errno:
 * ACPX_TOO_LARGE, ACPX_NO_MEMORY.
 *
 * @param deque  a deque
 * @param size    bytes that it can have afterwards without growing
 */
void acp_reserve_deque(acp_deque_t deque, size_t size);

/** Bytes in the deque. Specification 4.4.23. One round trip.
 *
 * @param deque  a deque
 * @return bytes; 0 also when it fails, with acp_errno
 */
size_t acp_size_deque(acp_deque_t deque);

/** Exchanges the contents; each deque stays on its rank. Specification
 * 4.4.24. Nothing when both are one. acp_errno: ACPX_NO_MEMORY (deques on two
 * ranks).
 *
 * @param deque1  a deque
 * @param deque2  another
 */
void acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2);

/** Moves an iterator. Specification 4.4.25. Sends no message, so the end is not
 * known: an offset beyond it fails where it is used. Stops at -1
 * (acp_front_deque) and INT_MAX.
 *
 * @param it  an iterator
 * @param n   bytes, may be negative
 * @return the position @p n bytes on
 */
acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int n);

/** The address of an iterator's byte. Specification 4.4.26. As acp_at_deque.
 *
 * @param it  an iterator
 * @return the address, or ACP_GA_NULL: ACPX_BAD_ADDRESS (not in the deque;
 *   the end is not)
 */
acp_ga_t acp_dereference_deque_it(acp_deque_it_t it);

/** Where bytes from an iterator on are. Programs may write it as
 * acp_dereference_deque_it(it, size), which ACP 2.1.0 has in place of
 * specification 4.4.26; see below. This implementation has the bytes in one
 * piece: the second element is always empty. A program that uses both elements
 * is portable. One round trip.
 *
 * @param it    first byte
 * @param size  bytes; the pieces stop at the end of the deque
 * @return the pieces; two empty ones for 0 bytes and when it fails:
 *   ACPX_BAD_ADDRESS (@p it is not in the deque; the end is not)
 */
acp_pair_t acpx_dereference_deque_it(acp_deque_it_t it, size_t size);

/** Bytes from one iterator to another. Specification 4.4.27. Sends no message.
 *
 * @param first  an iterator
 * @param last   another iterator of that deque
 * @return last - first; 0 with ACPX_INVALID_ARGUMENT for two deques
 */
int acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last);

#ifdef __cplusplus
} /* extern "C" */

/** acp_dereference_deque_it with a size is acpx_dereference_deque_it.
 *
 * @param it    first byte
 * @param size  bytes
 * @return the pieces, as acpx_dereference_deque_it
 */
inline acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size) {
  return acpx_dereference_deque_it(it, size);
}

#elif __STDC_VERSION__ >= 199901L

/* acp_dereference_deque_it with a size is acpx_dereference_deque_it. The type
 * of the last argument tells the forms apart: counting the arguments of a macro
 * would take (acp_deque_it_t){deque, 4} for two. Without parentheses behind it,
 * acp_dereference_deque_it is the function of one argument.
 *
 * Nothing inside of _Generic is executed. gcc warns of a comma operator without
 * an effect there, and clang of an assignment. */
#ifdef __clang__
#define ACP_LAST_OF_(...) ((void)0, __VA_ARGS__)
#else
#define ACP_LAST_OF_(...) ((acp_deque_it_t){{0}, 0} = __VA_ARGS__)
#endif
#define acp_dereference_deque_it(...)                               \
  (__extension__ _Generic(ACP_LAST_OF_(__VA_ARGS__), acp_deque_it_t \
                          : acp_dereference_deque_it, default       \
                          : acpx_dereference_deque_it)(__VA_ARGS__))

#endif

#endif /* ACP_DEQUE_H */
