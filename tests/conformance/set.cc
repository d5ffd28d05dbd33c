// Tests of acp/set.h, function by function: against std::set, on all ranks at
// once, and with arguments that it refuses. Sets and maps are one table inside;
// map.cc tests the rest.
#include "acp/set.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "conformance/table_cases.h"

namespace {

using table::all_ranks;
using table::Bytes;
using table::Scratch;

acp_set_t create(int slots, int rank = 0) {
  const std::vector<int> ranks = all_ranks();
  const acp_set_t set =
      acp_create_set(static_cast<int>(ranks.size()), ranks.data(), slots, rank);
  EXPECT(set.ga != ACP_GA_NULL);
  EXPECT_EQ(set.num_ranks, ranks.size());
  EXPECT_EQ(set.num_slots, static_cast<std::uint64_t>(slots));
  return set;
}

acp_set_t create_shared(int slots) {
  acp_set_t set{};
  if (acp_rank() == 0) set = create(slots, acp_procs() - 1);
  set.ga = spmd::broadcast(set.ga, 0);
  return set;
}

using Shadow = std::set<Bytes>;

Shadow contents(const Scratch& scratch, acp_set_t set, bool is_local) {
  Shadow all;
  acp_set_it_t it = is_local ? acp_begin_local_set(set) : acp_begin_set(set);
  const acp_set_it_t end = is_local ? acp_end_local_set(set) : acp_end_set(set);
  for (; it.elem != end.elem; it = acp_increment_set_it(it)) {
    const acp_element_t key = acp_dereference_set_it(it);
    EXPECT(!is_local || acp_query_rank(key.ga) == acp_rank());
    EXPECT(all.insert(scratch.get(key)).second);
  }
  EXPECT_EQ(std::memcmp(&it, &end, sizeof it), 0);
  return all;
}

class Model {
 public:
  explicit Model(std::mt19937_64& random) : random_(random) {
    for (Pair& pair : pairs_) {
      pair.handle = create(1 + static_cast<int>(below(50)),
                           static_cast<int>(below(acp_procs())));
    }
  }

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  ~Model() {
    for (Pair& pair : pairs_)
      acp_destroy_set(pair.handle);
  }

  /// Does one random call on the set and on the model, and compares the sizes
  /// after each. Few keys exist, so each is inserted, removed and found many
  /// times.
  void step() {
    Pair& a = pairs_[below(2)];
    Pair& b = pairs_[below(2)];
    Bytes key(1 + below(12) * 4, std::byte{3});
    key[0] = static_cast<std::byte>(below(20));
    const acp_element_t element = scratch_.put(key, 10'000);
    const std::size_t what = below(100);
    if (what < 45) {
      EXPECT_EQ(acp_insert_set(a.handle, element), 1);
      a.shadow.insert(key);
    } else if (what < 65) {
      acp_remove_set(a.handle, element);
      a.shadow.erase(key);
    } else if (what < 90) {
      const acp_set_it_t it = acp_find_set(a.handle, element);
      EXPECT_EQ(it.elem != acp_end_set(a.handle).elem,
                a.shadow.count(key) == 1);
      EXPECT(it.elem == ACP_GA_NULL ||
             scratch_.get(acp_dereference_set_it(it)) == key);
    } else {
      whole(a, b, what);
    }
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acp_size_set(a.handle), a.shadow.size());
    EXPECT_EQ(acp_empty_set(a.handle), a.shadow.empty() ? 1 : 0);
    if (below(40) == 0) {
      EXPECT(contents(scratch_, a.handle, false) == a.shadow);
      const std::size_t local = contents(scratch_, a.handle, true).size();
      EXPECT_EQ(acp_size_local_set(a.handle), local);
      EXPECT_EQ(acp_empty_local_set(a.handle), local == 0 ? 1 : 0);
    }
  }

 private:
  struct Pair {
    acp_set_t handle = {};
    Shadow shadow;
  };

  std::size_t below(std::size_t n) { return random_() % n; }

  /// The contents of the local part of b are read before the call, because some
  /// calls change it. Both sets may be one.
  void whole(Pair& a, Pair& b, std::size_t what) {
    const bool is_one = &a == &b;
    const Shadow mine = contents(scratch_, b.handle, true);
    switch (what) {
      case 90:
        acp_clear_set(a.handle);
        a.shadow.clear();
        return;
      case 91:
        acp_clear_local_set(b.handle);
        for (const Bytes& key : mine)
          b.shadow.erase(key);
        return;
      case 92:
      case 93:
        acp_assign_set(a.handle, b.handle);
        a.shadow = Shadow(b.shadow);
        return;
      case 94:
        acp_merge_set(a.handle, b.handle);
        a.shadow.insert(b.shadow.begin(), b.shadow.end());
        return;
      case 95:
        acp_move_set(a.handle, b.handle);
        if (!is_one) a.shadow.merge(b.shadow);
        return;
      case 96:
        acp_swap_set(a.handle, b.handle);
        if (!is_one) a.shadow.swap(b.shadow);
        return;
      case 97:
        acp_merge_local_set(a.handle, b.handle);
        a.shadow.insert(mine.begin(), mine.end());
        return;
      case 98:
        acp_move_local_set(a.handle, b.handle);
        if (is_one) return;
        for (const Bytes& key : mine) {
          if (a.shadow.insert(key).second) b.shadow.erase(key);
        }
        return;
      default:
        if (is_one) return;
        for (const Bytes& key : contents(scratch_, a.handle, true)) {
          if (b.shadow.count(key) == 0) a.shadow.erase(key);
        }
        acp_assign_local_set(a.handle, b.handle);
        a.shadow.insert(mine.begin(), mine.end());
        return;
    }
  }

  std::mt19937_64& random_;
  Scratch scratch_;
  Pair pairs_[2];
};

}  // namespace

SPMD_CASE(acp_set_model, "set: random operations, as std::set") {
  auto random = spmd::random_of_rank();
  Model model(random);
  const std::size_t count = spmd::scaled_flights(20'000);
  for (std::size_t i = 0; i < count; ++i)
    model.step();
  acp_sync();
}

SPMD_CASE(acp_insert_set_contention,
          "acp_insert_set: all ranks insert, remove and walk") {
  const Scratch scratch;
  const acp_set_t set = create_shared(500);
  const std::size_t count = spmd::scaled_flights(50'000);
  auto random = spmd::random_of_rank();
  const auto me = static_cast<std::uint64_t>(acp_rank()) + 1;
  std::set<std::uint64_t> mine;
  // Each rank knows which of its own keys are in the set, among the keys of all
  // ranks.
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t own = me << 32 | random() % 200;
    const std::uint64_t shared = random() % 100;
    EXPECT_EQ(acp_insert_set(set, scratch.put_word(shared, 0)), 1);
    if (random() % 2 == 0) {
      EXPECT_EQ(acp_insert_set(set, scratch.put_word(own, 0)), 1);
      mine.insert(own);
    } else {
      acp_remove_set(set, scratch.put_word(own, 0));
      mine.erase(own);
    }
    const bool is_there =
        acp_find_set(set, scratch.put_word(own, 0)).elem != ACP_GA_NULL;
    EXPECT_EQ(is_there, mine.count(own) == 1);
  }
  // A walk meets all keys that are there all the time, while other ranks change
  // the set.
  std::set<std::uint64_t> met;
  for (acp_set_it_t it = acp_begin_set(set); it.elem != ACP_GA_NULL;
       it = acp_increment_set_it(it)) {
    const acp_element_t key = acp_dereference_set_it(it);
    if (key.ga == ACP_GA_NULL) continue;
    std::uint64_t word = 0;
    const Bytes bytes = scratch.get(key);
    EXPECT_EQ(bytes.size(), std::size_t{8});
    std::memcpy(&word, bytes.data(), 8);
    if (word >> 32 == me) EXPECT(met.insert(word).second);
  }
  EXPECT(met == mine);
  acp_sync();
  const auto sizes = spmd::gather(mine.size());
  std::size_t all = 0;
  for (const std::uint64_t one : sizes)
    all += one;
  const std::size_t size = acp_size_set(set);
  EXPECT(size >= all && size <= all + 100);
  EXPECT_EQ(contents(scratch, set, false).size(), size);
  acp_sync();
  if (acp_rank() == 0) acp_destroy_set(set);
  acp_sync();
}

// A handle is bad in four ways: no address, memory of the program, a map, and a
// set that was destroyed. For each of them every function is tried.
SPMD_CASE(acp_set_refuses, "set: bad handles, keys and iterators") {
  const Scratch scratch;
  const spmd::StderrCapture quiet;
  const int code = ACPX_INVALID_ARGUMENT;
  const acp_set_t gone = create(5, spmd::right_of(acp_rank()));
  acp_destroy_set(gone);
  const std::vector<int> ranks = all_ranks();
  const acp_map_t map = acp_create_map(1, ranks.data(), 3, 0);
  for (const int count : {0, acp_procs() + 1, -1, int{INT32_MAX}}) {
    EXPECT_FAILS(acp_create_set(count, ranks.data(), 3, 0).ga, ACP_GA_NULL,
                 code);
  }
  for (const int rank : {-1, acp_procs(), int{INT32_MAX}, int{INT32_MIN}}) {
    EXPECT_FAILS(acp_create_set(1, &rank, 3, 0).ga, ACP_GA_NULL, ACPX_BAD_RANK);
    EXPECT_FAILS(acp_create_set(1, ranks.data(), 3, rank).ga, ACP_GA_NULL,
                 ACPX_BAD_RANK);
  }
  const acp_element_t key = scratch.put_word(1, 0);
  const acp_set_t empty = create(5);
  for (const acp_ga_t ga : {ACP_GA_NULL, scratch.ga(), map.ga, gone.ga}) {
    const acp_set_t set{ga, 1, 1};
    EXPECT_FAILS(acp_insert_set(set, key), 0, code);
    EXPECT_FAILS(acp_find_set(set, key).elem, ACP_GA_NULL, code);
    EXPECT_FAILS(acp_size_set(set), std::size_t{0}, code);
    EXPECT_FAILS(acp_empty_local_set(set), 1, code);
    EXPECT_FAILS(acp_begin_set(set).elem, ACP_GA_NULL, code);
    EXPECT_ERRNO(acp_remove_set(set, key), code);
    EXPECT_ERRNO(acp_clear_set(set), code);
    EXPECT_ERRNO(acp_clear_local_set(set), code);
    EXPECT_ERRNO(acp_swap_set(set, set), code);
    EXPECT_ERRNO(acp_move_set(set, set), code);
    EXPECT_ERRNO(acp_move_set(set, empty), code);
    EXPECT_ERRNO(acp_merge_set(set, empty), code);
    EXPECT_ERRNO(acp_merge_local_set(set, empty), code);
    EXPECT_ERRNO(acp_destroy_set(set), code);
  }
  const acp_set_t set = create(5);
  EXPECT_FAILS(acp_insert_set(set, {scratch.ga(), 0}), 0, code);
  EXPECT_FAILS(acp_insert_set(set, {ACP_GA_NULL, 8}), 0, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_dereference_set_it(acp_end_set(set)).ga, ACP_GA_NULL,
               ACPX_BAD_ADDRESS);
  EXPECT_EQ(acp_size_set(set), std::size_t{0});
  acp_destroy_set(set);
  acp_destroy_set(empty);
  acp_destroy_map(map);
}
