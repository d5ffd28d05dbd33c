// The operations of acp/list.h that copy elements of one list into another:
// assign and insert of a range. Called by list_api.cc. Neither may hold both
// locks: the source's lock is free again before the destination's lock is
// taken.
#include "acp/gma.h"
#include "middle/list/walks.h"

namespace acp::middle::list {

using structure::Call;
using structure::Scratch;

namespace {

/// Copies of elements, linked with each other, that are in no list yet. They
/// are freed unless they are given away.
class NewElements {
 public:
  ~NewElements() { free_all(nodes_); }

  NewElements() = default;
  NewElements(const NewElements&) = delete;
  NewElements& operator=(const NewElements&) = delete;

  /// Copies the data of `originals`, each on its original's rank. False: no
  /// memory.
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

  /// Writes the headers: the copies are linked with each other and with
  /// `around`.
  [[nodiscard]] bool write_headers(Scratch& scratch,
                                   acp_ga_t list_word,
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
          from.size, from.check, nodes_[i].size, list_word};
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
  /// Headers of 64 bytes that fill the 8 KiB of a scratch.
  static constexpr std::size_t kPerScratch = 128;
  Nodes nodes_;
};

/// Copies a range of a list, as it is at one time, under that list's lock.
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
    return fail_two_lists(call);
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

/// Copies the source, then locks the destination and replaces its elements. The
/// list words of the old ones are erased before their memory is freed.
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
  if (!locked.begin() || !walk_all(locked, Data::kLeave, old) ||
      !copies.write_headers(locked.scratch(), list, {})) {
    return false;
  }
  forget_sizes();
  const Nodes& nodes = copies.nodes();
  locked.ends.head = nodes.empty() ? Link{} : nodes.front().link();
  locked.ends.tail = nodes.empty() ? Link{} : nodes.back().link();
  locked.ends.count = nodes.size();
  erase_list_words(locked, old.nodes);
  copies.give();
  if (!locked.commit()) {
    return false;
  }
  free_all(old.nodes);
  return true;
}

/// Copies the source first: it may be the same list.
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
  forget_sizes();
  it.elem = run.first.ga;
  copies.give();
  return locked.commit();
}

}  // namespace acp::middle::list
