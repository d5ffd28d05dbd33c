// Tests of acp/list.h, function by function: against std::list, on all ranks at
// once, and with arguments that it refuses.
#include "acp/list.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <string_view>
#include <thread>
#include <vector>

#include "acp.h"
#include "acp/extension.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

using Bytes = std::vector<std::byte>;

class Scratch {
 public:
  Scratch() : block_(spmd::Memory::kLibrary, 1 << 16) {}

  acp_ga_t ga(std::size_t at = 0) const { return block_.mine(at); }

  acp_ga_t of(int rank, std::size_t at = 0) const {
    return block_.at(rank, at);
  }

  std::byte* data() const { return block_.data(); }

  Bytes get(acp_element_t element) const {
    if (element.size != 0) {
      EXPECT_DONE(acp_copy(ga(), element.ga, element.size, ACP_HANDLE_NULL));
    }
    return Bytes(data(), data() + element.size);
  }

  acp_element_t put(const Bytes& bytes, std::size_t at = 30'000) const {
    if (!bytes.empty()) {
      std::memcpy(data() + at, bytes.data(), bytes.size());
    }
    return {ga(at), bytes.size()};
  }

  acp_element_t put_word(std::uint64_t word) const {
    std::memcpy(data() + 40'000, &word, 8);
    return {ga(40'000), 8};
  }

 private:
  spmd::Block block_;
};

std::vector<Bytes> contents(const Scratch& scratch, acp_list_t list) {
  std::vector<Bytes> all;
  for (acp_list_it_t it = acp_begin_list(list); it.elem != ACP_GA_NULL;
       it = acp_increment_list_it(it)) {
    all.push_back(scratch.get(acp_dereference_list_it(it)));
  }
  return all;
}

std::vector<std::uint64_t> words_of(const Scratch& scratch, acp_list_t list) {
  std::vector<std::uint64_t> words;
  for (const Bytes& bytes : contents(scratch, list)) {
    EXPECT_EQ(bytes.size(), std::size_t{8});
    words.push_back(0);
    std::memcpy(&words.back(), bytes.data(), 8);
  }
  return words;
}

/// Reads the list backwards from its end.
std::vector<std::uint64_t> words_backwards(const Scratch& scratch,
                                           acp_list_t list) {
  std::vector<std::uint64_t> words;
  acp_list_it_t it = acp_end_list(list);
  for (std::size_t i = acp_size_list(list); i > 0; --i) {
    it = acp_decrement_list_it(it);
    const Bytes bytes = scratch.get(acp_dereference_list_it(it));
    words.push_back(0);
    std::memcpy(&words.back(), bytes.data(), 8);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

acp_list_t share(acp_list_t list, int from) {
  return {spmd::broadcast(list.ga, from)};
}

/// The element in the memory of this process, as a comparator may read it.
const std::byte* readable(acp_element_t element) {
  return static_cast<const std::byte*>(acp_query_address(element.ga));
}

int compare_bytes(const acp_element_t a, const acp_element_t b) {
  const std::size_t size = std::min(a.size, b.size);
  const int order = size == 0 ? 0 : std::memcmp(readable(a), readable(b), size);
  return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/// Compares the first byte alone, so that many elements are equal.
int compare_first(const acp_element_t a, const acp_element_t b) {
  const int first_a = a.size == 0 ? -1 : static_cast<int>(readable(a)[0]);
  const int first_b = b.size == 0 ? -1 : static_cast<int>(readable(b)[0]);
  return first_a - first_b;
}

bool is_less_first(const Bytes& a, const Bytes& b) {
  const auto first = [](const Bytes& bytes) {
    return bytes.empty() ? -1 : static_cast<int>(bytes[0]);
  };
  return first(a) < first(b);
}

// ---- Random operations against std::list ----------------------------------

class Model {
 public:
  explicit Model(std::mt19937_64& random) : random_(random) {
    for (Pair& pair : pairs_) {
      pair.handle = acp_create_list(some_rank());
      EXPECT(pair.handle.ga != ACP_GA_NULL);
    }
  }

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  ~Model() {
    for (Pair& pair : pairs_)
      acp_destroy_list(pair.handle);
  }

  /// Both lists may be one, as functions with two lists allow that. A list is
  /// cleared now and then, so that short lists are frequent and a check stays
  /// cheap.
  void step() {
    Pair& a = pairs_[below(2)];
    Pair& b = pairs_[below(2)];
    switch (below(24)) {
      case 0:
      case 1:
      case 2:
      case 3: push(a); break;
      case 4:
      case 5:
      case 6: insert(a); break;
      case 7:
      case 8: erase(a); break;
      case 9: pop(a); break;
      case 10: insert_range(a, b); break;
      case 11: erase_range(a); break;
      case 12: assign(a, b); break;
      case 13: assign_range(a, b); break;
      case 14: merge(a, b); break;
      case 15: remove(a); break;
      case 16: reverse(a); break;
      case 17: sort(a); break;
      case 18:
      case 19: splice(a, b); break;
      case 20: splice_range(a, b); break;
      case 21: swap(a, b); break;
      case 22: unique(a); break;
      default: walk(a); break;
    }
    if (a.list.size() > 30 || below(60) == 0) {
      acp_clear_list(a.handle);
      a.list.clear();
    }
    check(a);
    if (&a != &b) check(b);
  }

 private:
  struct Pair {
    acp_list_t handle = {};
    std::list<Bytes> list;
  };

  std::size_t below(std::size_t n) { return random_() % n; }

  int some_rank() { return static_cast<int>(below(acp_procs())); }

  /// A random value out of few, of few sizes, so that equal neighbours occur.
  acp_element_t fresh(Bytes& bytes) {
    bytes.assign(below(40) == 0 ? 9000 : below(4) * 5,
                 static_cast<std::byte>(below(3)));
    const acp_element_t mine = scratch_.put(bytes);
    if (below(4) != 0 || bytes.empty()) return mine;
    const acp_ga_t far = scratch_.of(spmd::right_of(acp_rank()), 45'000);
    EXPECT_DONE(acp_copy(far, mine.ga, mine.size, ACP_HANDLE_NULL));
    return {far, mine.size};
  }

  static auto place(Pair& a, std::size_t index) {
    return std::next(a.list.begin(), static_cast<std::ptrdiff_t>(index));
  }

  static acp_list_it_t it_of(Pair& a, std::size_t index) {
    return acp_advance_list_it(acp_begin_list(a.handle),
                               static_cast<int>(index));
  }

  void push(Pair& a) {
    Bytes bytes;
    const acp_element_t element = fresh(bytes);
    if (below(2) == 0) {
      acp_push_back_list(a.handle, element, some_rank());
      a.list.push_back(bytes);
    } else {
      acp_push_front_list(a.handle, element, some_rank());
      a.list.push_front(bytes);
    }
  }

  void insert(Pair& a) {
    Bytes bytes;
    const std::size_t at = below(a.list.size() + 1);
    const int rank = some_rank();
    const acp_list_it_t before = it_of(a, at);
    const acp_list_it_t it = acp_insert_list(before, fresh(bytes), rank);
    EXPECT(it.elem != before.elem);
    const acp_element_t element = acp_dereference_list_it(it);
    EXPECT_EQ(acp_query_rank(element.ga), rank);
    EXPECT(scratch_.get(element) == bytes);
    EXPECT_EQ(acp_increment_list_it(it).elem, before.elem);
    a.list.insert(place(a, at), bytes);
  }

  void erase(Pair& a) {
    if (a.list.empty()) return;
    const std::size_t at = below(a.list.size());
    const acp_list_it_t it = it_of(a, at);
    const acp_list_it_t next = acp_increment_list_it(it);
    EXPECT_EQ(acp_erase_list(it).elem, next.elem);
    a.list.erase(place(a, at));
  }

  void pop(Pair& a) {
    if (below(2) == 0) {
      acp_pop_back_list(a.handle);
      if (!a.list.empty()) a.list.pop_back();
    } else {
      acp_pop_front_list(a.handle);
      if (!a.list.empty()) a.list.pop_front();
    }
  }

  std::pair<std::size_t, std::size_t> some_range(Pair& a) {
    const std::size_t one = below(a.list.size() + 1);
    const std::size_t two = below(a.list.size() + 1);
    return {std::min(one, two), std::max(one, two)};
  }

  void insert_range(Pair& a, Pair& b) {
    const auto [start, end] = some_range(b);
    const std::size_t at = below(a.list.size() + 1);
    const acp_list_it_t before = it_of(a, at);
    const acp_list_it_t it =
        acp_insert_range_list(before, it_of(b, start), it_of(b, end));
    EXPECT_EQ(it.elem == before.elem, start == end);
    const std::list<Bytes> copy(place(b, start), place(b, end));
    a.list.insert(place(a, at), copy.begin(), copy.end());
  }

  void erase_range(Pair& a) {
    const auto [start, end] = some_range(a);
    const acp_list_it_t last = it_of(a, end);
    EXPECT_EQ(acp_erase_range_list(it_of(a, start), last).elem, last.elem);
    a.list.erase(place(a, start), place(a, end));
  }

  void assign(Pair& a, Pair& b) {
    acp_assign_list(a.handle, b.handle);
    if (&a != &b) a.list = b.list;
  }

  void assign_range(Pair& a, Pair& b) {
    const auto [start, end] = some_range(b);
    acp_assign_range_list(a.handle, it_of(b, start), it_of(b, end));
    a.list = std::list<Bytes>(place(b, start), place(b, end));
  }

  void merge(Pair& a, Pair& b) {
    if (&a == &b) {
      acp_merge_list(a.handle, a.handle, compare_first);
      return;
    }
    acp_sort_list(a.handle, compare_first);
    acp_sort_list(b.handle, compare_first);
    acp_merge_list(a.handle, b.handle, compare_first);
    a.list.sort(is_less_first);
    b.list.sort(is_less_first);
    a.list.merge(b.list, is_less_first);
  }

  void remove(Pair& a) {
    Bytes bytes;
    if (!a.list.empty() && below(3) == 0) {
      // A value within the list.
      const std::size_t at = below(a.list.size());
      bytes = *place(a, at);
      acp_remove_list(a.handle, acp_dereference_list_it(it_of(a, at)));
    } else {
      acp_remove_list(a.handle, fresh(bytes));
    }
    a.list.remove(bytes);
  }

  void reverse(Pair& a) {
    acp_reverse_list(a.handle);
    a.list.reverse();
  }

  void sort(Pair& a) {
    if (below(2) == 0) {
      acp_sort_list(a.handle, compare_first);
      a.list.sort(is_less_first);
    } else {
      acp_sort_list(a.handle, compare_bytes);
      a.list.sort();
    }
  }

  void splice(Pair& a, Pair& b) {
    if (b.list.empty()) return;
    const std::size_t to = below(a.list.size() + 1);
    const std::size_t from = below(b.list.size());
    acp_splice_list(it_of(a, to), it_of(b, from));
    a.list.splice(place(a, to), b.list, place(b, from));
  }

  void splice_range(Pair& a, Pair& b) {
    const auto [start, end] = some_range(b);
    const std::size_t to = below(a.list.size() + 1);
    if (&a == &b && to > start && to < end) {
      const spmd::StderrCapture quiet;
      EXPECT_ERRNO(
          acp_splice_range_list(it_of(a, to), it_of(b, start), it_of(b, end)),
          ACPX_INVALID_ARGUMENT);
      return;
    }
    acp_splice_range_list(it_of(a, to), it_of(b, start), it_of(b, end));
    if (&a == &b && (to == start || to == end)) return;
    a.list.splice(place(a, to), b.list, place(b, start), place(b, end));
  }

  void swap(Pair& a, Pair& b) {
    acp_swap_list(a.handle, b.handle);
    if (&a != &b) a.list.swap(b.list);
  }

  void unique(Pair& a) {
    acp_unique_list(a.handle);
    a.list.unique();
  }

  void walk(Pair& a) {
    const auto [start, end] = some_range(a);
    EXPECT_EQ(acp_distance_list_it(it_of(a, start), it_of(a, end)),
              static_cast<int>(end - start));
    EXPECT_EQ(acp_distance_list_it(it_of(a, end), it_of(a, start)),
              -static_cast<int>(end - start));
    EXPECT_EQ(acp_advance_list_it(it_of(a, end), -1000).elem,
              acp_begin_list(a.handle).elem);
    EXPECT_EQ(acp_advance_list_it(it_of(a, end), 1000).elem, ACP_GA_NULL);
  }

  void check(Pair& a) {
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acp_size_list(a.handle), a.list.size());
    EXPECT_EQ(acp_empty_list(a.handle), a.list.empty() ? 1 : 0);
    if (below(3) != 0) return;
    const std::vector<Bytes> found = contents(scratch_, a.handle);
    EXPECT(
        std::equal(found.begin(), found.end(), a.list.begin(), a.list.end()));
    if (!a.list.empty()) {
      const std::size_t back = below(a.list.size()) + 1;
      EXPECT_EQ(
          acp_advance_list_it(acp_end_list(a.handle), -static_cast<int>(back))
              .elem,
          it_of(a, a.list.size() - back).elem);
    }
  }

  std::mt19937_64& random_;
  Scratch scratch_;
  Pair pairs_[2];
};

std::uint64_t element(std::size_t number) {
  return (static_cast<std::uint64_t>(acp_rank()) + 1) << 32 | number;
}

/// Each function that takes a list has to fail, also where the dead list is the
/// second of two, or both are one.
void expect_dead(const Scratch& scratch, acp_list_t list, acp_list_t alive) {
  const spmd::StderrCapture quiet;
  const int code = ACPX_INVALID_ARGUMENT;
  const acp_list_it_t it = acp_end_list(list);
  const acp_element_t value = scratch.put_word(1);
  EXPECT_FAILS(acp_size_list(list), std::size_t{0}, code);
  EXPECT_FAILS(acp_empty_list(list), 1, code);
  EXPECT_FAILS(acp_begin_list(list).elem, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_decrement_list_it(it).elem, ACP_GA_NULL, code);
  EXPECT_ERRNO(acp_push_back_list(list, value, 0), code);
  EXPECT_ERRNO(acp_push_front_list(list, value, 0), code);
  EXPECT_ERRNO(acp_insert_list(it, value, 0), code);
  EXPECT_ERRNO(acp_pop_back_list(list), code);
  EXPECT_ERRNO(acp_pop_front_list(list), code);
  EXPECT_ERRNO(acp_clear_list(list), code);
  EXPECT_ERRNO(acp_reverse_list(list), code);
  EXPECT_ERRNO(acp_unique_list(list), code);
  EXPECT_ERRNO(acp_sort_list(list, compare_bytes), code);
  EXPECT_ERRNO(acp_remove_list(list, value), code);
  EXPECT_ERRNO(acp_assign_list(list, alive), code);
  EXPECT_ERRNO(acp_assign_list(alive, list), code);
  EXPECT_ERRNO(acp_assign_list(list, list), code);
  EXPECT_ERRNO(acp_swap_list(list, alive), code);
  EXPECT_ERRNO(acp_swap_list(list, list), code);
  EXPECT_ERRNO(acp_merge_list(alive, list, compare_bytes), code);
  EXPECT_ERRNO(acp_splice_list(it, acp_begin_list(alive)), code);
  EXPECT_ERRNO(acp_erase_range_list(it, it), code);
  EXPECT_ERRNO(acp_insert_range_list(it, it, it), code);
  EXPECT_ERRNO(acp_assign_range_list(alive, it, it), code);
  EXPECT_ERRNO(acp_destroy_list(list), code);
}

acp_list_t g_sorted;

int compare_badly(const acp_element_t a, const acp_element_t b) {
  if (acp_size_list(g_sorted) != 0) acp_reverse_list(g_sorted);
  return compare_bytes(b, a) * 7 + 1;
}

}  // namespace

SPMD_CASE(acp_list_model, "list: random operations, as std::list") {
  auto random = spmd::random_of_rank();
  Model model(random);
  const std::size_t count = spmd::scaled_flights(20'000);
  for (std::size_t i = 0; i < count; ++i)
    model.step();
  acp_sync();
}

// Words tell their rank and number. So rank 0 sees that the elements of each
// rank are in the order of its pushes, forwards and backwards.
SPMD_CASE(acp_push_back_list_contention,
          "acp_push_back_list: all ranks at once, nothing lost") {
  const Scratch scratch;
  acp_list_t list{};
  if (acp_rank() == 0) list = acp_create_list(acp_procs() - 1);
  list = share(list, 0);
  const std::size_t count = spmd::scaled_flights(100'000);
  auto random = spmd::random_of_rank();
  for (std::size_t i = 0; i < count; ++i) {
    acp_push_back_list(list, scratch.put_word(element(i)),
                       static_cast<int>(random() % acp_procs()));
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  const auto procs = static_cast<std::size_t>(acp_procs());
  EXPECT_EQ(acp_size_list(list), count * procs);
  if (acp_rank() == 0) {
    const auto words = words_of(scratch, list);
    EXPECT_EQ(words.size(), count * procs);
    std::vector<std::size_t> next(procs, 0);
    for (const std::uint64_t word : words) {
      EXPECT_EQ(word & 0xffff'ffff, next.at((word >> 32) - 1)++);
    }
    EXPECT(words_backwards(scratch, list) == words);
  }
  acp_sync();
  if (acp_rank() == 0) acp_destroy_list(list);
}

SPMD_CASE(acp_erase_list_contention,
          "list: pushes, inserts, pops and erases of all ranks") {
  const Scratch scratch;
  acp_list_t list{};
  if (acp_rank() == 0) list = acp_create_list(0);
  list = share(list, 0);
  auto random = spmd::random_of_rank();
  const std::size_t count = spmd::scaled_flights(20'000);
  std::vector<acp_list_it_t> mine;
  for (std::size_t i = 0; i < count; ++i) {
    const acp_element_t value = scratch.put_word(element(i));
    const int rank = static_cast<int>(random() % acp_procs());
    const acp_list_it_t at = mine.empty() || random() % 2 == 0
                                 ? acp_end_list(list)
                                 : mine[random() % mine.size()];
    mine.push_back(acp_insert_list(at, value, rank));
    if (random() % 2 == 0 || mine.size() > 20) {
      std::swap(mine[random() % mine.size()], mine.back());
      acp_erase_list(mine.back());
      mine.pop_back();
    }
  }
  EXPECT_EQ(int{acp_errno}, 0);
  const auto left = spmd::gather(mine.size());
  std::size_t all = 0;
  for (const std::uint64_t one : left)
    all += one;
  EXPECT_EQ(acp_size_list(list), all);
  if (acp_rank() == 0) {
    const auto words = words_of(scratch, list);
    EXPECT_EQ(words.size(), all);
    EXPECT(words_backwards(scratch, list) == words);
  }
  acp_sync();
  // Popping from both ends empties it, each element once.
  while (acp_empty_list(list) == 0) {
    acp_pop_front_list(list);
    acp_pop_back_list(list);
  }
  acp_sync();
  if (acp_rank() == 0) acp_destroy_list(list);
}

// Ranks give the two lists in both orders, which would deadlock if locks were
// taken in the order of the arguments. All ten elements must remain.
SPMD_CASE(acp_merge_list_contention,
          "acp_merge_list: merge(a, b) beside merge(b, a), swaps, splices") {
  const Scratch scratch;
  acp_list_t lists[2]{};
  if (acp_rank() == 0) {
    for (int i = 0; i < 2; ++i) {
      lists[i] = acp_create_list(i % acp_procs());
      for (std::uint64_t j = 0; j < 5; ++j) {
        acp_push_back_list(lists[i], scratch.put_word(10 * i + j), 0);
      }
    }
  }
  for (acp_list_t& list : lists)
    list = share(list, 0);
  const std::size_t count = spmd::scaled_flights(2'000);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = (static_cast<std::size_t>(acp_rank()) + i) % 2;
    if (i % 4 < 2) {
      acp_merge_list(lists[first], lists[1 - first], compare_bytes);
    } else {
      acp_swap_list(lists[first], lists[1 - first]);
    }
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  EXPECT_EQ(acp_size_list(lists[0]) + acp_size_list(lists[1]), std::size_t{10});
  auto words = words_of(scratch, lists[0]);
  for (const std::uint64_t word : words_of(scratch, lists[1])) {
    words.push_back(word);
  }
  std::sort(words.begin(), words.end());
  EXPECT(words ==
         (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14}));
  acp_sync();
  if (acp_rank() == 0) {
    acp_destroy_list(lists[0]);
    acp_destroy_list(lists[1]);
  }
}

// The bad calls fail, and the list has to be whole afterwards: it can be
// sorted, and read in both directions.
SPMD_CASE(acp_sort_list_comparators,
          "acp_sort_list: comparators that call the list or make no sense") {
  const Scratch scratch;
  const acp_list_t list = acp_create_list(spmd::right_of(acp_rank()));
  for (std::uint64_t i = 0; i < 100; ++i) {
    acp_push_back_list(list, scratch.put_word(i * 7919 % 101),
                       static_cast<int>(i) % acp_procs());
  }
  {
    const spmd::StderrCapture quiet;
    g_sorted = list;
    EXPECT_ERRNO(acp_sort_list(list, compare_badly), ACPX_INVALID_ARGUMENT);
    EXPECT_ERRNO(acp_sort_list(list, nullptr), ACPX_INVALID_ARGUMENT);
    EXPECT_ERRNO(acp_merge_list(list, list, nullptr), ACPX_INVALID_ARGUMENT);
  }
  EXPECT_EQ(words_of(scratch, list).size(), std::size_t{100});
  acp_sort_list(list, compare_bytes);
  const auto words = words_of(scratch, list);
  EXPECT(std::is_sorted(words.begin(), words.end()));
  EXPECT(words_backwards(scratch, list) == words);
  acp_destroy_list(list);
}

SPMD_CASE(acp_list_refuses_handles, "list: no, destroyed and other handles") {
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const acp_list_t alive = acp_create_list(right);
  acp_push_back_list(alive, scratch.put_word(5), 0);
  const acp_vector_t vector = acp_create_vector(8, right);
  const acp_list_t gone = acp_create_list(right);
  acp_destroy_list(gone);
  for (const acp_ga_t ga : {ACP_GA_NULL, scratch.ga(), vector.ga, gone.ga}) {
    expect_dead(scratch, {ga}, alive);
  }
  EXPECT_EQ(acp_size_list(alive), std::size_t{1});
  acp_destroy_vector(vector);
  acp_destroy_list(alive);
}

// Three iterators are bad: of an erased element, of another list, and of no
// element. At the end both lists have to be as they were.
SPMD_CASE(acp_list_refuses_iterators,
          "list: erased and foreign iterators, ranges, ranks, sources") {
  const Scratch scratch;
  const spmd::StderrCapture quiet;
  const int code = ACPX_INVALID_ARGUMENT;
  const int right = spmd::right_of(acp_rank());
  const acp_list_t list = acp_create_list(right);
  const acp_list_t other = acp_create_list(acp_rank());
  for (std::uint64_t i = 0; i < 4; ++i) {
    acp_push_back_list(list, scratch.put_word(i), acp_rank());
    acp_push_back_list(other, scratch.put_word(10 + i), right);
  }
  const acp_list_it_t begin = acp_begin_list(list);
  const acp_list_it_t gone = acp_increment_list_it(begin);
  acp_erase_list(gone);
  const acp_list_it_t end = acp_end_list(list);
  const acp_list_it_t foreign{list, acp_begin_list(other).elem};
  const acp_list_it_t wild{list, scratch.of(right) + (acp_ga_t{1} << 30)};
  for (const acp_list_it_t& it : {gone, foreign, wild}) {
    EXPECT_FAILS(acp_increment_list_it(it).elem, ACP_GA_NULL, code);
    EXPECT_FAILS(acp_decrement_list_it(it).elem, ACP_GA_NULL, code);
    EXPECT_FAILS(acp_dereference_list_it(it).ga, ACP_GA_NULL, code);
    EXPECT_FAILS(acp_erase_list(it).elem, ACP_GA_NULL, code);
    EXPECT_FAILS(acp_insert_list(it, scratch.put_word(9), 0).elem, it.elem,
                 code);
    EXPECT_ERRNO(acp_splice_list(it, begin), code);
    EXPECT_ERRNO(acp_splice_list(begin, it), code);
    EXPECT_ERRNO(acp_erase_range_list(it, end), code);
    EXPECT_FAILS(acp_distance_list_it(it, begin), 0, code);
  }
  EXPECT_FAILS(acp_erase_list(end).elem, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_dereference_list_it(end).ga, ACP_GA_NULL, ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(acp_splice_list(begin, end), code);
  EXPECT_ERRNO(acp_erase_range_list(begin, acp_end_list(other)), code);
  EXPECT_ERRNO(acp_erase_range_list(end, begin), code);
  EXPECT_ERRNO(acp_insert_range_list(acp_begin_list(other),
                                     acp_increment_list_it(begin), begin),
               code);
  EXPECT_ERRNO(acp_assign_range_list(other, begin, gone), code);
  EXPECT_FAILS(acp_distance_list_it(begin, acp_begin_list(other)), 0, code);
  EXPECT_FAILS(acp_create_list(-1).ga, ACP_GA_NULL, ACPX_BAD_RANK);
  EXPECT_FAILS(acp_create_list(acp_procs()).ga, ACP_GA_NULL, ACPX_BAD_RANK);
  EXPECT_ERRNO(acp_push_back_list(list, scratch.put_word(1), acp_procs()),
               ACPX_BAD_RANK);
  EXPECT_ERRNO(acp_push_back_list(list, {ACP_GA_NULL, 8}, 0), ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(acp_push_back_list(list, {scratch.ga(), SIZE_MAX}, 0),
               ACPX_TOO_LARGE);
  EXPECT_ERRNO(
      acp_push_back_list(list, {scratch.ga(), std::size_t{1} << 45}, 0),
      ACPX_BAD_ADDRESS);
  EXPECT(words_of(scratch, list) == (std::vector<std::uint64_t>{0, 2, 3}));
  EXPECT(words_of(scratch, other) ==
         (std::vector<std::uint64_t>{10, 11, 12, 13}));
  acp_destroy_list(list);
  acp_destroy_list(other);
}

// Another thread removes the element to which this thread came last. The memory
// of that element then becomes a larger one's.
SPMD_CASE(acp_insert_list_sizes,
          "acp_insert_list: dereferencing gives the size of the new element, "
          "also in memory of an old one") {
  const Scratch scratch;
  const int me = acp_rank();
  const acp_list_t list = acp_create_list(me);
  const acp_list_t source = acp_create_list(me);
  acp_push_back_list(source, {scratch.ga(), 16}, me);
  const acp_list_it_t source_begin = acp_begin_list(source);
  const auto insert_one = [&] {
    return acp_insert_list(acp_end_list(list), {scratch.ga(), 16}, me);
  };
  const auto insert_range = [&] {
    return acp_insert_range_list(acp_end_list(list), source_begin,
                                 acp_end_list(source));
  };
  const std::function<acp_list_it_t()> inserts[] = {insert_one, insert_range};
  for (const auto& insert : inserts) {
    acp_push_back_list(list, scratch.put_word(1), me);
    EXPECT_EQ(acp_dereference_list_it(acp_begin_list(list)).size,
              std::size_t{8});
    std::thread([&] { acp_pop_front_list(list); }).join();
    const acp_list_it_t added = insert();
    EXPECT_EQ(acp_dereference_list_it(added).size, std::size_t{16});
    acp_pop_front_list(list);
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_destroy_list(list);
  acp_destroy_list(source);
}

// The other thread has removed the element to which this thread came last, and
// pushes a larger one into its memory. No call of this thread tells of that.
SPMD_CASE(list_iterator_of_another_thread,
          "acp_dereference_list_it: an iterator of another thread has the size "
          "of the new element") {
  const Scratch scratch;
  const int me = acp_rank();
  const acp_list_t list = acp_create_list(me);
  const auto replace = [&] {
    acp_pop_back_list(list);
    acp_push_back_list(list, {scratch.ga(), 16}, me);
  };
  const auto by_begin = [&] {
    replace();
    return acp_begin_list(list);
  };
  const auto by_decrement = [&] {
    replace();
    return acp_decrement_list_it(acp_end_list(list));
  };
  const auto by_erase = [&] {
    replace();
    acp_push_front_list(list, {scratch.ga(), 8}, me);
    return acp_erase_list(acp_begin_list(list));
  };
  const std::function<acp_list_it_t()> gets[] = {by_begin, by_decrement,
                                                 by_erase};
  int same_memory = 0;
  for (const auto& get : gets) {
    acp_push_back_list(list, scratch.put_word(1), me);
    const acp_list_it_t old = acp_begin_list(list);
    EXPECT_EQ(acp_dereference_list_it(old).size, std::size_t{8});
    acp_list_it_t added{};
    std::thread([&] { added = get(); }).join();
    EXPECT_EQ(acp_dereference_list_it(added).size, std::size_t{16});
    same_memory += added.elem == old.elem ? 1 : 0;
    acp_pop_front_list(list);
  }
  // Otherwise the case tests nothing. Heaps without atomics of the CPU do not
  // give the memory out again at once.
  EXPECT(same_memory > 0 || acpx_atomics_agree(me) == 0);
  EXPECT_EQ(int{acp_errno}, 0);
  acp_destroy_list(list);
}

// Handles and elements have the addresses of the life before.
SPMD_CASE(acp_reset_forgets_sizes,
          "acp_reset: dereferencing gives the sizes of this life's elements") {
  const int me = acp_rank();
  for (const std::size_t size : {8, 16}) {
    EXPECT_EQ(acp_reset(me), 0);
    const Scratch scratch;
    const acp_list_t list = acp_create_list(me);
    acp_push_back_list(list, {scratch.ga(), size}, me);
    // The iterator comes from a thread, so this thread has not come to it.
    acp_list_it_t begin{};
    std::thread([&] { begin = acp_begin_list(list); }).join();
    EXPECT_EQ(acp_dereference_list_it(begin).size, size);
  }
}

// Makes and destroys lists on the neighbour's heap, and then allocates nearly
// the whole heap. That fails if the lists have left blocks behind.
SPMD_CASE(acp_destroy_list_leaks_nothing, "acp_destroy_list: no leak") {
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const std::size_t count = spmd::scaled_flights(10'000);
  for (std::size_t i = 0; i < count; ++i) {
    const acp_list_t list = acp_create_list(right);
    EXPECT(list.ga != ACP_GA_NULL);
    if (i % 4 == 0) {
      for (std::uint64_t j = 0; j < 4; ++j) {
        acp_push_back_list(list, {scratch.ga(), j * 100}, right);
      }
      acp_erase_list(acp_begin_list(list));
      acp_sort_list(list, compare_bytes);
      acp_assign_range_list(list, acp_begin_list(list), acp_end_list(list));
    }
    acp_destroy_list(list);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
  acp_sync();
  const acp_ga_t all = acp_malloc(heap - heap / 40, right);
  EXPECT(all != ACP_GA_NULL);
  acp_free(all);
  acp_sync();
}
