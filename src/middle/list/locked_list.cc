// Locking, walking and changing a list. Called by list.cc, whole_lists.cc,
// list_copies.cc and two_lists.cc. Only the thread that holds the lock writes
// to the list.
#include "middle/list/locked_list.h"

#include "acp/malloc.h"

namespace acp::middle::list {

using structure::Chain;
using structure::View;

void free_copies(Nodes& nodes) {
  for (Node& node : nodes) {
    if (node.is_copy) {
      acp_free(node.readable);
      node.is_copy = false;
    }
  }
}

/// Locks, and reads the neighbour's header ahead when one flight can do both.
bool LockedList::begin(acp_ga_t element) {
  View view{};
  static_assert(kHeaderBytes <= structure::Lock::Extra::kMostBytes);
  structure::Lock::Extra extra{element, kHeaderBytes, nullptr};
  const int before = acp_errno;
  const bool is_near =
      element != ACP_GA_NULL && acp_query_rank(element) == call_.rank;
  acp_errno = before;
  if (!lock_.acquire(scratch_, view, is_near ? &extra : nullptr)) {
    return false;
  }
  ends = Ends::in(view);
  version_ = view.version();
  if (is_near) {
    read_ahead_ = element;
    header_ahead_ = header_in(extra.words);
  }
  return true;
}

bool LockedList::read(acp_ga_t element, Header& header) {
  if (element != ACP_GA_NULL && element == read_ahead_) {
    header = header_ahead_;
  } else {
    header = Header{};
    scratch_.clear();
    Chain chain(scratch_);
    const std::uint64_t* words = chain.get_cleared(element, kHeaderBytes);
    if (element != ACP_GA_NULL && chain.run()) {
      header = header_in(words);
    }
  }
  if (header.list_word == call_.handle) {
    return true;
  }
  structure::fail_address(call_, ACPX_INVALID_ARGUMENT, "the element at",
                          element, "it is of another list, or was erased");
  return false;
}

/// Makes the node's data readable here: allocates a block on the caller's rank,
/// unless the element is there already. The walk fills the block.
bool LockedList::bring(Node& node) {
  node.readable = data_of(node.element);
  if (acp_query_rank(node.element) == call_.site->rank()) {
    return true;
  }
  node.readable = structure::allocate(node.size, call_.site->rank());
  node.is_copy = node.readable != ACP_GA_NULL;
  return node.is_copy;
}

/// One get for each element, which also brings the data if wanted. A walk
/// longer than the list means that `end` is not behind `first`.
bool LockedList::walk(Link first, acp_ga_t end, Data data, Nodes& nodes) {
  Link at = first;
  while (at.ga != end) {
    if (at.ga == ACP_GA_NULL || nodes.size() > ends.count) {
      structure::fail_numbers(call_, ACPX_INVALID_ARGUMENT,
                              "end is not behind start: {} elements follow, "
                              "and the list has {}",
                              nodes.size(), ends.count);
      return false;
    }
    nodes.push_back({at.ga, at.size, {}, {}, ACP_GA_NULL, false});
    Node& node = nodes.back();
    if (data == Data::kBring && !bring(node)) {
      return false;
    }
    scratch_.clear();
    Chain chain(scratch_);
    const std::uint64_t* words = chain.get(at.ga, kHeaderBytes);
    if (node.is_copy && node.size != 0) {
      chain.get_to(data_of(at.ga), node.readable, node.size);
    }
    if (!chain.run()) {
      return false;
    }
    const Header header = header_in(words);
    node.next = header.next.link();
    node.prev = header.prev.link();
    at = node.next;
  }
  return true;
}

Run LockedList::run_of(const Node& node) {
  return {node.prev, node.link(), node.link(), node.next, 1};
}

Run LockedList::run_of(const Nodes& nodes) {
  return {nodes.front().prev, nodes.front().link(), nodes.back().link(),
          nodes.back().next, nodes.size()};
}

void LockedList::unlink(const Run& run) {
  if (run.before.ga != ACP_GA_NULL) {
    writes.set_next(run.before.ga, run.after);
  } else {
    ends.head = run.after;
  }
  if (run.after.ga != ACP_GA_NULL) {
    writes.set_prev(run.after.ga, run.before);
  } else {
    ends.tail = run.before;
  }
  ends.count -= run.count;
}

void LockedList::link(const Run& run) {
  writes.set_prev(run.first.ga, run.before);
  writes.set_next(run.last.ga, run.after);
  if (run.before.ga != ACP_GA_NULL) {
    writes.set_next(run.before.ga, run.first);
  } else {
    ends.head = run.first;
  }
  if (run.after.ga != ACP_GA_NULL) {
    writes.set_prev(run.after.ga, run.last);
  } else {
    ends.tail = run.last;
  }
  ends.count += run.count;
}

void LockedList::set_order(const Nodes& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Link next = i + 1 < nodes.size() ? nodes[i + 1].link() : Link{};
    const Link prev = i > 0 ? nodes[i - 1].link() : Link{};
    if (nodes[i].next.ga != next.ga) {
      writes.set_next(nodes[i].element, next);
    }
    if (nodes[i].prev.ga != prev.ga) {
      writes.set_prev(nodes[i].element, prev);
    }
  }
  ends.head = nodes.empty() ? Link{} : nodes.front().link();
  ends.tail = nodes.empty() ? Link{} : nodes.back().link();
  ends.count = nodes.size();
}

/// Writes to the control's rank go in one flight with the control. If other
/// ranks have elements to change, those writes are complete before the flight
/// that unlocks.
bool LockedList::commit() {
  scratch_.clear();
  Chain chain(scratch_);
  if (writes.fits_chain_on(call_.rank)) {
    writes.add_to(chain);
  } else if (!writes.run(scratch_)) {
    return false;
  }
  const std::uint64_t fields[structure::kFields] = {
      ends.head.ga, ends.head.size, ends.tail.ga, ends.tail.size, ends.count};
  structure::write_fields(chain, call_, version_ + 1, fields);
  return lock_.release_with(chain);
}

void LockedList::destroy() {
  lock_.destroy();
}

}  // namespace acp::middle::list
