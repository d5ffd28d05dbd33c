/* ACP maps: specification 2.1, chapters 2.2.6 and 4.7. Values under keys,
 * spread over ranks by hash, found, changed and removed by every rank without
 * the help of other ranks.
 *
 * Conventions, in addition to acp/infrastructure.h and acp/gma.h:
 *
 *  1. A key is a piece of bytes, 1 or more; two are equal when size and bytes
 *     are. A value is a piece of bytes, 0 or more, aligned to 8. It does not
 *     move until its key is removed or an assign replaces the value: until
 *     then atomics on a value are safe.
 *  2. A map is a number (ga) that may be sent to other ranks, with the other
 *     members or without. A handle of a destroyed map, or of none, fails with
 *     ACPX_INVALID_ARGUMENT.
 *  3. num_slots is how many elements each rank is to have: with so many, nearly
 *     all are found in one round trip. More are never refused as long as there
 *     is memory, but take longer.
 *  4. "Local" functions are about elements that are on the caller's rank.
 *  5. Arguments (acp_element_t) may be memory of any rank. One of another rank
 *     than the caller costs a round trip more.
 *  6. When a function fails the map is as it was; assign, clear, merge and
 *     move, which do one element after the other, stop there. A void function
 *     says so in acp_errno: set it to 0 before. Every function can fail with
 *     ACPX_INVALID_ARGUMENT (convention 2, or an empty key),
 *     ACPX_NOT_INITIALIZED, ACPX_FINALIZED, ACPX_PEER_DEAD, ACPX_ABORTED; every
 *     one with a key with ACPX_BAD_ADDRESS, ACPX_TOO_LARGE, ACPX_NO_MEMORY.
 *  7. Functions wait for the network and for other ranks' changes of elements
 *     with a similar hash, not for their programs; and for operations that the
 *     caller issued before. Not in a progress step.
 *
 * Functions that may run at the same time, from all ranks and threads:
 *
 *   find, insert, remove,       with everything but swap; each is one
 *     retrieve,                 undivided operation. Of several inserts of
 *     acpx_upsert_add8_map      one key one inserts
 *   size, empty                 with everything but swap; each rank's share is
 *                               counted at one time
 *   begin, increment,           with everything but swap. A walk meets each
 *     dereference               element that is there all the time once, none
 *                               twice at one position
 *   assign, clear, merge, move  with everything but swap, as a series of
 *                               finds, inserts and removes
 *   swap                        with nothing else on the two maps
 *   create, destroy             before and after all other use
 */
#ifndef ACP_MAP_H
#define ACP_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "acp/element.h"
#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A map; no map when ga is ACP_GA_NULL. The other two members are the
 * arguments of its creation, for the program. */
typedef struct {
  acp_ga_t ga;
  uint64_t num_ranks;
  uint64_t num_slots;
} acp_map_t;

/** A position in a map: rank is where the element is; slot and elem are the
 * library's. elem is ACP_GA_NULL at the end. */
typedef struct {
  acp_map_t map;
  int rank;
  int slot;
  acp_ga_t elem;
} acp_map_it_t;

/** A position, and whether there is one; for programs' own functions. */
typedef struct {
  acp_map_it_t it;
  int success;
} acp_map_ib_t;

/** The caller's part of making @p map1 equal to @p map2. Specification 4.7.2.
 * Removes the elements of @p map1 that are on the caller's rank and whose keys
 * @p map2 does not have. Then it copies the elements of @p map2 that are on the
 * caller's rank. A key that @p map1 has already gets the value of @p map2. When
 * all ranks call it, in any order or at the same time, @p map1 becomes equal,
 * whichever ranks the two are over. Not collective: waits for no rank.
 *
 * @param map1  destination
 * @param map2  source
 */
void acp_assign_local_map(acp_map_t map1, acp_map_t map2);

/** Makes @p map1 equal to @p map2. Specification 4.7.3. Nothing when both
 * are one.
 *
 * @param map1  destination
 * @param map2  source
 */
void acp_assign_map(acp_map_t map1, acp_map_t map2);

/** The first element on the caller's rank. Specification 4.7.4.
 *
 * @param map  a map
 * @return an iterator over the caller's elements; acp_end_local_map when there
 * is none, or with acp_errno
 */
acp_map_it_t acp_begin_local_map(acp_map_t map);

/** The first element, in no particular order. Specification 4.7.5.
 *
 * @param map  a map
 * @return an iterator; acp_end_map when there is none, or with acp_errno
 */
acp_map_it_t acp_begin_map(acp_map_t map);

/** Removes the elements on the caller's rank. Specification 4.7.6.
 *
 * @param map  a map
 */
void acp_clear_local_map(acp_map_t map);

/** Removes all elements. Specification 4.7.7.
 *
 * @param map  a map
 */
void acp_clear_map(acp_map_t map);

/** Creates an empty map. Specification 4.7.8. Not collective: its creator
 * tells others the handle.
 *
 * @code
 * const int ranks[] = {0, 1};
 * acp_map_t map = acp_create_map(2, ranks, 1000, 0);
 * if (map.ga == ACP_GA_NULL) acp_abort("no map");
 * acp_pair_t pair = {{mine, 8}, {mine + 8, 64}}; // a key and its value
 * acp_errno = 0;
 * if (acp_insert_map(map, pair) == 0 && acp_errno == 0) puts("it was there");
 * size_t bytes = acp_retrieve_map(map, pair); // copies the value to mine + 8
 * printf("a value of %zu bytes\n", bytes);
 * @endcode
 *
 * @param num_ranks  how many ranks share it, 1 .. acp_procs()
 * @param ranks      which ones, each once
 * @param num_slots  elements for each rank, 1 or more; convention 3
 * @param rank       which rank has the directory, 0 .. acp_procs() - 1
 * @return the map, or one whose ga is ACP_GA_NULL: ACPX_INVALID_ARGUMENT,
 *   ACPX_BAD_RANK, ACPX_TOO_LARGE, ACPX_NO_MEMORY (or 65,536 structures are on
 *   that rank)
 */
acp_map_t acp_create_map(int num_ranks,
                         const int* ranks,
                         int num_slots,
                         int rank);

/** Ends a map and frees its memory. Specification 4.7.9.
 *
 * @param map  a map; its handle is dead on all ranks afterwards
 */
void acp_destroy_map(acp_map_t map);

/** Whether no element is on the caller's rank. Specification 4.7.10.
 *
 * @param map  a map
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_local_map(acp_map_t map);

/** Whether there is no element. Specification 4.7.11.
 *
 * @param map  a map
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_map(acp_map_t map);

/** Where iterators over the caller's elements end. Specification 4.7.12.
 * Sends no message. As acp_end_map, but for slot.
 *
 * @param map  a map; not looked at
 * @return the end; elem is ACP_GA_NULL
 */
acp_map_it_t acp_end_local_map(acp_map_t map);

/** Where iterators end. Specification 4.7.13. Sends no message.
 *
 * @param map  a map; not looked at
 * @return the end; elem is ACP_GA_NULL
 */
acp_map_it_t acp_end_map(acp_map_t map);

/** Looks a key up. Specification 4.7.14. One round trip; two when the
 * element is large: the key, rounded up to 8 bytes, and the value take more
 * than 32 bytes.
 *
 * @param map  a map
 * @param key  the key to find
 * @return an iterator, which goes on over all elements; acp_end_map when there
 * is no such key (acp_errno is left alone), or with acp_errno
 */
acp_map_it_t acp_find_map(acp_map_t map, const acp_element_t key);

/** Puts a value under a key that is not there yet. Specification 4.7.15.
 * Two round trips; one when it is there.
 *
 * @param map   a map
 * @param pair  key and value; copied
 * @return 1 inserted; 0 the key is there (acp_errno is left alone), or with
 *   acp_errno
 */
int acp_insert_map(acp_map_t map, acp_pair_t pair);

/** Copies the elements of @p map2 that are on the caller's rank and that @p
 * map1 does not have. Specification 4.7.16.
 *
 * @param map1  destination
 * @param map2  source
 */
void acp_merge_local_map(acp_map_t map1, acp_map_t map2);

/** Copies the elements of @p map2 that @p map1 does not have.
 * Specification 4.7.17. Values of keys in the destination stay. Nothing
 * when both are one.
 *
 * @param map1  destination
 * @param map2  source
 */
void acp_merge_map(acp_map_t map1, acp_map_t map2);

/** Moves the elements of @p map2 that are on the caller's rank and that @p map1
 * does not have. Specification 4.7.18.
 *
 * @param map1  destination
 * @param map2  source
 */
void acp_move_local_map(acp_map_t map1, acp_map_t map2);

/** Moves the elements of @p map2 that @p map1 does not have; the rest stays.
 * Specification 4.7.19. Nothing when both are one.
 *
 * @param map1  destination
 * @param map2  source
 */
void acp_move_map(acp_map_t map1, acp_map_t map2);

/** Takes a key out, with its value. Specification 4.7.20. Two round trips; one
 * when it is not there, which is no failure.
 *
 * @param map  a map
 * @param key  the key to remove
 */
void acp_remove_map(acp_map_t map, acp_element_t key);

/** Copies the value under a key. Specification 4.7.21. One round trip; three
 * when the element is large. A value longer than the buffer is truncated: its
 * size is what acp_dereference_map_it says of acp_find_map. When it fails or
 * finds nothing after another rank removed the key meanwhile, the buffer may
 * have been written to.
 *
 * @param map   a map
 * @param pair  first: the key. second: where to, and how many bytes at most
 * @return bytes copied; 0 when there is no such key or its value is empty
 *   (acp_errno is left alone), or with acp_errno
 */
size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair);

/** Number of elements on the caller's rank. Specification 4.7.22.
 *
 * @param map  a map
 * @return elements; 0 also when it fails, with acp_errno
 */
size_t acp_size_local_map(acp_map_t map);

/** Number of elements. Specification 4.7.23. All ranks are asked at the same
 * time.
 *
 * @param map  a map
 * @return elements; 0 also when it fails, with acp_errno
 */
size_t acp_size_map(acp_map_t map);

/** Exchanges the contents, with the ranks and slots that they have; nothing is
 * copied. Specification 4.7.24. Nothing when both are one.
 *
 * @param map1  a map
 * @param map2  another
 */
void acp_swap_map(acp_map_t map1, acp_map_t map2);

/** Where an element is. Specification 4.7.25. One round trip. The specification
 * lets it return an acp_element_t too; that is the member second, or first.
 *
 * @param it  an iterator
 * @return key and value, or two empty elements: ACPX_BAD_ADDRESS (the end),
 *   ACPX_INVALID_ARGUMENT (removed)
 */
acp_pair_t acp_dereference_map_it(acp_map_it_t it);

/** The next element. Specification 4.7.26. One round trip passes 16 buckets.
 * Works also when the element of @p it has been removed.
 *
 * @param it  an iterator; the end stays
 * @return the next position, or the end of its sort (acp_end_map,
 *   acp_end_local_map); the end with acp_errno when it fails
 */
acp_map_it_t acp_increment_map_it(acp_map_it_t it);

#ifdef __cplusplus
}
#endif

#endif /* ACP_MAP_H */
