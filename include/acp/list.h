/* ACP lists: specification 2.1, chapters 2.2.5 and 4.5. A list in both
 * directions whose elements are on any ranks, changed and walked by every rank
 * without help of other ranks.
 *
 * Conventions, in addition to acp/infrastructure.h and acp/gma.h:
 *
 *  1. An element is a piece of bytes of any size, 0 too. Its data does not
 *     move until it is erased, and is aligned to 16.
 *  2. A list is a number that may be sent to other ranks. A handle of a
 *     destroyed list, or of none, fails with ACPX_INVALID_ARGUMENT.
 *  3. An iterator is a list and an element, or the end. An iterator whose
 *     element was erased, or is in another list, fails with
 * ACPX_INVALID_ARGUMENT where that can be seen; functions that give an iterator
 * then give the end.
 *  4. A source (elem) may be memory of any rank, also data of an element. One
 *     of another rank than the caller costs a round trip more.
 *  5. Comparators get elements that the caller can read: acp_query_address
 *     gives a pointer to their bytes. They must not use the list.
 *  6. When a function fails the list is as it was. A void function says so in
 *     acp_errno: set it to 0 before. Every function can fail with
 *     ACPX_INVALID_ARGUMENT, ACPX_NOT_INITIALIZED, ACPX_FINALIZED,
 *     ACPX_PEER_DEAD, ACPX_ABORTED; every one that makes elements with
 *     ACPX_BAD_RANK, ACPX_BAD_ADDRESS (the source), ACPX_TOO_LARGE,
 *     ACPX_NO_MEMORY.
 *  7. Functions wait for the network and for other ranks' operations on the
 *     same list, not for their programs; and for operations that the caller
 *     issued before. Not in a progress step.
 *
 * Functions that may run at the same time, from all ranks and threads:
 *
 *   push, pop, insert, erase    with everything: each is one undivided change
 *   size, empty, begin, end     with everything; no lock
 *   increment, decrement,       with pushes, pops, inserts, and erases of other
 *     dereference, advance,     elements. An element that is inserted
 *     distance                  meanwhile may be met or not
 *   assign, clear, merge,       with all that change: one after the other; not
 *     remove, reverse, sort,    with walks, which may leave out elements or end
 *     splice, swap, unique,     early
 *     ranges
 *   create, destroy             before and after all other use
 */
#ifndef ACP_LIST_H
#define ACP_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "acp/element.h"
#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A list; no list when ga is ACP_GA_NULL. The address is a number of the
 * library's, on the rank that has the list's ends. */
typedef struct {
  acp_ga_t ga;
} acp_list_t;

/** A position in a list. elem is the library's; ACP_GA_NULL at the end. */
typedef struct {
  acp_list_t list;
  acp_ga_t elem;
} acp_list_it_t;

/** Makes @p list1 equal to @p list2, with new elements on the ranks of those
 * of @p list2. Specification 4.5.2. Nothing when both are one.
 *
 * @param list1  destination
 * @param list2  source
 */
void acp_assign_list(acp_list_t list1, acp_list_t list2);

/** Makes a list equal to a range, as acp_assign_list. Specification 4.5.3.
 *
 * @param list   destination; may be the list of the range
 * @param start  first element
 * @param end    behind the last element, of that list
 */
void acp_assign_range_list(acp_list_t list,
                           acp_list_it_t start,
                           acp_list_it_t end);

/** The first element. Specification 4.5.4. One round trip.
 *
 * @param list  a list
 * @return an iterator; the end when the list is empty, or with acp_errno
 */
acp_list_it_t acp_begin_list(acp_list_t list);

/** Erases all elements. Specification 4.5.5. One round trip for each.
 *
 * @param list  a list
 */
void acp_clear_list(acp_list_t list);

/** Creates an empty list. Specification 4.5.6. Not collective: its creator
 * tells others the handle.
 *
 * @code
 * acp_list_t list = acp_create_list(0);
 * if (list.ga == ACP_GA_NULL) acp_abort("no list");
 * acp_element_t text = {mine, 64};
 * acp_push_back_list(list, text, acp_procs() - 1); // a copy, on the last rank
 * for (acp_list_it_t it = acp_begin_list(list); it.elem != ACP_GA_NULL;
 *      it = acp_increment_list_it(it)) {
 *   printf("%zu bytes\n", acp_dereference_list_it(it).size);
 * }
 * @endcode
 *
 * @param rank  where its ends are, 0 .. acp_procs() - 1
 * @return the list, or one whose ga is ACP_GA_NULL: ACPX_BAD_RANK,
 *   ACPX_NO_MEMORY (65,536 structures are on that rank)
 */
acp_list_t acp_create_list(int rank);

/** Ends a list and frees its elements. Specification 4.5.7.
 *
 * @param list  a list; its handle is dead on all ranks afterwards
 */
void acp_destroy_list(acp_list_t list);

/** Whether there is no element. Specification 4.5.8. One round trip.
 *
 * @param list  a list
 * @return 1 or 0; 1 also when it fails, with acp_errno
 */
int acp_empty_list(acp_list_t list);

/** The position behind the last element. Specification 4.5.9. Sends no message.
 *
 * @param list  a list; not looked at
 * @return the end
 */
acp_list_it_t acp_end_list(acp_list_t list);

/** Takes an element out and frees it. Specification 4.5.10.
 *
 * @param it  an element; the end fails with ACPX_INVALID_ARGUMENT
 * @return the element behind it; the end with acp_errno when it fails
 */
acp_list_it_t acp_erase_list(acp_list_it_t it);

/** Takes a range out and frees it. Specification 4.5.11.
 *
 * @param start  first element
 * @param end    behind the last element, of that list
 * @return @p end
 */
acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);

/** Puts a new element in. Specification 4.5.12.
 *
 * @param it    position; the new element comes before this one
 * @param elem  its contents
 * @param rank  where the element is, 0 .. acp_procs() - 1
 * @return the new element; @p it with acp_errno when it fails
 */
acp_list_it_t acp_insert_list(acp_list_it_t it,
                              const acp_element_t elem,
                              int rank);

/** Puts copies of a range in, on the ranks of the originals. Specification
 * 4.5.13.
 *
 * @param it     where; they come before this element
 * @param start  first element; of any list, also of @p it
 * @param end    behind the last element, of that list
 * @return the first new element; @p it when the range is empty, or with
 *   acp_errno when it fails
 */
acp_list_it_t acp_insert_range_list(acp_list_it_t it,
                                    acp_list_it_t start,
                                    acp_list_it_t end);

/** Moves the elements of a sorted list into another, which stays sorted; of
 * equal ones those of @p list1 come first. Specification 4.5.14. Elements stay
 * where they are. Nothing when both are one.
 *
 * @param list1  a sorted list
 * @param list2  another; empty afterwards
 * @param comp   negative, 0 or positive, as strcmp; convention 5
 */
void acp_merge_list(acp_list_t list1,
                    acp_list_t list2,
                    int (*comp)(const acp_element_t elem1,
                                const acp_element_t elem2));

/** Erases the last element. Specification 4.5.15. Nothing when there is none.
 *
 * @param list  a list
 */
void acp_pop_back_list(acp_list_t list);

/** Erases the first element. Specification 4.5.16. Nothing when there is none.
 *
 * @param list  a list
 */
void acp_pop_front_list(acp_list_t list);

/** Adds an element at the end. Specification 4.5.17. Two round trips; three
 * when the element or the one before it is on another rank than the list.
 *
 * @param list  a list
 * @param elem  its contents
 * @param rank  where the element is, 0 .. acp_procs() - 1
 */
void acp_push_back_list(acp_list_t list, const acp_element_t elem, int rank);

/** Adds an element at the front. Specification 4.5.18. As acp_push_back_list.
 *
 * @param list  a list
 * @param elem  its contents
 * @param rank  where the element is, 0 .. acp_procs() - 1
 */
void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank);

/** Erases all elements that have the same bytes. Specification 4.5.19.
 *
 * @param list  a list
 * @param elem  bytes to compare with
 */
void acp_remove_list(acp_list_t list, const acp_element_t elem);

/** Turns the order around. Specification 4.5.20.
 *
 * @param list  a list
 */
void acp_reverse_list(acp_list_t list);

/** Number of elements. Specification 4.5.21. One round trip.
 *
 * @param list  a list
 * @return elements; 0 also when it fails, with acp_errno
 */
size_t acp_size_list(acp_list_t list);

/** Sorts; equal elements keep their order. Specification 4.5.22. One round trip
 * for each element, whose links change while its data stays.
 *
 * @param list  a list
 * @param comp  negative, 0 or positive, as strcmp; convention 5
 */
void acp_sort_list(acp_list_t list,
                   int (*comp)(const acp_element_t elem1,
                               const acp_element_t elem2));

/** Moves an element. Specification 4.5.23. Its data stays where it is.
 *
 * @param it1  where; it comes before this element
 * @param it2  the element, of the same list or another
 */
void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2);

/** Moves a range, as acp_splice_list. Specification 4.5.24. The position must
 * not be within the range: ACPX_INVALID_ARGUMENT.
 *
 * @param it     where; they come before this element
 * @param start  first element, of the same list or another
 * @param end    behind the last, of the list of @p start
 */
void acp_splice_range_list(acp_list_it_t it,
                           acp_list_it_t start,
                           acp_list_it_t end);

/** Exchanges the elements. Specification 4.5.25. They stay where they are; one
 * round trip for each.
 *
 * @param list1  a list
 * @param list2  another
 */
void acp_swap_list(acp_list_t list1, acp_list_t list2);

/** Erases elements that have the same bytes as the one before them.
 * Specification 4.5.26.
 *
 * @param list  a list
 */
void acp_unique_list(acp_list_t list);

/** Moves an iterator. Specification 4.5.27. One round trip for each element.
 * Stops at the first element and at the end.
 *
 * @param it  an iterator
 * @param n   elements, may be negative
 * @return the position @p n elements on
 */
acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);

/** The element before. Specification 4.5.28. Stays at the first. One round
 * trip.
 *
 * @param it  an iterator; the end too
 * @return the element before; of an empty list the end
 */
acp_list_it_t acp_decrement_list_it(acp_list_it_t it);

/** Where an element's data is. Specification 4.5.29. Free right after the
 * increment, decrement or begin of the same thread that gave @p it, while no
 * other thread of the process comes there; otherwise one round trip.
 *
 * @param it  an element
 * @return address and size, or ACP_GA_NULL and 0: ACPX_BAD_ADDRESS (the end)
 */
acp_element_t acp_dereference_list_it(acp_list_it_t it);

/** Elements from one position to another. Specification 4.5.30. Walks.
 *
 * @param first  an iterator
 * @param last   another iterator of that list
 * @return how often @p first has to be incremented; negative when @p last
 *   comes first; 0 with ACPX_INVALID_ARGUMENT when neither comes
 */
int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);

/** The next element. Specification 4.5.31. Stays at the end. One round trip.
 *
 * @param it  an iterator
 * @return the next element, or the end
 */
acp_list_it_t acp_increment_list_it(acp_list_it_t it);

#ifdef __cplusplus
}
#endif

#endif /* ACP_LIST_H */
