// The operations of acp/list.h on all elements of one list. Called by
// list_api.cc. Each takes the lock, reads each element once, and writes what
// has changed with the unlocking. No element may be freed before the list is
// written.
#include <algorithm>
#include <cstring>

#include "middle/list/walks.h"

namespace acp::middle::list {

using structure::Call;
using structure::Scratch;

namespace {

/// The bytes at an address of the caller's rank.
const std::byte* bytes_at(acp_ga_t ga) {
  return static_cast<const std::byte*>(acp_query_address(ga));
}

bool are_equal(const Node& a, const Node& b) {
  return a.size == b.size &&
         (a.size == 0 ||
          std::memcmp(bytes_at(a.readable), bytes_at(b.readable), a.size) == 0);
}

/// Locks the list of the call, reads all its elements, and calls `work` with
/// both. False: as LockedList, or `work` has failed.
template <typename Work>
bool with_all(const Call& call, Data data, const Work& work) {
  LockedList locked(call);
  Walk walk;
  return locked.begin() && walk_all(locked, data, walk) &&
         work(locked, walk.nodes);
}

/// Keeps the nodes for which `is_kept` is true, and frees the others.
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
  erase_list_words(locked, gone);
  if (!locked.commit()) {
    return false;
  }
  free_all(gone);
  return true;
}

/// Merge sort, bottom up: stable, and within bounds even when the program's
/// comparator contradicts itself.
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

}  // namespace

bool clear(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_clear_list", list)) {
    return false;
  }
  return with_all(call, Data::kLeave, [](LockedList& locked, Nodes& nodes) {
    forget_sizes();
    return keep(locked, nodes, std::vector<bool>(nodes.size(), false));
  });
}

/// List words are erased first, then the control goes, and the memory is freed
/// last.
bool destroy(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_destroy_list", list)) {
    return false;
  }
  return with_all(call, Data::kLeave, [](LockedList& locked, Nodes& nodes) {
    forget_sizes();
    erase_list_words(locked, nodes);
    if (!locked.writes.run(locked.scratch())) {
      return false;
    }
    locked.destroy();
    free_all(nodes);
    return true;
  });
}

/// Unlinks the run and erases the list words in one commit, then frees the
/// memory.
bool erase_range(acp_list_it_t start, acp_list_it_t& end) {
  constexpr const char* kName = "acp_erase_range_list";
  Call call;
  if (!begin_list(call, kName, start.list.ga)) {
    return false;
  }
  if (start.list.ga != end.list.ga) {
    return fail_two_lists(call);
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
  erase_list_words(locked, walk.nodes);
  if (!locked.commit()) {
    return false;
  }
  free_all(walk.nodes);
  return true;
}

/// Reads all elements to this rank and compares them here.
bool remove(acp_ga_t list, acp_element_t data) {
  Call call;
  if (!begin_list(call, "acp_remove_list", list)) {
    return false;
  }
  // The value is copied out first, because it may be an element of this list.
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
  return with_all(call, Data::kBring, [&](LockedList& locked, Nodes& nodes) {
    forget_sizes();
    std::vector<bool> is_kept;
    for (const Node& node : nodes) {
      is_kept.push_back(
          node.size != data.size ||
          (node.size != 0 &&
           std::memcmp(bytes_at(node.readable), value.data(), node.size) != 0));
    }
    return keep(locked, nodes, is_kept);
  });
}

/// Keeps the first of equal neighbours.
bool unique(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_unique_list", list)) {
    return false;
  }
  return with_all(call, Data::kBring, [](LockedList& locked, Nodes& nodes) {
    forget_sizes();
    std::vector<bool> is_kept;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      is_kept.push_back(i == 0 || !are_equal(nodes[i - 1], nodes[i]));
    }
    return keep(locked, nodes, is_kept);
  });
}

bool reverse(acp_ga_t list) {
  Call call;
  if (!begin_list(call, "acp_reverse_list", list)) {
    return false;
  }
  return with_all(call, Data::kLeave, [](LockedList& locked, Nodes& nodes) {
    std::reverse(nodes.begin(), nodes.end());
    locked.set_order(nodes);
    return locked.commit();
  });
}

/// Elements stay where they are; only links are written.
bool sort(acp_ga_t list, Compare compare) {
  Call call;
  if (!begin_list(call, "acp_sort_list", list) || !has_compare(call, compare)) {
    return false;
  }
  return with_all(call, Data::kBring,
                  [compare](LockedList& locked, Nodes& nodes) {
                    sort_nodes(nodes, compare);
                    locked.set_order(nodes);
                    return locked.commit();
                  });
}
}  // namespace acp::middle::list
