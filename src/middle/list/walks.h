// Helpers of the operations on whole lists: a walk's nodes, and how elements
// leave a list. Included by whole_lists.cc, list_copies.cc and two_lists.cc.
#pragma once

#include "acp/malloc.h"
#include "middle/list/list.h"

namespace acp::middle::list {

inline bool begin_list(structure::Call& call,
                       const char* function,
                       acp_ga_t list) {
  return structure::begin_call(call, function, structure::Kind::kList, list);
}

/// Reports a comparator that is NULL.
inline bool has_compare(const structure::Call& call, Compare compare) {
  if (compare == nullptr) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT, "the comparator is NULL");
  }
  return compare != nullptr;
}

/// Reports iterators that are of two lists. Returns false.
inline bool fail_two_lists(const structure::Call& call) {
  structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                       "start and end are of two lists");
  return false;
}

/// The nodes that a walk found. Frees the copies that the walk made.
struct Walk {
  Nodes nodes;
  Walk() = default;
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  ~Walk() { free_copies(nodes); }
};

/// Walks all elements of a list that is locked. False: as LockedList::walk().
inline bool walk_all(LockedList& locked, Data data, Walk& walk) {
  return locked.walk(locked.ends.head, ACP_GA_NULL, data, walk.nodes);
}

/// Adds the erasing of the nodes' list words. They are erased before the memory
/// of the elements is freed, so that old iterators are refused.
inline void erase_list_words(LockedList& locked, const Nodes& nodes) {
  for (const Node& node : nodes) {
    locked.writes.set_list_word(node.element, ACP_GA_NULL);
  }
}

inline void free_all(const Nodes& nodes) {
  for (const Node& node : nodes) {
    acp_free(node.element);
  }
}

}  // namespace acp::middle::list
