// Operations that walk: under the lock, each element read once.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "acp/gma.h"
#include "acp/malloc.h"
#include "middle/list/list.h"

namespace acp::middle::list {

using structure::Call;
using structure::Kind;
using structure::Scratch;

namespace {

bool begin_list(Call& call, const char* function, acp_ga_t list) {
  return structure::begin_call(call, function, Kind::kList, list);
}

/// A walk's result, whose copies go with it.
struct Walk {
  Nodes nodes;
  Walk() = default;
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  ~Walk() { free_copies(nodes); }
};

/// Bytes on the caller's rank.
const std::byte* bytes_at(acp_ga_t ga) {
  return static_cast<const std::byte*>(acp_query_address(ga));
}

bool are_equal(const Node& a, const Node& b) {
  return a.size == b.size &&
         (a.size == 0 ||
          std::memcmp(bytes_at(a.readable), bytes_at(b.readable), a.size) == 0);
}

/// Marked before they are freed, so that iterators are known for dead.
void disown(LockedList& locked, const Nodes& nodes) {
  for (const Node& node : nodes) {
    locked.writes.set_owner(node.element, ACP_GA_NULL);
  }
}

void free_all(const Nodes& nodes) {
  for (const Node& node : nodes) {
    acp_free(node.element);
  }
}

/// Keeps those that `is_kept` (of each index) says; frees the others.
bool keep(LockedList& locked, Nodes& nodes, const std::vector<bool>& is_kept) {
  Nodes kept;
  Nodes gone;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    (is_kept[i] ? kept : gone).push_back(nodes[i]);
  }
  if (gone.empty()) {
    return true;
  }
  locked.set_order(kept);
  disown(locked, gone);
  if (!locked.commit()) {
    return false;
  }
  free_all(gone);
  return true;
}

/// Stable, and harmless when the program's function contradicts itself.
void sort_nodes(Nodes& nodes, Compare compare) {
  Nodes other(nodes.size());
  for (std::size_t width = 1; width < nodes.size(); width *= 2) {
    for (std::size_t first = 0; first < nodes.size(); first += 2 * width) {
      const std::size_t middle = std::min(first + width, nodes.size());
      const std::size_t end = std::min(first + 2 * width, nodes.size());
      std::size_t a = first;
      std::size_t b = middle;
      for (std::size_t i = first; i < end; ++i) {
        const bool is_a =
            b == end ||
            (a < middle && compare(nodes[a].value(), nodes[b].value()) <= 0);
        other[i] = nodes[is_a ? a++ : b++];
      }
    }
    nodes.swap(other);
  }
}

bool has_compare(const Call& call, Compare compare) {
  if (compare == nullptr) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT, "no comparator");
  }
  return compare != nullptr;
}

/// Two lists, locked in the order of their addresses.
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

/// Copies of elements, in a row of their own, that are in no list yet.
class NewElements {
 public:
  ~NewElements() { free_all(nodes_); }

  NewElements() = default;
  NewElements(const NewElements&) = delete;
  NewElements& operator=(const NewElements&) = delete;

  /// On the ranks of the originals; data only. False: no memory.
  [[nodiscard]] bool copy(const Nodes& originals) {
    acp_handle_t last = ACP_HANDLE_NULL;
    for (const Node& from : originals) {
      const acp_ga_t element = structure::allocate(
          kHeaderBytes + from.size, acp_query_rank(from.element));
      if (element == ACP_GA_NULL) {
        break;
      }
      nodes_.push_back({element, from.size, {}, {}, ACP_GA_NULL, false});
      if (from.size != 0) {
        last = acp_copy(data_of(element), data_of(from.element), from.size,
                        ACP_HANDLE_NULL);
      }
    }
    const bool is_done = last == ACP_HANDLE_NULL || structure::finish(last);
    return is_done && nodes_.size() == originals.size();
  }

  /// Headers: linked with each other, between what `run` says.
  [[nodiscard]] bool write_headers(Scratch& scratch,
                                   acp_ga_t owner,
                                   const Run& around) {
    acp_handle_t last = ACP_HANDLE_NULL;
    scratch.clear();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (i % kPerScratch == 0 && i != 0) {
        if (!structure::finish(last)) {
          return false;
        }
        scratch.clear();
      }
      const Link next =
          i + 1 < nodes_.size() ? nodes_[i + 1].link() : around.after;
      const Link prev = i > 0 ? nodes_[i - 1].link() : around.before;
      const LinkWords to = LinkWords::of(next);
      const LinkWords from = LinkWords::of(prev);
      const std::uint64_t header[kHeaderBytes / 8] = {
          to.ga,     to.size,    to.check,       from.ga,
          from.size, from.check, nodes_[i].size, owner};
      structure::Chain chain(scratch);
      chain.put_words(nodes_[i].element, header, kHeaderBytes / 8);
      last = chain.post();
      if (last == ACP_HANDLE_NULL) {
        return false;
      }
    }
    return last == ACP_HANDLE_NULL || structure::finish(last);
  }

  const Nodes& nodes() const { return nodes_; }

  void give() { nodes_.clear(); }

 private:
  static constexpr std::size_t kPerScratch = 128;
  Nodes nodes_;
};

/// Copies a range of a list, as it is at one time.
bool copy_range(const char* function,
                Extent extent,
                acp_list_it_t start,
                acp_list_it_t end,
                NewElements& copies) {
  Call call;
  if (!begin_list(call, function, start.list.ga)) {
    return false;
  }
  if (start.list.ga != end.list.ga) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                         "start and end are of two lists");
    return false;
  }
  LockedList locked(call);
  Header header{};
  if (!locked.begin()) {
    return false;
  }
  Link first = locked.ends.head;
  if (extent == Extent::kRange) {
    if (start.elem != ACP_GA_NULL && !locked.read(start.elem, header)) {
      return false;
    }
    first = {start.elem, header.size};
  }
  Walk walk;
  return locked.walk(first, end.elem, Data::kLeave, walk.nodes) &&
         copies.copy(walk.nodes);
}

}  // namespace

bool clear(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_clear_list", list)) {
    return false;
  }
  LockedList locked(call);
  Walk walk;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kLeave, walk.nodes)) {
    return false;
  }
  forget_sizes();
  return keep(locked, walk.nodes, std::vector<bool>(walk.nodes.size(), false));
}

bool destroy(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_destroy_list", list)) {
    return false;
  }
  LockedList locked(call);
  Walk walk;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kLeave, walk.nodes)) {
    return false;
  }
  forget_sizes();
  disown(locked, walk.nodes);
  if (!locked.writes.run(locked.scratch())) {
    return false;
  }
  locked.destroy();
  free_all(walk.nodes);
  return true;
}

bool assign(const char* function,
            acp_ga_t list,
            Extent extent,
            acp_list_it_t start,
            acp_list_it_t end) {
  Call call;
  NewElements copies;
  if (!begin_list(call, function, list) ||
      !copy_range(function, extent, start, end, copies)) {
    return false;
  }
  LockedList locked(call);
  Walk old;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kLeave, old.nodes) ||
      !copies.write_headers(locked.scratch(), list, {})) {
    return false;
  }
  forget_sizes();
  const Nodes& nodes = copies.nodes();
  locked.ends.head = nodes.empty() ? Link{} : nodes.front().link();
  locked.ends.tail = nodes.empty() ? Link{} : nodes.back().link();
  locked.ends.count = nodes.size();
  disown(locked, old.nodes);
  copies.give();
  if (!locked.commit()) {
    return false;
  }
  free_all(old.nodes);
  return true;
}

bool insert_range(acp_list_it_t& it, acp_list_it_t start, acp_list_it_t end) {
  constexpr const char* kName = "acp_insert_range_list";
  Call call;
  NewElements copies;
  if (!begin_list(call, kName, it.list.ga) ||
      !copy_range(kName, Extent::kRange, start, end, copies)) {
    return false;
  }
  LockedList locked(call);
  Header header{};
  if (!locked.begin(it.elem) ||
      (it.elem != ACP_GA_NULL && !locked.read(it.elem, header))) {
    return false;
  }
  if (copies.nodes().empty()) {
    return true;
  }
  const Nodes& nodes = copies.nodes();
  Run run{it.elem == ACP_GA_NULL ? locked.ends.tail : header.prev.link(),
          nodes.front().link(), nodes.back().link(),
          it.elem == ACP_GA_NULL ? Link{} : Link{it.elem, header.size},
          nodes.size()};
  if (!copies.write_headers(locked.scratch(), it.list.ga, run)) {
    return false;
  }
  locked.link(run);
  it.elem = run.first.ga;
  copies.give();
  return locked.commit();
}

bool erase_range(acp_list_it_t start, acp_list_it_t& end) {
  constexpr const char* kName = "acp_erase_range_list";
  Call call;
  if (!begin_list(call, kName, start.list.ga)) {
    return false;
  }
  if (start.list.ga != end.list.ga) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                         "start and end are of two lists");
    return false;
  }
  LockedList locked(call);
  Header header{};
  Walk walk;
  if (!locked.begin(start.elem) ||
      (start.elem != ACP_GA_NULL && !locked.read(start.elem, header)) ||
      !locked.walk({start.elem, header.size}, end.elem, Data::kLeave,
                   walk.nodes)) {
    return false;
  }
  if (walk.nodes.empty()) {
    return true;
  }
  forget_sizes();
  locked.unlink(LockedList::run_of(walk.nodes));
  disown(locked, walk.nodes);
  if (!locked.commit()) {
    return false;
  }
  free_all(walk.nodes);
  return true;
}

bool remove(acp_ga_t list, acp_element_t data) {
  Call call;
  if (!begin_list(call, "acp_remove_list", list)) {
    return false;
  }
  // The value, where it can be read: it may lie in the list itself.
  Scratch scratch(*call.site);
  Call here = call;
  here.rank = call.site->rank();
  structure::Source source;
  if (!source.open(scratch, here, data.ga, data.size)) {
    return false;
  }
  std::vector<std::byte> value(data.size);
  if (data.size != 0) {
    std::memcpy(value.data(), bytes_at(source.ga()), data.size);
  }
  LockedList locked(call);
  Walk walk;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kBring, walk.nodes)) {
    return false;
  }
  forget_sizes();
  std::vector<bool> is_kept;
  for (const Node& node : walk.nodes) {
    is_kept.push_back(
        node.size != data.size ||
        (node.size != 0 &&
         std::memcmp(bytes_at(node.readable), value.data(), node.size) != 0));
  }
  return keep(locked, walk.nodes, is_kept);
}

bool unique(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_unique_list", list)) {
    return false;
  }
  LockedList locked(call);
  Walk walk;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kBring, walk.nodes)) {
    return false;
  }
  forget_sizes();
  std::vector<bool> is_kept;
  for (std::size_t i = 0; i < walk.nodes.size(); ++i) {
    is_kept.push_back(i == 0 || !are_equal(walk.nodes[i - 1], walk.nodes[i]));
  }
  return keep(locked, walk.nodes, is_kept);
}

bool reverse(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_reverse_list", list)) {
    return false;
  }
  LockedList locked(call);
  Walk walk;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kLeave, walk.nodes)) {
    return false;
  }
  std::reverse(walk.nodes.begin(), walk.nodes.end());
  locked.set_order(walk.nodes);
  return locked.commit();
}

bool sort(acp_ga_t list, Compare compare) {
  Call call;
  if (!begin_list(call, "acp_sort_list", list) || !has_compare(call, compare)) {
    return false;
  }
  LockedList locked(call);
  Walk walk;
  if (!locked.begin() ||
      !locked.walk(locked.ends.head, ACP_GA_NULL, Data::kBring, walk.nodes)) {
    return false;
  }
  sort_nodes(walk.nodes, compare);
  locked.set_order(walk.nodes);
  return locked.commit();
}

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
  TwoLockedLists both(call1, call2);
  Walk walk1;
  Walk walk2;
  if (!both.begin() ||
      !both.one().walk(both.one().ends.head, ACP_GA_NULL, Data::kBring,
                       walk1.nodes) ||
      !both.two().walk(both.two().ends.head, ACP_GA_NULL, Data::kBring,
                       walk2.nodes)) {
    return false;
  }
  Nodes merged;
  std::size_t b = 0;
  for (const Node& node : walk1.nodes) {
    while (b < walk2.nodes.size() &&
           compare(walk2.nodes[b].value(), node.value()) < 0) {
      merged.push_back(walk2.nodes[b++]);
    }
    merged.push_back(node);
  }
  for (; b < walk2.nodes.size(); ++b) {
    merged.push_back(walk2.nodes[b]);
  }
  forget_sizes();
  for (const Node& node : walk2.nodes) {
    both.one().writes.set_owner(node.element, list1);
  }
  both.one().set_order(merged);
  both.two().set_order({});
  return both.one().commit() && both.two().commit();
}

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
  TwoLockedLists both(call1, call2);
  Walk walk1;
  Walk walk2;
  if (!both.begin() ||
      !both.one().walk(both.one().ends.head, ACP_GA_NULL, Data::kLeave,
                       walk1.nodes) ||
      !both.two().walk(both.two().ends.head, ACP_GA_NULL, Data::kLeave,
                       walk2.nodes)) {
    return false;
  }
  forget_sizes();
  for (const Node& node : walk1.nodes) {
    both.two().writes.set_owner(node.element, list2);
  }
  for (const Node& node : walk2.nodes) {
    both.one().writes.set_owner(node.element, list1);
  }
  std::swap(both.one().ends, both.two().ends);
  return both.one().commit() && both.two().commit();
}

namespace {

/// Within one list.
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
  Run run = from;
  run.before = to == ACP_GA_NULL ? locked.ends.tail : header.prev.link();
  run.after = to == ACP_GA_NULL ? Link{} : Link{to, header.size};
  locked.link(run);
  return locked.commit();
}

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
  Run run = from;
  run.before = to == ACP_GA_NULL ? to_list.ends.tail : header.prev.link();
  run.after = to == ACP_GA_NULL ? Link{} : Link{to, header.size};
  to_list.link(run);
  for (const Node& node : nodes) {
    to_list.writes.set_owner(node.element, to_list.call().handle);
  }
  return from_list.commit() && to_list.commit();
}

/// `last` is left out unless it is one element.
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
    if (begin_list(call, "acp_splice_range_list", start.list.ga)) {
      structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                           "start and end are of two lists");
    }
    return false;
  }
  return splice_any("acp_splice_range_list", to, start, end.elem, false);
}

}  // namespace acp::middle::list
