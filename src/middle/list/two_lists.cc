// The operations of acp/list.h that may have two lists locked at once: merge,
// swap and splice. Called by list_api.cc. Both locks are taken in the order of
// the controls' addresses, so that two callers cannot wait for each other.
#include <optional>
#include <utility>

#include "middle/list/walks.h"

namespace acp::middle::list {

using structure::Call;

namespace {

/// Two lists, locked in the order of their controls' addresses.
class TwoLockedLists {
 public:
  TwoLockedLists(const Call& call1, const Call& call2)
      : lower_(call1.control < call2.control ? call1 : call2),
        upper_(call1.control < call2.control ? call2 : call1),
        is_swapped_(call1.control >= call2.control) {}

  [[nodiscard]] bool begin() { return lower_.begin() && upper_.begin(); }

  LockedList& one() { return is_swapped_ ? upper_ : lower_; }

  LockedList& two() { return is_swapped_ ? lower_ : upper_; }

 private:
  LockedList lower_;
  LockedList upper_;
  bool is_swapped_;
};

/// Locks both lists, reads all their elements, and calls `work` with them.
/// False: as LockedList, or `work` has failed.
template <typename Work>
bool with_both(const Call& call1,
               const Call& call2,
               Data data,
               const Work& work) {
  TwoLockedLists both(call1, call2);
  Walk walk1;
  Walk walk2;
  return both.begin() && walk_all(both.one(), data, walk1) &&
         walk_all(both.two(), data, walk2) &&
         work(both, walk1.nodes, walk2.nodes);
}

/// The nodes of two lists in order, those of the first before equal ones.
Nodes merge_nodes(const Nodes& nodes1, const Nodes& nodes2, Compare compare) {
  Nodes merged;
  std::size_t b = 0;
  for (const Node& node : nodes1) {
    while (b < nodes2.size() && compare(nodes2[b].value(), node.value()) < 0) {
      merged.push_back(nodes2[b++]);
    }
    merged.push_back(node);
  }
  for (; b < nodes2.size(); ++b) {
    merged.push_back(nodes2[b]);
  }
  return merged;
}
}  // namespace

/// Stable: of equal elements, those of list1 come first. The elements of list2
/// get the list word of list1, and list2 is written empty.
bool merge(acp_ga_t list1, acp_ga_t list2, Compare compare) {
  Call call1;
  Call call2;
  if (!begin_list(call1, "acp_merge_list", list1) ||
      !begin_list(call2, "acp_merge_list", list2) ||
      !has_compare(call1, compare)) {
    return false;
  }
  if (list1 == list2) {
    Ends ends;
    return read("acp_merge_list", list1, ends);
  }
  return with_both(
      call1, call2, Data::kBring,
      [&](TwoLockedLists& both, const Nodes& nodes1, const Nodes& nodes2) {
        const Nodes merged = merge_nodes(nodes1, nodes2, compare);
        forget_sizes();
        for (const Node& node : nodes2) {
          both.one().writes.set_list_word(node.element, list1);
        }
        both.one().set_order(merged);
        both.two().set_order({});
        return both.one().commit() && both.two().commit();
      });
}

/// Elements stay where they are; their list words and the fields of the
/// controls change.
bool swap(acp_ga_t list1, acp_ga_t list2) {
  Call call1;
  Call call2;
  if (!begin_list(call1, "acp_swap_list", list1) ||
      !begin_list(call2, "acp_swap_list", list2)) {
    return false;
  }
  if (list1 == list2) {
    Ends ends;
    return read("acp_swap_list", list1, ends);
  }
  return with_both(
      call1, call2, Data::kLeave,
      [=](TwoLockedLists& both, const Nodes& nodes1, const Nodes& nodes2) {
        forget_sizes();
        for (const Node& node : nodes1) {
          both.two().writes.set_list_word(node.element, list2);
        }
        for (const Node& node : nodes2) {
          both.one().writes.set_list_word(node.element, list1);
        }
        std::swap(both.one().ends, both.two().ends);
        return both.one().commit() && both.two().commit();
      });
}

namespace {

/// Links a run in front of the element `to`, whose header is given; ACP_GA_NULL
/// is the end of the list.
void link_before(LockedList& list, acp_ga_t to, const Header& header, Run run) {
  const bool is_end = to == ACP_GA_NULL;
  run.before = is_end ? list.ends.tail : header.prev.link();
  run.after = is_end ? Link{} : Link{to, header.size};
  list.link(run);
}

/// Moves a run within one list, to the front of the element `to`.
bool move_within(LockedList& locked, acp_ga_t to, const Nodes& nodes) {
  const Run from = LockedList::run_of(nodes);
  for (const Node& node : nodes) {
    if (node.element == to && to != nodes.front().element) {
      structure::fail_text(locked.call(), ACPX_INVALID_ARGUMENT,
                           "the destination is within the range that moves");
      return false;
    }
  }
  if (to == from.first.ga || to == from.after.ga) {
    return true;  // it is there
  }
  Header header{};
  if (to != ACP_GA_NULL && !locked.read(to, header)) {
    return false;
  }
  locked.unlink(from);
  link_before(locked, to, header, from);
  return locked.commit();
}

/// Moves a run from one list to another, to the front of the element `to`.
bool move_between(LockedList& to_list,
                  acp_ga_t to,
                  LockedList& from_list,
                  const Nodes& nodes) {
  Header header{};
  if (to != ACP_GA_NULL && !to_list.read(to, header)) {
    return false;
  }
  const Run from = LockedList::run_of(nodes);
  from_list.unlink(from);
  link_before(to_list, to, header, from);
  for (const Node& node : nodes) {
    to_list.writes.set_list_word(node.element, to_list.call().handle);
  }
  return from_list.commit() && to_list.commit();
}

/// Moves one element, or the range up to `end`. One list is locked once.
bool splice_any(const char* function,
                acp_list_it_t to,
                acp_list_it_t start,
                acp_ga_t end,
                bool is_one) {
  Call call1;
  Call call2;
  if (!begin_list(call1, function, to.list.ga) ||
      !begin_list(call2, function, start.list.ga)) {
    return false;
  }
  std::optional<LockedList> single;
  std::optional<TwoLockedLists> both;
  const bool is_same = to.list.ga == start.list.ga;
  const bool has_begun = is_same ? single.emplace(call1).begin()
                                 : both.emplace(call1, call2).begin();
  if (!has_begun) {
    return false;
  }
  LockedList& target = is_same ? *single : both->one();
  LockedList& source = is_same ? *single : both->two();
  Header header{};
  Walk walk;
  if ((is_one || start.elem != ACP_GA_NULL) &&
      !source.read(start.elem, header)) {
    return false;
  }
  if (!source.walk({start.elem, header.size}, is_one ? header.next.ga : end,
                   Data::kLeave, walk.nodes)) {
    return false;
  }
  if (walk.nodes.empty()) {
    return true;
  }
  forget_sizes();
  return is_same ? move_within(target, to.elem, walk.nodes)
                 : move_between(target, to.elem, source, walk.nodes);
}

}  // namespace

bool splice(acp_list_it_t to, acp_list_it_t from) {
  return splice_any("acp_splice_list", to, from, ACP_GA_NULL, true);
}

bool splice_range(acp_list_it_t to, acp_list_it_t start, acp_list_it_t end) {
  Call call;
  if (start.list.ga != end.list.ga) {
    return begin_list(call, "acp_splice_range_list", start.list.ga) &&
           fail_two_lists(call);
  }
  return splice_any("acp_splice_range_list", to, start, end.elem, false);
}

}  // namespace acp::middle::list
