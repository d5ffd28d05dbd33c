/* ACP sets: specification 2.1, chapter 4.6. Keys, spread over ranks by hash,
 * found, inserted and removed by every rank without help of other ranks.
 *
 * Conventions, in addition to acp/infrastructure.h and acp/gma.h:
 *
 *  1. A key is a piece of bytes, 1 or more; two are equal when size and bytes
 *     are.
 *  2. A set is a number (ga) that may be sent to other ranks, with the other
 *     members or without. A handle of a destroyed set, or of none, fails with
 *     ACPX_INVALID_ARGUMENT.
 *  3. num_slots is how many keys each rank is to have: with so many, nearly
 *     all are found in one round trip. More are never refused as long as there
 *     is memory, but take longer.
 *  4. "Local" functions are about keys that are on the caller's rank.
 *  5. Arguments (acp_element_t) may be memory of any rank. One of another rank
 *     than the caller costs a round trip more.
 *  6. When a function fails the set is as it was; assign, clear, merge and
 *     move, which do one key after the other, stop there. A void function
 *     says so in acp_errno: set it to 0 before. Every function can fail with
 *     ACPX_INVALID_ARGUMENT (convention 2, or an empty key),
 *     ACPX_NOT_INITIALIZED, ACPX_FINALIZED, ACPX_PEER_DEAD, ACPX_ABORTED; every
 *     one with a key with ACPX_BAD_ADDRESS, ACPX_TOO_LARGE, ACPX_NO_MEMORY.
 *  7. Functions wait for the network and for other ranks' changes of keys
 *     with a similar hash, not for their programs; and for operations that the
 *     caller issued before. Not in a progress step.
 *
 * Functions that may run at the same time, from all ranks and threads:
 *
 *   find, insert, remove        with everything but swap; each is one
 *                               undivided operation. Of several inserts of
 *                               one key one inserts
 *   size, empty                 with everything but swap; each rank's share is
 *                               counted at one time
 *   begin, increment,           with everything but swap. A walk meets each
 *     dereference               key that is there all the time once, none
 *                               twice at one position
 *   assign, clear, merge, move  with everything but swap, as a series of
 *                               finds, inserts and removes
 *   swap                        with nothing else on the two sets
 *   create, destroy             before and after all other use
 */
#ifndef ACP_SET_H
#define ACP_SET_H

#include <stddef.h>
#include <stdint.h>

#include "acp/element.h"
#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A set; no set when ga is ACP_GA_NULL. The other two members are the
 * arguments of its creation, for the program. */
typedef struct {
  acp_ga_t ga;
  uint64_t num_ranks;
  uint64_t num_slots;
} acp_set_t;

/** A position in a set: rank is where the key is; slot and elem are the
 * library's. elem is ACP_GA_NULL at the end. */
typedef struct {
  acp_set_t set;
  int rank;
  int slot;
  acp_ga_t elem;
} acp_set_it_t;

/** A position, and whether there is one; for programs' own functions. */
typedef struct {
  acp_set_it_t it;
  int success;
} acp_set_ib_t;

/** The caller's part of making @p set1 equal to @p set2. Specification 4.6.2.
 * Removes the keys of @p set1 that are on the caller's rank and that @p set2
 * does not have. Then it copies the keys of @p set2 that are on the caller's
 * rank. When all ranks call it, in any order or at the same time, @p set1
 * becomes equal, whichever ranks the two are over. Not collective: waits for no
 * rank.
 *
 * @param set1  destination
 * @param set2  source
 */
void acp_assign_local_set(acp_set_t set1, acp_set_t set2);

/** Makes @p set1 equal to @p set2. Specification 4.6.3. Nothing when both
 * are one.
 *
 * @param set1  destination
 * @param set2  source
 */
void acp_assign_set(acp_set_t set1, acp_set_t set2);

/** The first key on the caller's rank. Specification 4.6.4.
 *
 * @param set  a set
 * @return an iterator over the caller's keys; acp_end_local_set when there is
 *   none, or with acp_errno
 */
acp_set_it_t acp_begin_local_set(acp_set_t set);

/** The first key, in no particular order. Specification 4.6.5.
 *
 * @param set  a set
 * @return an iterator; acp_end_set when there is none, or with acp_errno
 */
acp_set_it_t acp_begin_set(acp_set_t set);

/** Removes the keys on the caller's rank. Specification 4.6.6.
 *
 * @param set  a set
 */
void acp_clear_local_set(acp_set_t set);

/** Removes all keys. Specification 4.6.7.
 *
 * @param set  a set
 */
void acp_clear_set(acp_set_t set);

/** Creates an empty set. Specification 4.6.8. Not collective: its creator
 * tells others the handle.
 *
 * @code
 * const int ranks[] = {0, 1};
 * acp_set_t set = acp_create_set(2, ranks, 1000, 0);
 * if (set.ga == ACP_GA_NULL) acp_abort("no set");
 * acp_element_t key = {mine, 8};
 * acp_insert_set(set, key);
 * if (acp_find_set(set, key).elem != ACP_GA_NULL) puts("it is there");
 * @endcode
 *
 * @param num_ranks  how many ranks share it, 1 .. acp_procs()
 * @param ranks      which ones, each once
 * @param num_slots  keys for each rank, 1 or more; convention 3
 * @param rank       which rank has the directory, 0 .. acp_procs() - 1
 * @return the set, or one whose ga is ACP_GA_NULL: ACPX_INVALID_ARGUMENT,
 *   ACPX_BAD_RANK, ACPX_TOO_LARGE, ACPX_NO_MEMORY (or 65,536 structures are on
 *   that rank)
 */
acp_set_t acp_create_set(int num_ranks,
                         const int* ranks,
                         int num_slots,
                         int rank);

/** Ends a set and frees its memory. Specification 4.6.9.
 *
 * @param set  a set; its handle is dead on all ranks afterwards
 */
void acp_destroy_set(acp_set_t set);

/** Whether no key is on the caller's rank. Specification 4.6.10.
 *
 * @param set  a set
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_local_set(acp_set_t set);

/** Whether there is no key. Specification 4.6.11.
 *
 * @param set  a set
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_set(acp_set_t set);

/** Where iterators over the caller's keys end. Specification 4.6.12.
 * Sends no message. As acp_end_set, but for slot.
 *
 * @param set  a set; not looked at
 * @return the end; elem is ACP_GA_NULL
 */
acp_set_it_t acp_end_local_set(acp_set_t set);

/** Where iterators end. Specification 4.6.13. Sends no message.
 *
 * @param set  a set; not looked at
 * @return the end; elem is ACP_GA_NULL
 */
acp_set_it_t acp_end_set(acp_set_t set);

/** Looks a key up. Specification 4.6.14. One round trip; two when the
 * key is large: more than 32 bytes.
 *
 * @param set  a set
 * @param key  the key to find
 * @return an iterator, which goes on over all keys; acp_end_set when there is
 *   no such key (acp_errno is left alone), or with acp_errno
 */
acp_set_it_t acp_find_set(acp_set_t set, acp_element_t key);

/** Puts a key in. Specification 4.6.15. Two round trips; one when it is
 * there already.
 *
 * @param set  a set
 * @param key  copied
 * @return 1 the key is there now; 0 with acp_errno
 */
int acp_insert_set(acp_set_t set, acp_element_t key);

/** Copies the keys of @p set2 that are on the caller's rank and that @p set1
 * does not have. Specification 4.6.16.
 *
 * @param set1  destination
 * @param set2  source
 */
void acp_merge_local_set(acp_set_t set1, acp_set_t set2);

/** Copies the keys of @p set2 that @p set1 does not have. Specification 4.6.17.
 * Nothing when both are one.
 *
 * @param set1  destination
 * @param set2  source
 */
void acp_merge_set(acp_set_t set1, acp_set_t set2);

/** Moves the keys of @p set2 that are on the caller's rank and that @p set1
 * does not have. Specification 4.6.18.
 *
 * @param set1  destination
 * @param set2  source
 */
void acp_move_local_set(acp_set_t set1, acp_set_t set2);

/** Moves the keys of @p set2 that @p set1 does not have; the rest stays.
 * Specification 4.6.19. Nothing when both are one.
 *
 * @param set1  destination
 * @param set2  source
 */
void acp_move_set(acp_set_t set1, acp_set_t set2);

/** Takes a key out. Specification 4.6.20. Two round trips; one when it
 * is not there, which is no failure.
 *
 * @param set  a set
 * @param key  the key to remove
 */
void acp_remove_set(acp_set_t set, acp_element_t key);

/** Number of keys on the caller's rank. Specification 4.6.21.
 *
 * @param set  a set
 * @return keys; 0 also when it fails, with acp_errno
 */
size_t acp_size_local_set(acp_set_t set);

/** Number of keys. Specification 4.6.22. All ranks are asked at the same time.
 *
 * @param set  a set
 * @return keys; 0 also when it fails, with acp_errno
 */
size_t acp_size_set(acp_set_t set);

/** Exchanges the contents, with the ranks and slots that they have; nothing is
 * copied. Specification 4.6.23. Nothing when both are one.
 *
 * @param set1  a set
 * @param set2  another
 */
void acp_swap_set(acp_set_t set1, acp_set_t set2);

/** Where a key is. Specification 4.6.24. One round trip.
 *
 * @param it  an iterator
 * @return the key, or an empty element: ACPX_BAD_ADDRESS (the end),
 *   ACPX_INVALID_ARGUMENT (removed)
 */
acp_element_t acp_dereference_set_it(acp_set_it_t it);

/** The next key. Specification 4.6.25. One round trip passes 16 buckets. Works
 * also when the key of @p it has been removed.
 *
 * @param it  an iterator; the end stays
 * @return the next position, or the end of its sort (acp_end_set,
 *   acp_end_local_set); the end with acp_errno when it fails
 */
acp_set_it_t acp_increment_set_it(acp_set_it_t it);

#ifdef __cplusplus
}
#endif

#endif /* ACP_SET_H */
