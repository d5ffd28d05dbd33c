// Tests of data structures when a heap is full, and of more structures at a
// time than fit a few pages. Heaps are small: middle/CMakeLists.txt sets
// ACP_HEAP_SIZE.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "middle/heap_filler.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

/// Checks that a void function has failed because there was no memory.
#define EXPECT_NO_MEMORY(call)                 \
  do {                                         \
    acp_errno = 0;                             \
    call;                                      \
    EXPECT_EQ(int{acp_errno}, ACPX_NO_MEMORY); \
    acp_errno = 0;                             \
  } while (false)

class Scratch {
 public:
  Scratch() : block_(spmd::Memory::kLibrary, 1 << 16) {}

  acp_element_t put(std::uint64_t word,
                    std::size_t bytes,
                    std::size_t at) const {
    for (std::size_t i = 0; i < bytes; i += 8) {
      std::memcpy(block_.data() + at + i, &word, 8);
    }
    return {block_.mine(at), bytes};
  }

  acp_element_t word(std::uint64_t word) const { return put(word, 8, 0); }

  std::uint64_t get(acp_ga_t from) const {
    EXPECT_DONE(acp_copy(block_.mine(60'000), from, 8, ACP_HANDLE_NULL));
    std::uint64_t word = 0;
    std::memcpy(&word, block_.data() + 60'000, 8);
    return word;
  }

  acp_ga_t ga(std::size_t at) const { return block_.mine(at); }

 private:
  spmd::Block block_;
};

std::vector<std::uint64_t> words_of(const Scratch& scratch, acp_list_t list) {
  std::vector<std::uint64_t> words;
  for (acp_list_it_t it = acp_begin_list(list); it.elem != ACP_GA_NULL;
       it = acp_increment_list_it(it)) {
    words.push_back(scratch.get(acp_dereference_list_it(it).ga));
  }
  return words;
}

int compare_words(const acp_element_t a, const acp_element_t b) {
  std::uint64_t one = 0;
  std::uint64_t two = 0;
  std::memcpy(&one, acp_query_address(a.ga), 8);
  std::memcpy(&two, acp_query_address(b.ga), 8);
  return one < two ? -1 : one > two ? 1 : 0;
}

std::map<std::uint64_t, std::uint64_t> pairs_of(const Scratch& scratch,
                                                acp_map_t map) {
  std::map<std::uint64_t, std::uint64_t> pairs;
  for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
       it = acp_increment_map_it(it)) {
    const acp_pair_t pair = acp_dereference_map_it(it);
    pairs[scratch.get(pair.first.ga)] = scratch.get(pair.second.ga);
  }
  return pairs;
}

using Words = std::vector<std::uint64_t>;
using Pairs = std::map<std::uint64_t, std::uint64_t>;

/// Uses the last rank, so that in a job of several ranks the structure is on
/// another rank.
int full_rank() {
  return acp_procs() - 1;
}

}  // namespace

SPMD_CASE(list_no_memory,
          "list: no memory for elements; nothing has changed, then it works") {
  const Scratch scratch;
  if (acp_rank() == 0) {
    const int there = full_rank();
    const acp_list_t list = acp_create_list(there);
    const acp_list_t other = acp_create_list(there);
    for (std::uint64_t i = 0; i < 4; ++i) {
      acp_push_back_list(list, scratch.word(3 - i), there);
    }
    acp_push_back_list(other, scratch.word(9), there);
    const Words words = {3, 2, 1, 0};
    {
      const spmd::HeapFiller filler(there);
      const spmd::StderrCapture quiet;
      const acp_element_t value = scratch.word(7);
      const acp_list_it_t begin = acp_begin_list(list);
      const acp_list_it_t end = acp_end_list(list);
      EXPECT_NO_MEMORY(acp_push_back_list(list, value, there));
      EXPECT_NO_MEMORY(acp_push_front_list(list, value, there));
      EXPECT_FAILS(acp_insert_list(begin, value, there).elem, begin.elem,
                   ACPX_NO_MEMORY);
      EXPECT_FAILS(acp_insert_range_list(acp_end_list(other), begin, end).elem,
                   ACP_GA_NULL, ACPX_NO_MEMORY);
      EXPECT_NO_MEMORY(acp_assign_list(other, list));
      EXPECT_NO_MEMORY(acp_assign_range_list(other, begin, end));
      EXPECT(words_of(scratch, list) == words);
      EXPECT(words_of(scratch, other) == Words{9});
      // Operations that need no memory work.
      acp_reverse_list(list);
      EXPECT(words_of(scratch, list) == (Words{0, 1, 2, 3}));
      acp_splice_list(acp_end_list(other), acp_begin_list(list));
      acp_swap_list(list, other);
      EXPECT_EQ(int{acp_errno}, 0);
      EXPECT(words_of(scratch, list) == (Words{9, 0}));
      EXPECT(words_of(scratch, other) == (Words{1, 2, 3}));
      // The failed call has returned the memory that it had taken.
      acp_pop_front_list(list);
      acp_push_back_list(list, value, there);
      EXPECT_EQ(int{acp_errno}, 0);
      EXPECT(words_of(scratch, list) == (Words{0, 7}));
    }
    acp_assign_list(list, other);
    acp_push_back_list(list, scratch.word(8), there);
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT(words_of(scratch, list) == (Words{1, 2, 3, 8}));
    acp_destroy_list(list);
    acp_destroy_list(other);
  }
  EXPECT_EQ(acp_sync(), 0);
}

// The list is on another rank, and this rank's heap is full. The functions that
// need memory here have to fail before they change anything.
SPMD_CASE(list_no_memory_here,
          "list: no memory for what comparators read; nothing has changed") {
  SPMD_NEEDS_RANKS(2);
  const Scratch scratch;
  if (acp_rank() == 0) {
    const int there = full_rank();
    const acp_list_t list = acp_create_list(there);
    const acp_list_t other = acp_create_list(there);
    for (std::uint64_t i = 0; i < 3; ++i) {
      acp_push_back_list(list, scratch.word(2 - i), there);
    }
    acp_push_back_list(other, scratch.word(5), there);
    {
      const spmd::HeapFiller filler(0);
      const spmd::StderrCapture quiet;
      EXPECT_NO_MEMORY(acp_sort_list(list, compare_words));
      EXPECT_NO_MEMORY(acp_unique_list(list));
      EXPECT_NO_MEMORY(acp_remove_list(list, scratch.word(1)));
      EXPECT_NO_MEMORY(acp_merge_list(list, other, compare_words));
      EXPECT(words_of(scratch, list) == (Words{2, 1, 0}));
      EXPECT(words_of(scratch, other) == Words{5});
    }
    acp_sort_list(list, compare_words);
    acp_merge_list(list, other, compare_words);
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT(words_of(scratch, list) == (Words{0, 1, 2, 5}));
    acp_destroy_list(list);
    acp_destroy_list(other);
  }
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(map_no_memory,
          "map: no memory for elements; nothing has changed, then it works") {
  const Scratch scratch;
  if (acp_rank() == 0) {
    const int there = full_rank();
    const int here = acp_rank();
    const acp_map_t map = acp_create_map(1, &there, 1, here);
    const acp_map_t other = acp_create_map(1, &there, 1, here);
    const acp_map_t full = acp_create_map(1, &there, 1, here);
    const auto pair = [&](std::uint64_t word, std::size_t bytes) {
      return acp_pair_t{scratch.word(word), scratch.put(word, bytes, 4096)};
    };
    // One bucket with five entries.
    Pairs pairs;
    for (std::uint64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(acp_insert_map(map, pair(i, 8)), 1);
      pairs[i] = i;
    }
    EXPECT_EQ(acp_insert_map(other, pair(3, 8)), 1);
    {
      const spmd::HeapFiller filler(there);
      const spmd::StderrCapture quiet;
      EXPECT_FAILS(acp_create_map(1, &there, 10, here).ga, ACP_GA_NULL,
                   ACPX_NO_MEMORY);
      EXPECT_FAILS(acp_insert_map(map, pair(5, 8)), 0, ACPX_NO_MEMORY);
      EXPECT_FAILS(acp_insert_map(other, pair(6, 1000)), 0, ACPX_NO_MEMORY);
      std::uint64_t old = 0;
      EXPECT_FAILS(acpx_upsert_add8_map(map, scratch.word(5), 1, &old), -1,
                   ACPX_NO_MEMORY);
      const acp_pair_t several[2] = {
          {scratch.put(2, 8, 100), scratch.put(2, 8, 200)},
          {scratch.put(7, 8, 300), scratch.put(7, 8, 400)}};
      int results[2] = {5, 5};
      EXPECT_FAILS(acpx_insert_map_n(map, several, 2, results), -1,
                   ACPX_NO_MEMORY);
      EXPECT_EQ(results[0], 0);
      EXPECT_EQ(results[1], -1);
      EXPECT(pairs_of(scratch, map) == pairs);
      EXPECT_EQ(acp_size_map(map), std::size_t{5});
      EXPECT_EQ(acp_size_map(other), std::size_t{1});
      // One of the five keys is there and four fit, so nothing is missing here.
      acp_merge_map(other, map);
      EXPECT_EQ(int{acp_errno}, 0);
      EXPECT(pairs_of(scratch, other) == pairs);
      EXPECT_EQ(acp_insert_map(full, pair(9, 8)), 1);
      EXPECT_NO_MEMORY(acp_merge_map(full, map));
      EXPECT_EQ(acp_size_map(full), std::size_t{5});
      EXPECT_NO_MEMORY(acp_move_map(full, map));
      EXPECT(pairs_of(scratch, map).size() + acp_size_map(full) >= 6);
      // Operations that need no memory work, and a free entry is used again.
      EXPECT_EQ(acp_retrieve_map(other, pair(3, 8)), std::size_t{8});
      acp_remove_map(other, scratch.word(3));
      EXPECT_EQ(acp_insert_map(other, pair(6, 8)), 1);
      EXPECT_EQ(int{acp_errno}, 0);
    }
    EXPECT_EQ(acp_insert_map(other, pair(3, 1000)), 1);
    EXPECT_EQ(acp_insert_map(other, pair(7, 8)), 1);
    acp_merge_map(full, other);
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acp_size_map(other), std::size_t{7});
    for (const acp_map_t& one : {map, other, full})
      acp_destroy_map(one);
  }
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(set_no_memory,
          "set: no memory for keys; nothing has changed, then it works") {
  const Scratch scratch;
  if (acp_rank() == 0) {
    const int there = full_rank();
    const acp_set_t set = acp_create_set(1, &there, 1, 0);
    for (std::uint64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(acp_insert_set(set, scratch.word(i)), 1);
    }
    const acp_element_t large = scratch.put(99, 2000, 4096);
    {
      const spmd::HeapFiller filler(there);
      const spmd::StderrCapture quiet;
      EXPECT_FAILS(acp_create_set(1, &there, 10, 0).ga, ACP_GA_NULL,
                   ACPX_NO_MEMORY);
      EXPECT_FAILS(acp_insert_set(set, scratch.word(5)), 0, ACPX_NO_MEMORY);
      EXPECT_FAILS(acp_insert_set(set, large), 0, ACPX_NO_MEMORY);
      EXPECT_EQ(acp_insert_set(set, scratch.word(4)), 1);  // the key is there
      EXPECT_EQ(acp_size_set(set), std::size_t{5});
      for (std::uint64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(acp_find_set(set, scratch.word(i)).elem != ACP_GA_NULL,
                  i < 5);
      }
      acp_remove_set(set, scratch.word(2));
      EXPECT_EQ(acp_insert_set(set, scratch.word(5)), 1);
      EXPECT_FAILS(acp_insert_set(set, scratch.word(2)), 0, ACPX_NO_MEMORY);
    }
    EXPECT_EQ(acp_insert_set(set, large), 1);
    EXPECT_EQ(acp_insert_set(set, scratch.word(2)), 1);
    EXPECT_EQ(acp_size_set(set), std::size_t{7});
    acp_destroy_set(set);
  }
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(many_structures,
          "20,000 structures on one rank at a time, and none afterwards") {
  const int there = full_rank();
  const Scratch scratch;
  // Over a network the rank itself creates most of the structures.
  const char* net = std::getenv("ACP_NET");
  const bool is_far = net != nullptr && std::string_view(net) == "udp";
  const std::size_t all_ranks = static_cast<std::size_t>(acp_procs());
  const std::size_t mine = !is_far               ? 20'000 / all_ranks + 1
                           : acp_rank() == there ? 20'000
                                                 : 200;
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  // The second round uses the controls of the first one again.
  for (int round = 0; round < 2; ++round) {
    std::vector<acp_vector_t> vectors;
    std::vector<acp_list_t> lists;
    for (std::size_t i = 0; i < mine; ++i) {
      if (i % 2 == 0) {
        vectors.push_back(acp_create_vector(8, there));
        EXPECT(vectors.back().ga != ACP_GA_NULL);
      } else {
        lists.push_back(acp_create_list(there));
        EXPECT(lists.back().ga != ACP_GA_NULL);
      }
      if (i % 500 == 0) {
        acp_push_back_vector(vectors.back(), scratch.word(i).ga, 8);
      }
    }
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acp_sync(), 0);
    // Each structure has its own content.
    for (std::size_t i = 0; i < mine; i += 500) {
      const acp_vector_t vector = vectors[i / 2];
      EXPECT_EQ(acp_size_vector(vector), std::size_t{16});
      EXPECT_EQ(scratch.get(acp_at_vector(vector, 8)), std::uint64_t{i});
    }
    for (const acp_list_t& list : lists) {
      EXPECT_EQ(acp_size_list(list), std::size_t{0});
      acp_destroy_list(list);
    }
    for (const acp_vector_t& vector : vectors)
      acp_destroy_vector(vector);
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acpx_trim_malloc(), 0);
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() == 0) {
      const acp_ga_t all = acp_malloc(heap - heap / 40, there);
      EXPECT(all != ACP_GA_NULL);
      acp_free(all);
      EXPECT_EQ(acpx_trim_malloc(), 0);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(stale_handles,
          "handles of the destroyed: what has their place now is left alone") {
  const Scratch scratch;
  const int here = acp_rank();
  if (here == full_rank()) {
    // Controls that were never used are taken first. This uses all of them up.
    constexpr int kPlaces = 65'536;
    for (int i = 0; i < kPlaces; ++i) {
      acp_destroy_list(acp_create_list(here));
    }
    const acp_vector_t vector = acp_create_vector(64, here);
    const acp_deque_t deque = acp_create_deque(64, here);
    acp_destroy_vector(vector);
    acp_destroy_deque(deque);
    EXPECT_EQ(int{acp_errno}, 0);
    for (int i = 1; i < 64; ++i) {
      // The new structures have the controls of both, one generation further.
      const acp_list_t list = acp_create_list(here);
      const acp_vector_t other = acp_create_vector(0, here);
      {
        const spmd::StderrCapture quiet;
        for (int j = 0; j < 3; ++j) {
          EXPECT_FAILS((acp_push_back_vector(vector, scratch.ga(0), 8), 0), 0,
                       ACPX_INVALID_ARGUMENT);
          EXPECT_FAILS((acp_push_back_deque(deque, scratch.ga(0), 8), 0), 0,
                       ACPX_INVALID_ARGUMENT);
        }
      }
      acp_push_back_list(list, scratch.word(5), here);
      acp_push_back_vector(other, scratch.word(6).ga, 8);
      acp_pop_back_vector(other, 8);
      EXPECT_EQ(int{acp_errno}, 0);
      EXPECT_EQ(acp_size_list(list), std::size_t{1});
      EXPECT_EQ(acp_size_vector(other), std::size_t{0});
      // The order alternates, so that the structures exchange controls.
      acp_destroy_list(list);
      acp_destroy_vector(other);
    }
  }
  EXPECT_EQ(acp_sync(), 0);
}

// All ranks try wrong handles while they use the right ones, so a call that
// changed something would show in the sizes.
SPMD_CASE(wrong_kinds,
          "handles of another kind: refused, and what they name works on") {
  const Scratch scratch;
  const int owner = acp_procs() - 1;
  const int ranks[] = {owner};
  acp_ga_t handles[5] = {};
  if (acp_rank() == 0) {
    handles[0] = acp_create_vector(0, owner).ga;
    handles[1] = acp_create_deque(0, owner).ga;
    handles[2] = acp_create_list(owner).ga;
    handles[3] = acp_create_set(1, ranks, 64, 0).ga;
    handles[4] = acp_create_map(1, ranks, 64, 0).ga;
  }
  for (acp_ga_t& handle : handles) {
    handle = spmd::broadcast(handle, 0);
  }
  const acp_vector_t vector{handles[0]};
  const acp_deque_t deque{handles[1]};
  const acp_list_t list{handles[2]};
  const acp_set_t set{handles[3], 1, 64};
  const acp_map_t map{handles[4], 1, 64};
  const std::size_t rounds = spmd::scaled(1000, 20);
  const int code = ACPX_INVALID_ARGUMENT;
  for (std::size_t i = 0; i < rounds; ++i) {
    {
      const spmd::StderrCapture quiet;
      for (const acp_ga_t ga : handles) {
        if (ga != vector.ga) {
          const acp_vector_t wrong{ga};
          EXPECT_ERRNO(acp_push_back_vector(wrong, scratch.ga(0), 8), code);
          EXPECT_ERRNO(acp_pop_back_vector(wrong, 8), code);
          EXPECT_ERRNO(acp_reserve_vector(wrong, 100), code);
          EXPECT_ERRNO(acp_clear_vector(wrong), code);
          EXPECT_ERRNO(acp_destroy_vector(wrong), code);
        }
        if (ga != deque.ga) {
          const acp_deque_t wrong{ga};
          EXPECT_ERRNO(acp_push_back_deque(wrong, scratch.ga(0), 8), code);
          EXPECT_ERRNO(acp_clear_deque(wrong), code);
          EXPECT_ERRNO(acp_destroy_deque(wrong), code);
        }
        if (ga != list.ga) {
          const acp_list_t wrong{ga};
          EXPECT_ERRNO(acp_push_back_list(wrong, scratch.word(1), 0), code);
          EXPECT_ERRNO(acp_destroy_list(wrong), code);
        }
        if (ga != set.ga) {
          const acp_set_t wrong{ga, 1, 64};
          EXPECT_FAILS(acp_insert_set(wrong, scratch.word(1)), 0, code);
          EXPECT_ERRNO(acp_swap_set(wrong, wrong), code);
        }
      }
    }
    acp_errno = 0;
    acp_push_back_vector(vector, scratch.ga(0), 8);
    acp_push_back_deque(deque, scratch.ga(0), 8);
    acp_push_back_list(list, scratch.word(i), owner);
    const std::uint64_t key =
        i * static_cast<std::size_t>(acp_procs()) + acp_rank();
    EXPECT_EQ(acp_insert_set(set, scratch.word(key)), 1);
    EXPECT_EQ(acp_insert_map(map, {scratch.word(key), scratch.word(key)}), 1);
    EXPECT_EQ(int{acp_errno}, 0);
  }
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == 0) {
    const std::size_t all = rounds * static_cast<std::size_t>(acp_procs());
    EXPECT_EQ(acp_size_vector(vector), all * 8);
    EXPECT_EQ(acp_size_deque(deque), all * 8);
    EXPECT_EQ(acp_size_list(list), all);
    EXPECT_EQ(acp_size_set(set), all);
    EXPECT_EQ(acp_size_map(map), all);
    acp_swap_set(set, set);
    acp_destroy_vector(vector);
    acp_destroy_deque(deque);
    acp_destroy_list(list);
    acp_destroy_set(set);
    acp_destroy_map(map);
    EXPECT_EQ(int{acp_errno}, 0);
  }
  EXPECT_EQ(acp_sync(), 0);
}
