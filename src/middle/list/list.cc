// The operations on one element of a list. Called by list_api.cc. A push makes
// its element in the flight that takes the lock, and links it in the flight
// that releases the lock. Only a thread that holds the lock may change links.
#include "middle/list/list.h"

#include <cstring>

#include "acp/malloc.h"

namespace acp::middle::list {

using structure::Call;
using structure::Chain;
using structure::Kind;
using structure::Scratch;
using structure::Source;
using structure::View;

acp_ga_t create(int rank) {
  structure::Site* site = structure::Site::of_call("acp_create_list");
  if (site == nullptr) {
    return ACP_GA_NULL;
  }
  if (!site->has_rank(rank)) {
    const Call call{site,        "acp_create_list", Kind::kList,
                    ACP_GA_NULL, ACP_GA_NULL,       rank};
    structure::fail_rank(call, rank);
    return ACP_GA_NULL;
  }
  Scratch scratch(*site);
  return structure::create_control(scratch, "acp_create_list", Kind::kList,
                                   rank, 0, {0, 0, 0, 0, 0});
}

bool read(const char* function, acp_ga_t list, Ends& ends) {
  Call call;
  if (!structure::begin_call(call, function, Kind::kList, list)) {
    return false;
  }
  Scratch scratch(*call.site);
  View view{};
  if (!structure::look(scratch, call, view)) {
    return false;
  }
  ends = Ends::in(view);
  return true;
}

namespace {

/// An element that is in no list yet. It is freed unless it is given away.
class NewElement {
 public:
  /// Allocates the element, and sends its header and data without waiting. The
  /// list word says that the element is coming, so an old iterator to this
  /// memory does not find it. False: failed, which is reported.
  [[nodiscard]] bool make(Scratch& scratch,
                          const Call& call,
                          acp_element_t data,
                          int rank) {
    Call there = call;
    there.rank = rank;
    if (!call.site->has_rank(rank)) {
      structure::fail_rank(there, rank);
      return false;
    }
    if (!source_.open(scratch, there, data.ga, data.size)) {
      return false;
    }
    block_.allocate(kHeaderBytes + data.size, rank);
    if (!block_.is_good()) {
      return false;
    }
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t header[kHeaderBytes / 8] = {
        0, 0, 0, 0, 0, 0, data.size, Header::coming_to(call.handle)};
    chain.put_words(block_.ga(), header, kHeaderBytes / 8);
    if (!source_.add_put(chain, data_of(block_.ga())) &&
        !source_.copy_to(data_of(block_.ga()))) {
      return false;
    }
    return chain.post_with_next() != ACP_HANDLE_NULL;
  }

  /// Ends an element that will not be linked. It waits for what is on its way
  /// into the block. Then it erases the list word, so that no reader waits for
  /// the links.
  void abandon(Scratch& scratch) {
    if (block_.is_good()) {
      scratch.clear();
      Chain chain(scratch);
      chain.put8(block_.ga() + offsetof(Header, list_word), ACP_GA_NULL);
      [[maybe_unused]] const bool is_done = chain.run();
    }
  }

  Link link() const { return {block_.ga(), source_.bytes()}; }

  void give() { block_.give(); }

 private:
  Source source_;
  structure::Block block_;
};

}  // namespace

/// Makes the element, locks, links it at one end, and unlocks.
bool push(const char* function,
          acp_ga_t list,
          End end,
          acp_element_t data,
          int rank) {
  Call call;
  if (!structure::begin_call(call, function, Kind::kList, list)) {
    return false;
  }
  Scratch scratch(*call.site);
  NewElement element;
  LockedList locked(call);
  // The element has a scratch of its own, because its steps are under way while
  // the lock is taken.
  if (!element.make(scratch, call, data, rank) || !locked.begin()) {
    element.abandon(scratch);
    return false;
  }
  const Link link = element.link();
  locked.link(end == End::kBack ? Run{locked.ends.tail, link, link, {}, 1}
                                : Run{{}, link, link, locked.ends.head, 1});
  locked.writes.set_list_word(link.ga, call.handle);
  element.give();
  return locked.commit();
}

/// Unlinks the element, erases its list word, unlocks, and only then frees the
/// memory.
bool pop(const char* function, acp_ga_t list, End end) {
  Call call;
  if (!structure::begin_call(call, function, Kind::kList, list)) {
    return false;
  }
  LockedList locked(call);
  if (!locked.begin()) {
    return false;
  }
  const Link gone = end == End::kBack ? locked.ends.tail : locked.ends.head;
  if (gone.ga == ACP_GA_NULL) {
    return true;
  }
  Header header;
  if (!locked.read(gone.ga, header)) {
    return false;
  }
  forget_sizes();
  locked.unlink({header.prev.link(), gone, gone, header.next.link(), 1});
  locked.writes.set_list_word(gone.ga, ACP_GA_NULL);
  if (!locked.commit()) {
    return false;
  }
  acp_free(gone.ga);
  return true;
}

/// Makes the element, then locks and reads the neighbour's header together.
bool insert(acp_list_it_t& it, acp_element_t data, int rank) {
  Call call;
  if (!structure::begin_call(call, "acp_insert_list", Kind::kList,
                             it.list.ga)) {
    return false;
  }
  Scratch scratch(*call.site);
  NewElement element;
  LockedList locked(call);
  Header header{};
  if (!element.make(scratch, call, data, rank) || !locked.begin(it.elem) ||
      (it.elem != ACP_GA_NULL && !locked.read(it.elem, header))) {
    element.abandon(scratch);
    return false;
  }
  const Link link = element.link();
  const Link after =
      it.elem == ACP_GA_NULL ? Link{} : Link{it.elem, header.size};
  const Link before =
      it.elem == ACP_GA_NULL ? locked.ends.tail : header.prev.link();
  locked.link({before, link, link, after, 1});
  locked.writes.set_list_word(link.ga, call.handle);
  element.give();
  if (!locked.commit()) {
    return false;
  }
  forget_sizes();
  it.elem = link.ga;
  return true;
}

/// Frees the memory only after the unlocking flight, as pop() does.
bool erase(acp_list_it_t& it) {
  Call call;
  const acp_ga_t element = it.elem;
  it.elem = ACP_GA_NULL;
  if (!structure::begin_call(call, "acp_erase_list", Kind::kList, it.list.ga)) {
    return false;
  }
  LockedList locked(call);
  Header header;
  if (!locked.begin(element) || !locked.read(element, header)) {
    return false;
  }
  forget_sizes();
  const Link link{element, header.size};
  locked.unlink({header.prev.link(), link, link, header.next.link(), 1});
  locked.writes.set_list_word(element, ACP_GA_NULL);
  if (!locked.commit()) {
    return false;
  }
  acp_free(element);
  it.elem = header.next.ga;
  return true;
}

}  // namespace acp::middle::list
