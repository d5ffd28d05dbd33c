// Tests of operations on one structure at the same time. They are on the
// promises of the concurrency tables in acp/vector.h and its neighbours that
// tests/conformance does not test. docs/testing.md names the test for each
// promise.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/sequence_cases.h"
#include "conformance/sequence_kinds.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

using sequence::Deque;
using sequence::element;
using sequence::Scratch;
using sequence::share;
using sequence::Vector;

std::uint64_t word_at(const Scratch& scratch, std::size_t at = 0) {
  std::uint64_t word = 0;
  std::memcpy(&word, scratch.data() + at, 8);
  return word;
}

acp_element_t put_word(const Scratch& scratch,
                       std::uint64_t word,
                       std::size_t at = 1024) {
  std::memcpy(scratch.data() + at, &word, 8);
  return {scratch.ga(at), 8};
}

// ---- Vector and deque -----------------------------------------------------

/// Whether a word is an element that a rank has put in.
bool is_element(std::uint64_t word) {
  const std::uint64_t rank = (word >> 32) - 1;
  return rank < static_cast<std::uint64_t>(acp_procs());
}

/// All ranks make changes of all kinds. Each rank leaves the number of bytes as
/// it was, so no rank finds too few bytes. In the end the content is the sum of
/// the remains of all ranks.
template <typename S>
void run_whole_changes() {
  const Scratch scratch;
  typename S::Handle h{};
  typename S::Handle mine = S::create(0, acp_rank());
  if (acp_rank() == 0) h = S::create(0, acp_procs() - 1);
  h = share<S>(h, 0);
  const std::size_t count = spmd::scaled_flights(3'000);
  for (std::size_t i = 0; i < count; ++i) {
    put_word(scratch, element(i), 0);
    switch (i % 4) {
      case 0:
        S::insert(S::begin(h), scratch.ga(), 8);
        S::erase(S::begin(h), 8);
        break;
      case 1:
        S::push_back(h, scratch.ga(), 8);
        S::pop_back(h, 8);
        break;
      case 2:
        S::push_back(h, scratch.ga(), 8);
        S::erase_range(S::begin(h), S::advance(S::begin(h), 8));
        break;
      default:
        S::reserve(h, i);
        S::assign(mine, h);
        break;
    }
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(S::size(mine) % 8, std::size_t{0});
    EXPECT(S::size(mine) <= 8 * static_cast<std::size_t>(acp_procs()));
    for (const std::uint64_t word : sequence::words_of<S>(scratch, mine)) {
      EXPECT(is_element(word));
    }
    const std::size_t size = S::size(h);
    EXPECT_EQ(size % 8, std::size_t{0});
    EXPECT(size <= 8 * static_cast<std::size_t>(acp_procs()));
    EXPECT(S::capacity(h) >= size);
  }
  acp_sync();
  EXPECT_EQ(S::size(h), std::size_t{0});
  acp_sync();
  put_word(scratch, element(0), 0);
  S::push_back(h, scratch.ga(), 8);
  acp_sync();
  if (acp_rank() == 0) {
    auto words = sequence::words_of<S>(scratch, h);
    std::sort(words.begin(), words.end());
    sequence::expect_all(words, 1);
    S::destroy(h);
  }
  S::destroy(mine);
  acp_sync();
}

/// An address in a vector stays good from one growth to the next.
void expect_first_stays(const Scratch& scratch, acp_vector_t vector) {
  const std::size_t before = acp_capacity_vector(vector);
  scratch.get(acp_dereference_vector_it(acp_begin_vector(vector)), 8);
  if (acp_capacity_vector(vector) <= 2 * before) {
    EXPECT_EQ(word_at(scratch), std::uint64_t{4711});
  }
}

/// An address in a deque is good until the deque changes.
void expect_first_stays(const Scratch&, acp_deque_t deque) {
  EXPECT(acp_dereference_deque_it(acp_begin_deque(deque)) != ACP_GA_NULL);
}

/// Reads at the same time as pushes and growth: sizes only grow, and each rank
/// sees its own pushes.
template <typename S>
void run_reads_among_pushes() {
  const Scratch scratch;
  typename S::Handle h{};
  if (acp_rank() == 0) {
    h = S::create(0, acp_procs() - 1);
    put_word(scratch, 4711, 0);
    S::push_back(h, scratch.ga(), 8);
  }
  h = share<S>(h, 0);
  const std::size_t count = spmd::scaled_flights(10'000);
  std::size_t last = 8;
  for (std::size_t i = 0; i < count; ++i) {
    put_word(scratch, element(i), 0);
    S::push_back(h, scratch.ga(), 8);
    const std::size_t size = S::size(h);
    EXPECT(size >= last && size >= 8 * (i + 2) && size % 8 == 0);
    last = size;
    EXPECT(S::capacity(h) >= size);
    EXPECT_EQ(S::empty(h), 0);
    EXPECT(static_cast<std::size_t>(S::end(h).index) >= size);
    expect_first_stays(scratch, h);
    EXPECT(S::at(h, static_cast<int>(size - 8)) != ACP_GA_NULL);
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  EXPECT_EQ(S::size(h), 8 + 8 * count * static_cast<std::size_t>(acp_procs()));
  acp_sync();
  if (acp_rank() == 0) S::destroy(h);
  acp_sync();
}

// ---- Lists ----------------------------------------------------------------

/// An element's size tells its rank, so that a link made of two elements' words
/// is noticed.
acp_element_t sized(const Scratch& scratch, int rank, std::uint64_t word) {
  put_word(scratch, word, 2048);
  return {scratch.ga(2048), 16 + 8 * static_cast<std::size_t>(rank)};
}

void expect_sized(acp_element_t element) {
  EXPECT_EQ(element.size,
            16 + 8 * static_cast<std::size_t>(acp_query_rank(element.ga)));
}

constexpr std::uint64_t kStays = std::uint64_t{1} << 48;

/// Returns the words of the elements that stay, in the order of a walk, which
/// must not fail.
std::vector<std::uint64_t> walk_staying(const Scratch& scratch,
                                        acp_list_t list,
                                        bool is_backwards) {
  std::vector<std::uint64_t> words;
  acp_list_it_t it = is_backwards ? acp_decrement_list_it(acp_end_list(list))
                                  : acp_begin_list(list);
  while (it.elem != ACP_GA_NULL) {
    const acp_element_t element = acp_dereference_list_it(it);
    expect_sized(element);
    scratch.get(element.ga, 8);
    if (word_at(scratch) >= kStays) words.push_back(word_at(scratch) - kStays);
    const acp_list_it_t next =
        is_backwards ? acp_decrement_list_it(it) : acp_increment_list_it(it);
    if (next.elem == it.elem) break;  // the first element, in a backward walk
    it = next;
  }
  EXPECT_EQ(int{acp_errno}, 0);
  return words;
}

acp_list_t staying_list(const Scratch& scratch, std::uint64_t count) {
  acp_list_t list{};
  if (acp_rank() == 0) {
    list = acp_create_list(acp_procs() - 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      const int rank = static_cast<int>(i) % acp_procs();
      acp_push_back_list(list, sized(scratch, rank, kStays + i), rank);
    }
  }
  return {spmd::broadcast(list.ga, 0)};
}

}  // namespace

SPMD_CASE(vector_whole_changes, "vector: whole changes, one after the other") {
  run_whole_changes<Vector>();
}

SPMD_CASE(deque_whole_changes, "deque: whole changes, one after the other") {
  run_whole_changes<Deque>();
}

SPMD_CASE(vector_push_under_way,
          "vector: a push that stops halfway holds up changes, not pushes") {
  const Scratch scratch;
  if (acp_rank() == 0) {
    const acp_vector_t vector = acp_create_vector(0, acp_procs() - 1);
    acp_reserve_vector(vector, 1024);
    // docs/containers.md, "Vector": the sync word and the committed field.
    const acp_ga_t control = vector.ga & ~acp_ga_t{63};
    const acp_ga_t reserved = control + 80 + (vector.ga & 63) * 8;
    const acp_ga_t committed = control + 5 * 8;
    acp_push_back_vector(vector, put_word(scratch, 1).ga, 8);
    EXPECT_DONE(acp_add8(scratch.ga(), reserved, 8, ACP_HANDLE_NULL));
    acp_push_back_vector(vector, put_word(scratch, 3).ga, 8);
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acp_size_vector(vector), std::size_t{16});
    std::atomic<bool> is_changed{false};
    std::thread changer([&] {
      acp_pop_back_vector(vector, 8);
      is_changed = true;
    });
    do {
      scratch.get(reserved, 8);  // the watchdog has the deadline
    } while (word_at(scratch) >> 63 == 0);
    EXPECT(!is_changed);
    // The push goes on.
    const acp_ga_t place = acp_at_vector(vector, 0) + 8;
    EXPECT_DONE(acp_copy(place, put_word(scratch, 2).ga, 8, ACP_HANDLE_NULL));
    EXPECT_DONE(acp_add8(scratch.ga(), committed, 8, ACP_HANDLE_NULL));
    changer.join();
    EXPECT(sequence::words_of<Vector>(scratch, vector) ==
           (std::vector<std::uint64_t>{1, 2}));
    acp_destroy_vector(vector);
  }
  acp_sync();
}

SPMD_CASE(vector_reads_among_pushes, "vector: reads beside pushes and growth") {
  run_reads_among_pushes<Vector>();
}

SPMD_CASE(deque_reads_among_pushes, "deque: reads beside pushes and growth") {
  run_reads_among_pushes<Deque>();
}

SPMD_CASE(deque_read_between_changes,
          "deque: who reads sees it between two changes") {
  const Scratch scratch;
  acp_deque_t deque{};
  if (acp_rank() == 0) deque = acp_create_deque(64, 0);
  deque = share<Deque>(deque, 0);
  const std::size_t count = spmd::scaled_flights(20'000);
  for (std::size_t i = 0; i < count; ++i) {
    if (acp_rank() == 0) {
      put_word(scratch, i, 0);
      acp_push_back_deque(deque, scratch.ga(), 8);
      acp_push_front_deque(deque, scratch.ga(), 8);
      acp_pop_back_deque(deque, 16);
    } else {
      // 0, 8 or 16 bytes, in one piece of the body.
      const std::size_t size = acp_size_deque(deque);
      EXPECT(size % 8 == 0 && size <= 16);
      const int end = acp_end_deque(deque).index;
      EXPECT(end == 0 || end == 8 || end == 16);
    }
  }
  acp_sync();
  if (acp_rank() == 0) acp_destroy_deque(deque);
  acp_sync();
}

SPMD_CASE(list_walks_among_pushes,
          "list: walks beside pushes and inserts meet all that stays") {
  const Scratch scratch;
  constexpr std::uint64_t kCount = 20;
  const acp_list_t list = staying_list(scratch, kCount);
  std::vector<std::uint64_t> expected(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    expected[i] = i;
  }
  const std::vector<std::uint64_t> backwards(expected.rbegin(),
                                             expected.rend());
  const std::size_t count = spmd::scaled_flights(1'500);
  auto random = spmd::random_of_rank();
  std::size_t mine = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 8 == 0) {
      EXPECT(walk_staying(scratch, list, false) == expected);
      EXPECT(walk_staying(scratch, list, true) == backwards);
      continue;
    }
    const int rank = static_cast<int>(random() % acp_procs());
    const acp_element_t value = sized(scratch, rank, i);
    if (i % 3 == 0) {
      acp_push_back_list(list, value, rank);
    } else if (i % 3 == 1) {
      acp_push_front_list(list, value, rank);
    } else {
      const acp_list_it_t at =
          acp_advance_list_it(acp_begin_list(list), static_cast<int>(i % 10));
      acp_insert_list(at, value, rank);
    }
    ++mine;
    EXPECT_EQ(int{acp_errno}, 0);
    // No rank removes elements, so walks must stay short.
    if (mine > 200) break;
  }
  const auto all = spmd::gather(mine);
  std::size_t sum = kCount;
  for (const std::uint64_t one : all)
    sum += one;
  EXPECT_EQ(acp_size_list(list), sum);
  EXPECT_EQ(acp_distance_list_it(acp_begin_list(list), acp_end_list(list)),
            static_cast<int>(sum));
  acp_sync();
  if (acp_rank() == 0) acp_destroy_list(list);
  acp_sync();
}

SPMD_CASE(list_walks_among_erases,
          "list: who stands on elements that stay steps to whole neighbours") {
  const Scratch scratch;
  constexpr std::uint64_t kCount = 4;
  const acp_list_t list = staying_list(scratch, kCount);
  const std::size_t count = spmd::scaled_flights(10'000);
  std::array<acp_list_it_t, kCount> stays{};
  acp_list_it_t it = acp_begin_list(list);
  for (acp_list_it_t& one : stays) {
    one = it;
    it = acp_increment_list_it(it);
  }
  acp_sync();
  auto random = spmd::random_of_rank();
  for (std::size_t i = 0; i < count; ++i) {
    const acp_list_it_t at = stays[i % kCount];
    if (acp_rank() % 2 == 0 || acp_procs() == 1) {
      const int rank = static_cast<int>(random() % acp_procs());
      const acp_list_it_t gone =
          acp_insert_list(at, sized(scratch, rank, i), rank);
      EXPECT(gone.elem != at.elem);
      acp_erase_list(gone);
    } else {
      // An element may be erased by now, but its address and its size fit
      // together.
      for (const acp_list_it_t& next :
           {acp_increment_list_it(at), acp_decrement_list_it(at)}) {
        if (next.elem != ACP_GA_NULL) {
          EXPECT_EQ(int{acp_errno}, 0);
          const spmd::StderrCapture quiet;
          const acp_element_t element = acp_dereference_list_it(next);
          if (element.ga != ACP_GA_NULL) expect_sized(element);
          acp_errno = 0;
        }
      }
    }
    EXPECT_EQ(int{acp_errno}, 0);
  }
  acp_sync();
  EXPECT_EQ(acp_size_list(list), std::size_t{kCount});
  EXPECT_EQ(walk_staying(scratch, list, false).size(), std::size_t{kCount});
  acp_sync();
  if (acp_rank() == 0) acp_destroy_list(list);
  acp_sync();
}

SPMD_CASE(list_link_under_way,
          "list: who reads a link that is half written reads it again") {
  const Scratch scratch;
  if (acp_rank() == 0) {
    const acp_list_t list = acp_create_list(acp_procs() - 1);
    std::array<acp_list_it_t, 3> elements{};
    for (acp_list_it_t& one : elements) {
      const auto at = static_cast<std::size_t>(&one - elements.data());
      one = acp_insert_list(acp_end_list(list), {scratch.ga(), 8 * at + 8}, 0);
    }
    // docs/containers.md, "List": a link is {address, size, check}, and next
    // comes first. The first element's link is changed to lead to the third.
    const auto copy = [&](acp_ga_t to, acp_ga_t from, std::size_t bytes) {
      EXPECT_DONE(acp_copy(to, from, bytes, ACP_HANDLE_NULL));
    };
    const acp_ga_t link = elements[0].elem;
    copy(scratch.ga(256), link, 24);
    copy(link, elements[1].elem, 8);
    std::atomic<bool> has_begun{false};
    std::atomic<bool> has_ended{false};
    acp_element_t found{};
    std::thread walker([&] {
      has_begun = true;
      found = acp_dereference_list_it(acp_increment_list_it(elements[0]));
      has_ended = true;
    });
    while (!has_begun) {
      std::this_thread::yield();
    }
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(acp_size_list(list), std::size_t{3});
      std::this_thread::yield();
    }
    EXPECT(!has_ended);
    copy(link, elements[1].elem, 24);
    walker.join();
    EXPECT(found.ga != ACP_GA_NULL);
    EXPECT_EQ(found.size, std::size_t{24});
    copy(link, scratch.ga(256), 24);
    acp_destroy_list(list);
  }
  acp_sync();
}

namespace {

int compare_words(const acp_element_t a, const acp_element_t b) {
  const auto word = [](acp_element_t element) {
    std::uint64_t value = 0;
    std::memcpy(&value, acp_query_address(element.ga), 8);
    return value;
  };
  return word(a) < word(b) ? -1 : word(a) > word(b) ? 1 : 0;
}

}  // namespace

// Each rank removes what it has added, so only the six elements that stay are
// left. Each change alone is whole, which the sizes show meanwhile.
SPMD_CASE(list_whole_changes,
          "list: whole changes, pushes and pops, one after the other") {
  const Scratch scratch;
  constexpr std::uint64_t kCount = 6;
  const acp_list_t list = staying_list(scratch, kCount);
  const acp_list_t other = staying_list(scratch, 0);
  const acp_list_t mine = acp_create_list(acp_rank());
  const std::size_t count = spmd::scaled_flights(1'500);
  for (std::size_t i = 0; i < count; ++i) {
    const acp_element_t value = sized(scratch, 0, element(i));
    switch (i % 8) {
      case 0: acp_reverse_list(list); break;
      case 1: acp_sort_list(list, compare_words); break;
      case 2: acp_unique_list(list); break;
      case 3:
        acp_push_back_list(list, value, 0);
        acp_remove_list(list, value);
        break;
      case 4:
        acp_push_front_list(other, value, 0);
        acp_pop_back_list(other);
        break;
      case 5:
        acp_push_back_list(mine, value, 0);
        acp_splice_list(acp_end_list(list), acp_begin_list(mine));
        acp_remove_list(list, value);
        break;
      case 6: acp_assign_list(mine, list); break;
      default:
        acp_clear_list(mine);
        acp_merge_list(list, mine, compare_words);
        break;
    }
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT(acp_size_list(list) <=
           kCount + static_cast<std::size_t>(acp_procs()));
    acp_clear_list(mine);
  }
  acp_sync();
  EXPECT_EQ(acp_size_list(list), std::size_t{kCount});
  EXPECT_EQ(acp_size_list(other), std::size_t{0});
  auto forwards = walk_staying(scratch, list, false);
  auto backwards = walk_staying(scratch, list, true);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT(forwards == backwards);
  std::sort(forwards.begin(), forwards.end());
  EXPECT(forwards == (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  acp_destroy_list(mine);
  acp_sync();
  if (acp_rank() == 0) {
    acp_destroy_list(list);
    acp_destroy_list(other);
  }
  acp_sync();
}

// ---- Sets and maps --------------------------------------------------------

namespace {

acp_map_t create_map(int slots) {
  std::vector<int> ranks(static_cast<std::size_t>(acp_procs()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] = static_cast<int>(i);
  }
  acp_map_t map{};
  if (acp_rank() == 0) {
    map = acp_create_map(acp_procs(), ranks.data(), slots, acp_procs() - 1);
  }
  map.ga = spmd::broadcast(map.ga, 0);
  return map;
}

acp_set_t create_set(int slots) {
  std::vector<int> ranks(static_cast<std::size_t>(acp_procs()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] = static_cast<int>(i);
  }
  acp_set_t set{};
  if (acp_rank() == 0) {
    set = acp_create_set(acp_procs(), ranks.data(), slots, acp_procs() - 1);
  }
  set.ga = spmd::broadcast(set.ga, 0);
  return set;
}

/// All words of a key or a value are equal and tell its size, so that a pair
/// made of two is noticed.
acp_element_t filled(const Scratch& scratch,
                     std::uint64_t word,
                     std::size_t at) {
  const std::size_t words = word % 7 == 0 ? 40 : 1 + word % 2;
  for (std::size_t i = 0; i < words; ++i) {
    std::memcpy(scratch.data() + at + 8 * i, &word, 8);
  }
  return {scratch.ga(at), words * 8};
}

acp_pair_t filled_pair(const Scratch& scratch, std::uint64_t word) {
  return {filled(scratch, word, 4096), filled(scratch, word, 8192)};
}

/// The word that a key consists of.
std::uint64_t expect_filled(const Scratch& scratch, acp_element_t element) {
  scratch.get(element.ga, element.size);
  const std::uint64_t word = word_at(scratch);
  EXPECT_EQ(element.size, (word % 7 == 0 ? 40 : 1 + word % 2) * 8);
  for (std::size_t i = 0; i < element.size; i += 8) {
    EXPECT_EQ(word_at(scratch, i), word);
  }
  return word;
}

/// Keys that are there all the time, among others that come and go.
constexpr std::uint64_t kStaying = 60;

}  // namespace

SPMD_CASE(
    map_walks_among_changes,
    "map: a walk beside changes meets what stays, once, and nothing torn") {
  const Scratch scratch;
  const acp_map_t map = create_map(10);
  if (acp_rank() == 0) {
    for (std::uint64_t i = 0; i < kStaying; ++i) {
      EXPECT_EQ(acp_insert_map(map, filled_pair(scratch, kStays + i)), 1);
    }
  }
  acp_sync();
  const std::size_t count = spmd::scaled_flights(6'000);
  auto random = spmd::random_of_rank();
  for (std::size_t i = 0; i < count; ++i) {
    const acp_pair_t pair = filled_pair(scratch, 1 + random() % 100);
    acp_insert_map(map, pair);
    acp_remove_map(map, pair.first);
    EXPECT_EQ(int{acp_errno}, 0);
    if (i % 50 != 0) continue;
    std::set<std::uint64_t> met;
    const spmd::StderrCapture quiet;  // elements that are gone by now
    for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
         it = acp_increment_map_it(it)) {
      const acp_pair_t found = acp_dereference_map_it(it);
      if (found.first.ga == ACP_GA_NULL) continue;
      scratch.get(found.first.ga, 8);
      if (word_at(scratch) < kStays) continue;
      const std::uint64_t word = expect_filled(scratch, found.first);
      EXPECT_EQ(expect_filled(scratch, found.second), word);
      EXPECT(met.insert(word).second);
    }
    acp_errno = 0;
    EXPECT_EQ(met.size(), std::size_t{kStaying});
  }
  acp_sync();
  EXPECT_EQ(acp_size_map(map), std::size_t{kStaying});
  acp_sync();
  if (acp_rank() == 0) acp_destroy_map(map);
  acp_sync();
}

SPMD_CASE(map_copies_among_changes,
          "map: assign, merge and move beside changes bring whole pairs") {
  const Scratch scratch;
  const acp_map_t map = create_map(10);
  std::vector<int> own = {acp_rank()};
  const acp_map_t mine = acp_create_map(1, own.data(), 50, acp_rank());
  if (acp_rank() == 0) {
    for (std::uint64_t i = 0; i < kStaying; ++i) {
      EXPECT_EQ(acp_insert_map(map, filled_pair(scratch, kStays + i)), 1);
    }
  }
  acp_sync();
  const std::size_t count = spmd::scaled_flights(3'000);
  auto random = spmd::random_of_rank();
  for (std::size_t i = 0; i < count; ++i) {
    const acp_pair_t pair = filled_pair(scratch, 1 + random() % 100);
    acp_insert_map(map, pair);
    acp_remove_map(map, pair.first);
    if (i % 50 != 0) continue;
    if (i % 100 == 0) {
      acp_assign_map(mine, map);
    } else {
      acp_clear_map(mine);
      acp_merge_map(mine, map);
    }
    EXPECT_EQ(int{acp_errno}, 0);
    std::size_t stayed = 0;
    for (acp_map_it_t it = acp_begin_map(mine); it.elem != ACP_GA_NULL;
         it = acp_increment_map_it(it)) {
      const acp_pair_t found = acp_dereference_map_it(it);
      const std::uint64_t word = expect_filled(scratch, found.first);
      EXPECT_EQ(expect_filled(scratch, found.second), word);
      EXPECT(word >= kStays || (word >= 1 && word <= 100));
      stayed += word >= kStays ? 1 : 0;
    }
    EXPECT_EQ(stayed, std::size_t{kStaying});
  }
  acp_sync();
  EXPECT_EQ(acp_size_map(map), std::size_t{kStaying});
  acp_sync();
  // All ranks move all pairs to their own map at once: each pair ends in
  // exactly one map.
  acp_clear_map(mine);
  acp_move_map(mine, map);
  EXPECT_EQ(int{acp_errno}, 0);
  const auto moved = spmd::gather(acp_size_map(mine));
  std::size_t all = 0;
  for (const std::uint64_t one : moved)
    all += one;
  EXPECT_EQ(acp_size_map(map), std::size_t{0});
  EXPECT(all >= kStaying);  // two ranks may copy a pair before one removes it
  acp_destroy_map(mine);
  acp_sync();
  if (acp_rank() == 0) acp_destroy_map(map);
  acp_sync();
}

SPMD_CASE(map_sizes_among_inserts,
          "map: sizes beside inserts only grow, and count one's own") {
  const Scratch scratch;
  const acp_map_t map = create_map(50);
  const std::size_t count = spmd::scaled_flights(4'000);
  std::size_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(
        acp_insert_map(map, {put_word(scratch, element(i)), {ACP_GA_NULL, 0}}),
        1);
    const std::size_t size = acp_size_map(map);
    EXPECT(size >= last && size > i);
    EXPECT_EQ(acp_empty_map(map), 0);
    last = size;
  }
  acp_sync();
  EXPECT_EQ(acp_size_map(map), count * static_cast<std::size_t>(acp_procs()));
  acp_sync();
  // Each rank clears its own part at once with the others: the map is empty.
  acp_clear_local_map(map);
  acp_sync();
  EXPECT_EQ(acp_empty_map(map), 1);
  acp_sync();
  if (acp_rank() == 0) acp_destroy_map(map);
  acp_sync();
}

SPMD_CASE(set_one_key, "set: of all ranks' inserts of one key one counts") {
  const Scratch scratch;
  const acp_set_t set = create_set(10);
  const std::size_t count = spmd::scaled_flights(4'000);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(acp_insert_set(set, put_word(scratch, i)), 1);
    EXPECT(acp_find_set(set, put_word(scratch, i)).elem != ACP_GA_NULL);
  }
  acp_sync();
  EXPECT_EQ(acp_size_set(set), count);
  acp_sync();
  // All ranks remove each key: it is removed once.
  for (std::size_t i = 0; i < count; ++i) {
    acp_remove_set(set, put_word(scratch, i));
    EXPECT(acp_find_set(set, put_word(scratch, i)).elem == ACP_GA_NULL);
  }
  acp_sync();
  EXPECT_EQ(acp_size_set(set), std::size_t{0});
  acp_sync();
  if (acp_rank() == 0) acp_destroy_set(set);
  acp_sync();
}

// Some keys stay while others come and go. A merge must bring all that stay,
// and every key that it brings has to be whole.
SPMD_CASE(set_copies_among_changes,
          "set: merge beside changes brings whole keys, all that stay") {
  const Scratch scratch;
  const acp_set_t set = create_set(10);
  std::vector<int> own = {acp_rank()};
  const acp_set_t mine = acp_create_set(1, own.data(), 50, acp_rank());
  if (acp_rank() == 0) {
    for (std::uint64_t i = 0; i < kStaying; ++i) {
      EXPECT_EQ(acp_insert_set(set, filled(scratch, kStays + i, 4096)), 1);
    }
  }
  acp_sync();
  const std::size_t count = spmd::scaled_flights(3'000);
  auto random = spmd::random_of_rank();
  for (std::size_t i = 0; i < count; ++i) {
    const acp_element_t key = filled(scratch, 1 + random() % 100, 4096);
    acp_insert_set(set, key);
    acp_remove_set(set, key);
    if (i % 50 != 0) continue;
    acp_clear_set(mine);
    acp_merge_set(mine, set);
    EXPECT_EQ(int{acp_errno}, 0);
    std::size_t stayed = 0;
    for (acp_set_it_t it = acp_begin_set(mine); it.elem != ACP_GA_NULL;
         it = acp_increment_set_it(it)) {
      const std::uint64_t word =
          expect_filled(scratch, acp_dereference_set_it(it));
      EXPECT(word >= kStays || (word >= 1 && word <= 100));
      stayed += word >= kStays ? 1 : 0;
    }
    EXPECT_EQ(stayed, std::size_t{kStaying});
  }
  acp_destroy_set(mine);
  acp_sync();
  if (acp_rank() == 0) acp_destroy_set(set);
  acp_sync();
}

// ---- Workspaces -----------------------------------------------------------

// Every rank writes a word of eight equal bytes. A word that is read with two
// different bytes would be torn.
SPMD_CASE(workspace_words_are_whole,
          "workspace: words that all write are seen whole") {
  const Scratch scratch;
  EXPECT_EQ(acp_setparams_ws(0, 0), 0);
  const acp_wsd_t ws = acp_create_ws(4096);
  EXPECT(ws != ACP_WSD_NULL);
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  if (acp_rank() == 0) {
    std::memset(scratch.data(), 0, 4096);
    EXPECT_EQ(acp_write_ws(ws, scratch.ga(), 4096, 0), 0);
  }
  acp_sync();
  const std::size_t count = spmd::scaled_flights(10'000);
  const auto me = static_cast<std::uint64_t>(acp_rank()) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i % 8 * 8 * 61;
    const acp_element_t value = put_word(scratch, me * kOnes);
    EXPECT_EQ(acp_write_ws(ws, value.ga, 8, at), 0);
    EXPECT_EQ(acp_read_ws(ws, scratch.ga(), 8, at), 0);
    const std::uint64_t word = word_at(scratch);
    EXPECT(word % kOnes == 0 && word != 0);
    EXPECT(word / kOnes <= static_cast<std::uint64_t>(acp_procs()));
  }
  acp_sync();
  acp_destroy_ws(ws);
}

SPMD_CASE(workspace_overlapping_writes,
          "workspace: of writes that overlap each byte is one's") {
  const Scratch scratch;
  EXPECT_EQ(acp_setparams_ws(0, 0), 0);
  constexpr std::size_t kBytes = 3000;
#ifdef __SANITIZE_THREAD__
  constexpr std::size_t kUnit = 8;  // it sees whole words
#else
  constexpr std::size_t kUnit = 1;
#endif
  const acp_wsd_t ws = acp_create_ws(kBytes);
  const std::size_t count = spmd::scaled_flights(500);
  const std::size_t first = kUnit * static_cast<std::size_t>(acp_rank());
  for (std::size_t i = 0; i < count; ++i) {
    std::memset(scratch.data(), 1 + acp_rank(), kBytes);
    EXPECT_EQ(acp_write_ws(ws, scratch.ga(), kBytes - 2 * first, first), 0);
    acp_sync();
    EXPECT_EQ(acp_read_ws(ws, scratch.ga(), kBytes, 0), 0);
    const auto procs = static_cast<std::size_t>(acp_procs());
    for (std::size_t j = kUnit * procs; j + kUnit * procs < kBytes; ++j) {
      const auto byte = static_cast<std::size_t>(scratch.data()[j]);
      EXPECT(byte >= 1 && byte <= procs);
    }
    acp_sync();
  }
  acp_destroy_ws(ws);
}

SPMD_CASE(workspace_write_then_read,
          "workspace: a write that has returned is seen by later reads") {
  const Scratch scratch;
  EXPECT_EQ(acp_setparams_ws(0, 0), 0);
  const acp_wsd_t ws = acp_create_ws(8000);
  const std::size_t count = spmd::scaled_flights(3'000);
  const int right = spmd::right_of(acp_rank());
  const std::size_t mine = 8 * static_cast<std::size_t>(acp_rank());
  const std::size_t left =
      8 *
      static_cast<std::size_t>((acp_rank() + acp_procs() - 1) % acp_procs());
  // The word at 64 counts the writes of the left neighbour, and the word at 72
  // the reads of the right one.
  std::memset(scratch.data(), 0, 256);
  acp_sync();
  std::uint64_t value = 0;
  for (std::uint64_t i = 1; i <= count; ++i) {
    EXPECT_EQ(acp_write_ws(ws, put_word(scratch, i).ga, 8, mine), 0);
    EXPECT_DONE(acpx_put_signal(scratch.of(right, 128), scratch.ga(128), 8,
                                scratch.of(right, 64), 1, ACP_HANDLE_NULL));
    EXPECT_EQ(acpx_wait_word(scratch.ga(64), i - 1, spmd::kPatience, &value),
              0);
    EXPECT_EQ(acp_read_ws(ws, scratch.ga(), 8, left), 0);
    EXPECT(word_at(scratch) >= i);
  }
  acp_sync();
  acp_destroy_ws(ws);
}

// ---- The program's own failures -------------------------------------------

SPMD_CASE(structures_beside_failures,
          "all: what failed of the program before is no failure of theirs") {
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  EXPECT_EQ(acp_setparams_ws(0, 0), 0);
  const acp_wsd_t ws = acp_create_ws(4096);
  const acp_vector_t vector = acp_create_vector(0, right);
  const acp_deque_t deque = acp_create_deque(0, right);
  const acp_list_t list = acp_create_list(right);
  const acp_map_t map = acp_create_map(1, &right, 10, right);
  // Over a network this fails while the next operation waits for its own
  // result.
  const acp_ga_t nowhere = acp_query_starter_ga(right) + (acp_ga_t{1} << 24);
  const auto fail_one = [&] {
    const spmd::StderrCapture quiet;
    acp_copy(scratch.ga(60'000), nowhere, 8, ACP_HANDLE_NULL);
  };
  // The sources are in the right neighbour's memory, so that they have to be
  // fetched.
  std::memset(scratch.data() + 8192, 'x', 1000);
  const acp_element_t source = {scratch.of(right, 8192), 8};
  const acp_element_t large = {scratch.of(right, 8192), 1000};
  acp_sync();
  const spmd::StderrCapture quiet;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    fail_one();
    acp_push_back_vector(vector, source.ga, source.size);
    EXPECT_EQ(acp_size_vector(vector), 8 * i);
    fail_one();
    acp_push_front_deque(deque, source.ga, source.size);
    fail_one();
    EXPECT_EQ(acpx_take_back_deque(deque, scratch.ga(), 8), 1);
    fail_one();
    acp_push_back_list(list, source, right);
    EXPECT_EQ(acp_size_list(list), std::size_t{i});
    fail_one();
    EXPECT_EQ(acp_insert_map(map, {put_word(scratch, i), large}), 1);
    fail_one();
    EXPECT_EQ(
        acp_retrieve_map(map, {put_word(scratch, i), {scratch.ga(), 2000}}),
        std::size_t{1000});
    const acp_element_t value = put_word(scratch, i);
    fail_one();
    EXPECT_EQ(acp_write_ws(ws, value.ga, 8, 0), 0);
    fail_one();
    EXPECT_EQ(acp_read_ws(ws, scratch.ga(), 8, 2048), 0);
  }
  acp_complete(ACP_HANDLE_ALL);
  acp_errno = 0;
  acp_sync();
  acp_destroy_ws(ws);
  acp_destroy_vector(vector);
  acp_destroy_deque(deque);
  acp_destroy_list(list);
  acp_destroy_map(map);
  acp_sync();
}
