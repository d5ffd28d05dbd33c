// The operations of a list, as acp/list.h promises them. Called by list_api.cc.
// Failures are reported with the public function's name. False: failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acp/list.h"
#include "middle/list/locked_list.h"

namespace acp::middle::list {

using Compare = int (*)(const acp_element_t, const acp_element_t);

enum class End : std::uint8_t { kFront, kBack };

// ---- One element (list.cc) ------------------------------------------------

acp_ga_t create(int rank);
bool destroy(acp_ga_t list);
bool read(const char* function, acp_ga_t list, Ends& ends);
bool push(
    const char* function, acp_ga_t list, End end, acp_element_t data, int rank);
bool pop(const char* function, acp_ga_t list, End end);
/// Sets `it` to the new element.
bool insert(acp_list_it_t& it, acp_element_t data, int rank);
/// Sets `it` to the next element, or to the end when the call fails.
bool erase(acp_list_it_t& it);

// ---- Iterators (iterators.cc) ---------------------------------------------

acp_list_it_t first_of(acp_list_t list);
acp_list_it_t next_of(const char* function, acp_list_it_t it);
acp_list_it_t previous_of(const char* function, acp_list_it_t it);
acp_list_it_t advance(acp_list_it_t it, int n);
acp_element_t element_at(acp_list_it_t it);
int distance(acp_list_it_t first, acp_list_it_t last);
/// Drops the element sizes that threads of this process remember. Called by
/// every operation that removes or moves elements, and by those that return an
/// iterator of a new element: its memory may have been another element's.
void forget_sizes();

// ---- Whole lists (whole_lists.cc, list_copies.cc, two_lists.cc) -----------

bool clear(acp_ga_t list);
/// Which elements of the source are copied. A kRange ends at `end`, or at the
/// list's end when `end` is ACP_GA_NULL. A range that starts at ACP_GA_NULL is
/// empty. kWhole copies the whole list.
enum class Extent : std::uint8_t { kRange, kWhole };
bool assign(const char* function,
            acp_ga_t list,
            Extent extent,
            acp_list_it_t start,
            acp_list_it_t end);
bool insert_range(acp_list_it_t& it, acp_list_it_t start, acp_list_it_t end);
bool erase_range(acp_list_it_t start, acp_list_it_t& end);
bool merge(acp_ga_t list1, acp_ga_t list2, Compare compare);
bool remove(acp_ga_t list, acp_element_t data);
bool reverse(acp_ga_t list);
bool sort(acp_ga_t list, Compare compare);
bool unique(acp_ga_t list);
/// Splices one element, or a range.
bool splice(acp_list_it_t to, acp_list_it_t from);
bool splice_range(acp_list_it_t to, acp_list_it_t start, acp_list_it_t end);
bool swap(acp_ga_t list1, acp_ga_t list2);

}  // namespace acp::middle::list
