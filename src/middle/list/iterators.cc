// Iterators of a list: they read without the lock, one get for each step.
// Called by list_api.cc. They write nothing.
#include <limits>

#include "middle/list/arrivals.h"
#include "middle/list/list.h"
#include "middle/structure/waiting.h"

namespace acp::middle::list {

using structure::Call;
using structure::Chain;
using structure::Kind;
using structure::Scratch;

namespace {

constinit Arrivals g_arrivals;

/// The element that this thread came to last, with its size, which the link to
/// it told. Dereferencing it needs no round trip while no other thread has come
/// to the element since: the iterator may be of that thread, and its element a
/// new one in the same memory. An operation that removes, moves or inserts
/// elements clears this.
struct Known {
  acp_ga_t list = ACP_GA_NULL;
  std::uint64_t life = 0;  ///< acp_reset gives addresses to other lists.
  Link link;
  Arrivals::Time read_after;
  std::uint64_t mark = Arrivals::kNone;
};

thread_local Known t_known;

/// Reads a header without the lock, and again while its links are being
/// changed. False: the address is no element of the list or an erased one
/// (reported), or the job is ending.
bool read_header(const Call& call, acp_ga_t element, Header& header) {
  Scratch scratch(*call.site);
  structure::Backoff backoff(call.function, call.handle);
  for (;;) {
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t* words = chain.get_cleared(element, kHeaderBytes);
    header = chain.run() ? header_in(words) : Header{};
    if (header.list_word == call.handle && header.is_whole()) {
      return true;
    }
    if (header.list_word != call.handle &&
        header.list_word != Header::coming_to(call.handle)) {
      break;
    }
    if (!backoff.pause()) {
      return false;
    }
  }
  structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                       "the iterator is of no element of this list, or of one "
                       "that was erased");
  return false;
}

/// Remembers the element, and returns its iterator. `read_after` is the time
/// before the link was read.
acp_list_it_t arrive(const Call& call,
                     Link link,
                     const Arrivals::Time& read_after) {
  t_known = {call.handle, call.site->life(), link, read_after,
             g_arrivals.arrive(link.ga, read_after)};
  return {{call.handle}, link.ga};
}

/// Whether this thread came to the iterator's element last, and no other one
/// since.
bool is_known(const Call& call, acp_ga_t element) {
  return t_known.list == call.handle && t_known.link.ga == element &&
         t_known.life == call.site->life() &&
         g_arrivals.is_last(element, t_known.mark, t_known.read_after);
}

}  // namespace

void forget_sizes() {
  t_known = {};
  g_arrivals.note_other();
}

acp_list_it_t first_of(acp_list_t list) {
  constexpr const char* kName = "acp_begin_list";
  Call call;
  Ends ends;
  const Arrivals::Time begin = g_arrivals.now();
  if (!structure::begin_call(call, kName, Kind::kList, list.ga) ||
      !read(kName, list.ga, ends)) {
    return {list, ACP_GA_NULL};
  }
  return arrive(call, ends.head, begin);
}

acp_list_it_t next_of(const char* function, acp_list_it_t it) {
  Call call;
  Header header;
  const Arrivals::Time begin = g_arrivals.now();
  if (!structure::begin_call(call, function, Kind::kList, it.list.ga) ||
      it.elem == ACP_GA_NULL || !read_header(call, it.elem, header)) {
    return {it.list, ACP_GA_NULL};
  }
  return arrive(call, header.next.link(), begin);
}

acp_list_it_t previous_of(const char* function, acp_list_it_t it) {
  Call call;
  const Arrivals::Time begin = g_arrivals.now();
  if (!structure::begin_call(call, function, Kind::kList, it.list.ga)) {
    return {it.list, ACP_GA_NULL};
  }
  if (it.elem == ACP_GA_NULL) {
    Ends ends;
    read(function, it.list.ga, ends);
    return arrive(call, ends.tail, begin);
  }
  Header header;
  if (!read_header(call, it.elem, header)) {
    return {it.list, ACP_GA_NULL};
  }
  return header.prev.ga == ACP_GA_NULL
             ? it
             : arrive(call, header.prev.link(), begin);
}

acp_list_it_t advance(acp_list_it_t it, int n) {
  constexpr const char* kName = "acp_advance_list_it";
  for (; n > 0; --n) {
    const acp_list_it_t next = next_of(kName, it);
    if (next.elem == ACP_GA_NULL) {
      return next;
    }
    it = next;
  }
  for (; n < 0; ++n) {
    const acp_list_it_t previous = previous_of(kName, it);
    if (previous.elem == it.elem || previous.elem == ACP_GA_NULL) {
      return previous;
    }
    it = previous;
  }
  return it;
}

/// Needs no round trip for the element that this thread came to last.
acp_element_t element_at(acp_list_it_t it) {
  Call call;
  const Arrivals::Time begin = g_arrivals.now();
  if (!structure::begin_call(call, "acp_dereference_list_it", Kind::kList,
                             it.list.ga)) {
    return {ACP_GA_NULL, 0};
  }
  if (it.elem == ACP_GA_NULL) {
    structure::fail_text(call, ACPX_BAD_ADDRESS,
                         "the iterator is the end, which has no element");
    return {ACP_GA_NULL, 0};
  }
  if (is_known(call, it.elem)) {
    return {data_of(it.elem), t_known.link.size};
  }
  Header header;
  if (!read_header(call, it.elem, header)) {
    return {ACP_GA_NULL, 0};
  }
  arrive(call, {it.elem, header.size}, begin);
  return {data_of(it.elem), header.size};
}

namespace {

/// Counts the steps from one iterator to another; -1 when it is not reached.
long long steps_to(acp_list_it_t from, acp_list_it_t to) {
  long long steps = 0;
  while (from.elem != to.elem) {
    if (from.elem == ACP_GA_NULL) {
      return -1;
    }
    const int before = acp_errno;
    acp_errno = 0;
    from = next_of("acp_distance_list_it", from);
    if (acp_errno != 0) {
      return -1;
    }
    acp_errno = before;
    ++steps;
  }
  return steps;
}

}  // namespace

/// Walks from `first` to the end, and if `last` did not come, from `last`.
int distance(acp_list_it_t first, acp_list_it_t last) {
  Call call;
  if (!structure::begin_call(call, "acp_distance_list_it", Kind::kList,
                             first.list.ga)) {
    return 0;
  }
  if (first.list.ga == last.list.ga) {
    const long long forwards = steps_to(first, last);
    if (forwards >= 0) {
      return static_cast<int>(forwards);
    }
    const long long backwards = steps_to(last, first);
    if (backwards >= 0) {
      return static_cast<int>(-backwards);
    }
  }
  structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                       "the iterators are not of one list");
  return 0;
}

}  // namespace acp::middle::list
