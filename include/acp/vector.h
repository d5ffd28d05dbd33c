/* ACP vectors: specification 2.1, chapters 2.2.3 and 4.3. A growing array of
 * bytes on one rank, which every rank changes and reads without that rank's
 * help.
 *
 * Conventions, in addition to acp/infrastructure.h and acp/gma.h:
 *
 *  1. Elements are bytes: sizes, offsets and distances count them. The first
 *     byte is aligned to 64, so elements of 8 bytes are aligned.
 *  2. A vector is a number that may be sent to other ranks. A handle of a
 *     destroyed vector, or of none, fails with ACPX_INVALID_ARGUMENT.
 *  3. An iterator is a vector and an offset; making and advancing one sends
 *     no message, but acp_end_vector.
 *  4. Addresses (acp_at_vector, acp_dereference_vector_it) are valid until the
 *     vector changes by anything but acp_push_back_vector. After a growth by
 *     push_back an address from before is of the bytes before, until the next
 *     growth.
 *  5. A source (ga) may be memory of any rank, the vector's own too. One of
 *     another rank than the caller costs a round trip more.
 *  6. When a function fails the vector is as it was. A void function says so
 *     in acp_errno: set it to 0 before. Every function can fail with
 *     ACPX_INVALID_ARGUMENT (convention 2), ACPX_NOT_INITIALIZED,
 *     ACPX_FINALIZED, ACPX_PEER_DEAD, ACPX_ABORTED.
 *  7. Functions wait for the network and, at most, for the steps of another
 *     rank's operation on the same vector; and for operations that the caller
 *     issued before. Not in a progress step.
 *
 * Functions that may run at the same time, from all ranks and threads:
 *
 *   push_back                   with everything; each is one undivided change.
 *                               Pushes wait for no other push
 *   size, empty, capacity, at,  with everything. size counts pushes that have
 *     begin, end, dereference   returned; while pushes are under way it may
 *                               count one that lies behind one that is not
 *                               there yet: bytes are certain after acp_sync
 *   pop_back, insert, erase,    with everything: one after the other. But
 *     assign, clear, reserve,   offsets that another rank shifts are not what
 *     swap                      they were: agree on who does this
 *   create, destroy             before and after all other use
 */
#ifndef ACP_VECTOR_H
#define ACP_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A vector; no vector when ga is ACP_GA_NULL. The address is a number of the
 * library's, on the rank that has the vector. */
typedef struct {
  acp_ga_t ga;
} acp_vector_t;

/** A position in a vector. index is its offset in bytes. */
typedef struct {
  acp_vector_t vector;
  int index;
} acp_vector_it_t;

/** Makes @p vector1 equal to @p vector2. Specification 4.3.2. Nothing when
 * both are one. acp_errno: ACPX_NO_MEMORY.
 *
 * @param vector1  destination
 * @param vector2  source
 */
void acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);

/** Makes a vector equal to a range. Specification 4.3.3. acp_errno:
 * ACPX_BAD_ADDRESS (the range is not in its vector), ACPX_INVALID_ARGUMENT
 * (start and end of two vectors), ACPX_NO_MEMORY.
 *
 * @param vector  destination; may be the vector of the range
 * @param start   first byte
 * @param end     behind the last byte; not before @p start
 */
void acp_assign_range_vector(acp_vector_t vector,
                             acp_vector_it_t start,
                             acp_vector_it_t end);

/** The address of a byte. Specification 4.3.4. One round trip.
 *
 * @param vector  a vector
 * @param offset  0 .. size - 1
 * @return the address, or ACP_GA_NULL: ACPX_BAD_ADDRESS (offset)
 */
acp_ga_t acp_at_vector(acp_vector_t vector, int offset);

/** The first position. Specification 4.3.5. Sends no message.
 *
 * @param vector  a vector; not looked at
 * @return an iterator of offset 0
 */
acp_vector_it_t acp_begin_vector(acp_vector_t vector);

/** Bytes that the vector can have without growing. Specification 4.3.6.
 *
 * @param vector  a vector
 * @return bytes; 0 also when it fails, with acp_errno
 */
size_t acp_capacity_vector(acp_vector_t vector);

/** Makes the size 0; the capacity stays. Specification 4.3.7.
 *
 * @param vector  a vector
 */
void acp_clear_vector(acp_vector_t vector);

/** Creates a vector. Specification 4.3.8. Not collective: its creator tells
 * others the handle.
 *
 * @code
 * acp_vector_t results = acp_create_vector(0, 3); // empty, on rank 3
 * if (results.ga == ACP_GA_NULL) acp_abort("no vector");
 * acp_push_back_vector(results, mine, 64); // 64 bytes at mine
 * size_t size = acp_size_vector(results);
 * acp_complete(acp_copy(mine, acp_at_vector(results, 0), size,
 * ACP_HANDLE_NULL));
 * @endcode
 *
 * @param size  bytes at the start, each 0
 * @param rank  where it is, 0 .. acp_procs() - 1
 * @return the vector, or one whose ga is ACP_GA_NULL: ACPX_BAD_RANK,
 *   ACPX_TOO_LARGE, ACPX_NO_MEMORY (or 65,536 structures are on that rank)
 */
acp_vector_t acp_create_vector(size_t size, int rank);

/** Ends a vector and frees its memory. Specification 4.3.9.
 *
 * @param vector  a vector; its handle is dead on all ranks afterwards
 */
void acp_destroy_vector(acp_vector_t vector);

/** Whether the size is 0. Specification 4.3.10.
 *
 * @param vector  a vector
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_vector(acp_vector_t vector);

/** The position behind the last byte. Specification 4.3.11. One round trip.
 *
 * @param vector  a vector
 * @return an iterator; offset 0 when it fails, with acp_errno. An offset of
 *   more than INT_MAX cannot be had: INT_MAX with ACPX_TOO_LARGE
 */
acp_vector_it_t acp_end_vector(acp_vector_t vector);

/** Takes bytes out. Specification 4.3.12. The bytes behind them move up. A
 * range that goes beyond the end stops there. acp_errno: ACPX_BAD_ADDRESS
 * (@p it is not in the vector).
 *
 * @param it    first byte
 * @param size  bytes
 * @return the position of the byte behind: @p it
 */
acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);

/** Takes a range out. Specification 4.3.13. acp_errno: ACPX_BAD_ADDRESS (not
 * in the vector), ACPX_INVALID_ARGUMENT (of two vectors).
 *
 * @param start  first byte
 * @param end    behind the last; not before @p start
 * @return the position of the byte behind: @p start
 */
acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start,
                                       acp_vector_it_t end);

/** Puts bytes in. Specification 4.3.14. acp_errno: ACPX_BAD_ADDRESS (@p it not
 * in the vector and not its end, or @p ga cannot be read), ACPX_NO_MEMORY.
 *
 * @param it    position; the bytes behind it move back
 * @param ga    the bytes, on any rank
 * @param size  how many
 * @return the position of the first new byte: @p it
 */
acp_vector_it_t acp_insert_vector(acp_vector_it_t it,
                                  const acp_ga_t ga,
                                  size_t size);

/** Puts a range of a vector in. Specification 4.3.15. acp_errno: as
 * acp_insert_vector and acp_assign_range_vector.
 *
 * @param it     where
 * @param start  first byte; of any vector, also of @p it
 * @param end    behind the last
 * @return the position of the first new byte: @p it
 */
acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it,
                                        acp_vector_it_t start,
                                        acp_vector_it_t end);

/** Takes bytes off the end. Specification 4.3.16.
 *
 * @param vector  a vector
 * @param size    bytes; more than there are empties it
 */
void acp_pop_back_vector(acp_vector_t vector, size_t size);

/** Adds bytes at the end, next to each other. Specification 4.3.17. Two round
 * trips, also when all ranks push. acp_errno: ACPX_BAD_ADDRESS (@p ga cannot
 * be read), ACPX_TOO_LARGE, ACPX_NO_MEMORY.
 *
 * @param vector  a vector
 * @param ga      the bytes, on any rank
 * @param size    how many; 0 only looks whether there is such a vector
 */
void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size);

/** Makes room. Specification 4.3.18. Never less than before. acp_errno:
 * ACPX_TOO_LARGE, ACPX_NO_MEMORY.
 *
 * @param vector  a vector
 * @param size    bytes that it can have afterwards without growing
 */
void acp_reserve_vector(acp_vector_t vector, size_t size);

/** Bytes in the vector. Specification 4.3.19. One round trip.
 *
 * @param vector  a vector
 * @return bytes; 0 also when it fails, with acp_errno
 */
size_t acp_size_vector(acp_vector_t vector);

/** Exchanges the contents; each vector stays on its rank. Specification
 * 4.3.20. Nothing when both are one. acp_errno: ACPX_NO_MEMORY (vectors on two
 * ranks).
 *
 * @param vector1  a vector
 * @param vector2  another
 */
void acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);

/** Moves an iterator. Specification 4.3.21. Sends no message, so the end is not
 * known: an offset beyond it fails where it is used. Stops at 0 and INT_MAX.
 *
 * @param it  an iterator
 * @param n   bytes, may be negative
 * @return the position @p n bytes on
 */
acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int n);

/** The address of an iterator's byte. Specification 4.3.22. As acp_at_vector.
 *
 * @param it  an iterator
 * @return the address, or ACP_GA_NULL: ACPX_BAD_ADDRESS (not in the vector;
 *   the end is not)
 */
acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);

/** Bytes from one iterator to another. Specification 4.3.23. Sends no message.
 *
 * @param first  an iterator
 * @param last   another iterator of that vector
 * @return last - first; 0 with ACPX_INVALID_ARGUMENT for two vectors
 */
int acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

#ifdef __cplusplus
}
#endif

#endif /* ACP_VECTOR_H */
