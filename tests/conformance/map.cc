// Tests of acp/map.h and the extensions for maps, function by function: against
// std::map, on all ranks at once, and with arguments that they refuse.
#include "acp/map.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "conformance/table_cases.h"

namespace {

using table::all_ranks;
using table::Bytes;
using table::Scratch;

acp_map_t create(int slots, int rank = 0) {
  const std::vector<int> ranks = all_ranks();
  const acp_map_t map =
      acp_create_map(static_cast<int>(ranks.size()), ranks.data(), slots, rank);
  EXPECT(map.ga != ACP_GA_NULL);
  return map;
}

/// Created by rank 0.
acp_map_t create_shared(int slots) {
  acp_map_t map{};
  if (acp_rank() == 0) map = create(slots, acp_procs() - 1);
  map.ga = spmd::broadcast(map.ga, 0);
  return map;
}

void destroy_shared(acp_map_t map) {
  acp_sync();
  if (acp_rank() == 0) acp_destroy_map(map);
  acp_sync();
}

using Shadow = std::map<Bytes, Bytes>;

Shadow contents(const Scratch& scratch, acp_map_t map, bool is_local) {
  Shadow all;
  acp_map_it_t it = is_local ? acp_begin_local_map(map) : acp_begin_map(map);
  const acp_map_it_t end = is_local ? acp_end_local_map(map) : acp_end_map(map);
  for (; it.elem != end.elem; it = acp_increment_map_it(it)) {
    const acp_pair_t pair = acp_dereference_map_it(it);
    EXPECT(pair.first.ga != ACP_GA_NULL);
    EXPECT_EQ(acp_query_rank(pair.first.ga), it.rank);
    EXPECT(!is_local || it.rank == acp_rank());
    EXPECT_EQ(pair.second.ga % 8, acp_ga_t{0});
    Bytes key = scratch.get(pair.first);
    EXPECT(all.emplace(std::move(key), scratch.get(pair.second)).second);
  }
  EXPECT_EQ(std::memcmp(&it, &end, sizeof it), 0);
  return all;
}

/// Two maps and their models, with small and large keys and values.
class Model {
 public:
  explicit Model(std::mt19937_64& random) : random_(random) {
    for (Pair& pair : pairs_) {
      std::vector<int> ranks = all_ranks();
      std::shuffle(ranks.begin(), ranks.end(), random_);
      ranks.resize(1 + below(ranks.size()));
      pair.handle = acp_create_map(static_cast<int>(ranks.size()), ranks.data(),
                                   1 + static_cast<int>(below(60)),
                                   static_cast<int>(below(acp_procs())));
      EXPECT(pair.handle.ga != ACP_GA_NULL);
    }
  }

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  ~Model() {
    for (Pair& pair : pairs_)
      acp_destroy_map(pair.handle);
  }

  /// Does one random call on the map and on the model, and compares the sizes
  /// after each. The contents are compared only now and then, because a walk
  /// takes long.
  void step() {
    Pair& a = pairs_[below(2)];
    Pair& b = pairs_[below(2)];
    const std::size_t what = below(200);
    if (what < 80) {
      insert(a);
    } else if (what < 115) {
      remove(a);
    } else if (what < 170) {
      find(a);
    } else if (what < 180) {
      upsert(a);
    } else if (what < 188) {
      several(a);
    } else {
      whole(a, b, what);
    }
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(acp_size_map(a.handle), a.shadow.size());
    EXPECT_EQ(acp_empty_map(a.handle), a.shadow.empty() ? 1 : 0);
    if (below(40) == 0) {
      EXPECT(contents(scratch_, a.handle, false) == a.shadow);
      const std::size_t local = contents(scratch_, a.handle, true).size();
      EXPECT_EQ(acp_size_local_map(a.handle), local);
      EXPECT_EQ(acp_empty_local_map(a.handle), local == 0 ? 1 : 0);
    }
  }

 private:
  struct Pair {
    acp_map_t handle{};
    Shadow shadow;
  };

  std::size_t below(std::size_t n) { return random_() % n; }

  /// A random key of a small set; the sizes are around the room of a bucket.
  Bytes some_key() {
    const std::size_t number = below(200);
    const std::size_t sizes[] = {1, 4, 8, 9, 16, 24, 25, 32, 33, 5000, 9001};
    Bytes key(sizes[number % (below(20) == 0 ? 11 : 9)], std::byte{7});
    key[0] = static_cast<std::byte>(number);
    key.back() = static_cast<std::byte>(number);
    return key;
  }

  Bytes some_value() {
    const std::size_t sizes[] = {0, 1, 8, 16, 20, 24, 31, 100, 9000};
    Bytes value(sizes[below(below(20) == 0 ? 9 : 8)]);
    for (std::byte& one : value)
      one = static_cast<std::byte>(random_());
    return value;
  }

  /// The memory is this rank's, or the right neighbour's.
  acp_element_t put(const Bytes& bytes, std::size_t at) {
    const acp_element_t mine = scratch_.put(bytes, at);
    if (below(5) != 0 || bytes.empty()) return mine;
    const acp_ga_t far = scratch_.of(spmd::right_of(acp_rank()), at + 50'000);
    EXPECT_DONE(acp_copy(far, mine.ga, mine.size, ACP_HANDLE_NULL));
    return {far, mine.size};
  }

  void insert(Pair& a) {
    const Bytes key = some_key();
    const Bytes value = some_value();
    const acp_pair_t pair{put(key, 10'000), put(value, 20'000)};
    EXPECT_EQ(acp_insert_map(a.handle, pair),
              a.shadow.emplace(key, value).second ? 1 : 0);
  }

  void remove(Pair& a) {
    const Bytes key = some_key();
    acp_remove_map(a.handle, put(key, 10'000));
    a.shadow.erase(key);
  }

  /// Looks the key up twice: by an iterator, and into a buffer that may be too
  /// small for the value.
  void find(Pair& a) {
    const Bytes key = some_key();
    const acp_element_t element = put(key, 10'000);
    const acp_map_it_t it = acp_find_map(a.handle, element);
    const auto there = a.shadow.find(key);
    EXPECT_EQ(it.elem != acp_end_map(a.handle).elem, there != a.shadow.end());
    const std::size_t room = below(40) * 10;
    const acp_element_t to{scratch_.ga(25'000), room};
    const std::size_t got = acp_retrieve_map(a.handle, {element, to});
    if (there == a.shadow.end()) {
      EXPECT_EQ(got, std::size_t{0});
      return;
    }
    const acp_pair_t pair = acp_dereference_map_it(it);
    EXPECT(scratch_.get(pair.first) == key);
    EXPECT(scratch_.get(pair.second) == there->second);
    EXPECT_EQ(got, std::min(room, there->second.size()));
    EXPECT(std::equal(there->second.begin(),
                      there->second.begin() + static_cast<std::ptrdiff_t>(got),
                      scratch_.data() + 25'000));
  }

  void upsert(Pair& a) {
    Bytes key = some_key();
    key.insert(key.begin(), std::byte{0xcc});  // counters have their own keys
    const std::uint64_t add = random_();
    std::uint64_t old = 1;
    const int result =
        acpx_upsert_add8_map(a.handle, put(key, 10'000), add, &old);
    Bytes& value = a.shadow[key];
    EXPECT_EQ(result, value.empty() ? 1 : 0);
    std::uint64_t before = 0;
    if (!value.empty()) std::memcpy(&before, value.data(), 8);
    EXPECT_EQ(old, before);
    before += add;
    value.resize(8);
    std::memcpy(value.data(), &before, 8);
  }

  /// Inserts several keys, of which some are known, by one call. Then it finds
  /// all of them by one call. No key appears twice, so each result follows from
  /// the model.
  void several(Pair& a) {
    const std::size_t count = below(40);
    std::vector<acp_pair_t> pairs;
    std::vector<acp_element_t> keys;
    std::vector<Bytes> key_bytes;
    std::set<Bytes> used;
    for (std::size_t i = 0; i < count; ++i) {
      Bytes key = some_key();
      if (key.size() > 100 || !used.insert(key).second) continue;
      Bytes value = some_value();
      value.resize(std::min<std::size_t>(value.size(), 100));
      pairs.push_back({scratch_.put(key, 30'000 + i * 200),
                       scratch_.put(value, 30'100 + i * 200)});
      keys.push_back(pairs.back().first);
      key_bytes.push_back(key);
    }
    std::vector<int> results(pairs.size());
    int expected = 0;
    const int inserted =
        acpx_insert_map_n(a.handle, pairs.data(), pairs.size(), results.data());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto* value = reinterpret_cast<const std::byte*>(
          scratch_.data() + (pairs[i].second.ga - scratch_.ga()));
      const bool is_new =
          a.shadow
              .emplace(key_bytes[i], Bytes(value, value + pairs[i].second.size))
              .second;
      EXPECT_EQ(results[i], is_new ? 1 : 0);
      expected += is_new ? 1 : 0;
    }
    EXPECT_EQ(inserted, expected);
    std::vector<acp_pair_t> found(keys.size());
    EXPECT_EQ(acpx_find_map_n(a.handle, keys.data(), keys.size(), found.data()),
              static_cast<int>(keys.size()));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT(scratch_.get(found[i].second) == a.shadow[key_bytes[i]]);
    }
  }

  /// Both maps may be one. Then move, swap, merge and assign have to change
  /// nothing, as in the model.
  void whole(Pair& a, Pair& b, std::size_t what) {
    switch (what % 6) {
      case 0:
        acp_clear_map(a.handle);
        a.shadow.clear();
        break;
      case 1:
        acp_assign_map(a.handle, b.handle);
        if (&a != &b) a.shadow = b.shadow;
        break;
      case 2:
        acp_merge_map(a.handle, b.handle);
        if (&a != &b) a.shadow.insert(b.shadow.begin(), b.shadow.end());
        break;
      case 3:
        acp_move_map(a.handle, b.handle);
        if (&a != &b) a.shadow.merge(b.shadow);
        break;
      case 4:
        acp_swap_map(a.handle, b.handle);
        if (&a != &b) a.shadow.swap(b.shadow);
        break;
      default: local(a, b); break;
    }
    EXPECT_EQ(acp_size_map(b.handle), b.shadow.size());
  }

  /// The local elements are the ones that a walk over local elements finds.
  void local(Pair& a, Pair& b) {
    const Shadow mine = contents(scratch_, b.handle, true);
    const std::size_t what = below(4);
    if (what == 0) {
      acp_clear_local_map(b.handle);
      for (const auto& [key, value] : mine)
        b.shadow.erase(key);
      return;
    }
    if (&a == &b) return;
    if (what == 1) {
      acp_merge_local_map(a.handle, b.handle);
    } else if (what == 2) {
      acp_move_local_map(a.handle, b.handle);
      for (const auto& [key, value] : mine) {
        if (a.shadow.count(key) == 0) b.shadow.erase(key);
      }
    } else {
      // Elements of the source on another rank are left to that rank's call.
      for (const auto& [key, value] : contents(scratch_, a.handle, true)) {
        if (b.shadow.count(key) == 0) a.shadow.erase(key);
      }
      acp_assign_local_map(a.handle, b.handle);
      for (const auto& [key, value] : mine)
        a.shadow[key] = value;
    }
    a.shadow.insert(mine.begin(), mine.end());
  }

  std::mt19937_64& random_;
  Scratch scratch_;
  Pair pairs_[2];
};

acp_pair_t pair_of(const Scratch& scratch,
                   std::uint64_t key,
                   std::uint64_t value) {
  return {scratch.put_word(key, 0), scratch.put_word(value, 64)};
}

/// Each function that takes a map has to fail, also where the dead map is the
/// second of two. The live map must not change.
void expect_dead(const Scratch& scratch, acp_map_t map, acp_map_t alive) {
  const spmd::StderrCapture quiet;
  const int code = ACPX_INVALID_ARGUMENT;
  const acp_pair_t pair = pair_of(scratch, 1, 2);
  std::uint64_t old = 0;
  EXPECT_FAILS(acp_size_map(map), std::size_t{0}, code);
  EXPECT_FAILS(acp_empty_map(map), 1, code);
  EXPECT_FAILS(acp_size_local_map(map), std::size_t{0}, code);
  EXPECT_FAILS(acp_begin_map(map).elem, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_begin_local_map(map).elem, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_find_map(map, pair.first).elem, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_insert_map(map, pair), 0, code);
  EXPECT_FAILS(acp_retrieve_map(map, pair), std::size_t{0}, code);
  EXPECT_FAILS(acpx_upsert_add8_map(map, pair.first, 1, &old), -1, code);
  EXPECT_FAILS(acpx_insert_map_n(map, &pair, 1, nullptr), -1, code);
  EXPECT_ERRNO(acp_remove_map(map, pair.first), code);
  EXPECT_ERRNO(acp_clear_map(map), code);
  EXPECT_ERRNO(acp_assign_map(map, alive), code);
  EXPECT_ERRNO(acp_assign_map(alive, map), code);
  EXPECT_ERRNO(acp_merge_map(map, map), code);
  EXPECT_ERRNO(acp_swap_map(alive, map), code);
  EXPECT_ERRNO(acp_destroy_map(map), code);
  EXPECT_EQ(acp_size_map(alive), std::size_t{1});
}

}  // namespace

SPMD_CASE(acp_map_model, "map: random operations, as std::map") {
  auto random = spmd::random_of_rank();
  Model model(random);
  const std::size_t count = spmd::scaled_flights(20'000);
  for (std::size_t i = 0; i < count; ++i)
    model.step();
  acp_sync();
}

SPMD_CASE(acp_insert_map_one_key,
          "acp_insert_map: of all ranks' inserts of one key one inserts") {
  const Scratch scratch;
  const acp_map_t map = create_shared(10);
  const std::size_t count = spmd::scaled_flights(5'000);
  std::uint64_t wins = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    wins += static_cast<std::uint64_t>(acp_insert_map(
        map, pair_of(scratch, i, static_cast<std::uint64_t>(acp_rank()))));
  }
  const auto all = spmd::gather(wins);
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::uint64_t{0}), count);
  EXPECT_EQ(acp_size_map(map), count);
  destroy_shared(map);
}

// All ranks add to few keys. The sum over the ranks says what each value has to
// be.
SPMD_CASE(acpx_upsert_add8_map_contention,
          "acpx_upsert_add8_map: exact counts when all ranks count") {
  const Scratch scratch;
  const acp_map_t map = create_shared(100);
  const std::size_t count = spmd::scaled_flights(100'000);
  auto random = spmd::random_of_rank();
  constexpr std::uint64_t kKeys = 50;
  std::vector<std::uint64_t> mine(kKeys, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t key = random() % kKeys;
    EXPECT(acpx_upsert_add8_map(map, scratch.put_word(key, 0), key + 1,
                                nullptr) >= 0);
    mine[key] += key + 1;
  }
  acp_sync();
  std::size_t used = 0;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    const auto all = spmd::gather(mine[key]);
    const auto sum = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
    std::uint64_t value = 0;
    std::memset(scratch.data() + 64, 0, 8);
    acp_retrieve_map(map, pair_of(scratch, key, 0));
    std::memcpy(&value, scratch.data() + 64, 8);
    EXPECT_EQ(value, sum);
    used += sum == 0 ? 0 : 1;
  }
  EXPECT_EQ(acp_size_map(map), used);
  destroy_shared(map);
}

SPMD_CASE(acp_map_contention,
          "map: inserts, removes and finds of all ranks, values never torn") {
  const Scratch scratch;
  const acp_map_t map = create_shared(200);
  const std::size_t count = spmd::scaled_flights(100'000);
  auto random = spmd::random_of_rank();
  // A value's bytes are all alike; 20 fit a bucket, 200 do not.
  std::int64_t net = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t key = random() % 300;
    const std::size_t size = key % 3 == 0 ? 200 : 20;
    const acp_element_t element = scratch.put_word(key, 0);
    const std::size_t what = random() % 4;
    if (what == 0) {
      std::memset(scratch.data() + 64, static_cast<int>(random()), size);
      net += acp_insert_map(map, {element, {scratch.ga(64), size}});
    } else if (what == 1) {
      acp_remove_map(map, element);
    } else {
      const std::size_t got =
          acp_retrieve_map(map, {element, {scratch.ga(512), 300}});
      EXPECT(got == 0 || got == size);
      EXPECT(
          std::all_of(scratch.data() + 512, scratch.data() + 512 + got,
                      [&](std::byte b) { return b == scratch.data()[512]; }));
    }
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  if (acp_rank() == 0) {
    const Shadow all = contents(scratch, map, false);
    EXPECT_EQ(all.size(), acp_size_map(map));
  }
  EXPECT(net >= 0);
  acp_sync();
  const std::size_t local = contents(scratch, map, true).size();
  const auto locals = spmd::gather(local);
  EXPECT_EQ(std::accumulate(locals.begin(), locals.end(), std::uint64_t{0}),
            std::uint64_t{acp_size_map(map)});
  destroy_shared(map);
}

// The map has few buckets, so nearly all elements lie in overflow buckets.
// Every rank inserts keys of its own, and removes each seventh. All ranks have
// to agree on the size after both.
SPMD_CASE(acp_map_overflow, "map: many more elements than slots") {
  const Scratch scratch;
  const acp_map_t map = create_shared(4);
  const std::size_t count = spmd::scaled_flights(3'000);
  const auto me = static_cast<std::uint64_t>(acp_rank());
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(acp_insert_map(map, pair_of(scratch, me << 32 | i, i)), 1);
  }
  acp_sync();
  EXPECT_EQ(acp_size_map(map), count * static_cast<std::size_t>(acp_procs()));
  acp_sync();
  for (std::uint64_t i = 0; i < count; i += 7) {
    EXPECT_EQ(acp_retrieve_map(map, pair_of(scratch, me << 32 | i, 0)),
              std::size_t{8});
    acp_remove_map(map, scratch.put_word(me << 32 | i, 0));
  }
  acp_sync();
  const std::size_t gone = (count + 6) / 7;
  EXPECT_EQ(acp_size_map(map),
            (count - gone) * static_cast<std::size_t>(acp_procs()));
  if (acp_rank() == 0) {
    EXPECT_EQ(contents(scratch, map, false).size(), acp_size_map(map));
  }
  destroy_shared(map);
}

// All ranks add to one value by its address, while other keys come and go
// beside it. An add to a moved value would be lost.
SPMD_CASE(acp_map_values_do_not_move,
          "map: a value's address stays while others come and go") {
  const Scratch scratch;
  const acp_map_t map = create_shared(50);
  if (acp_rank() == 0) acp_insert_map(map, pair_of(scratch, 12345, 0));
  acp_sync();
  const acp_ga_t value =
      acp_dereference_map_it(acp_find_map(map, scratch.put_word(12345, 0)))
          .second.ga;
  const std::size_t count = spmd::scaled_flights(5'000);
  const auto me = static_cast<std::uint64_t>(acp_rank()) + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_DONE(acp_add8(scratch.ga(800), value, 1, ACP_HANDLE_NULL));
    acp_insert_map(map, pair_of(scratch, me << 32 | i, i));
    if (i > 10) acp_remove_map(map, scratch.put_word(me << 32 | (i - 10), 0));
  }
  acp_sync();
  acp_retrieve_map(map, pair_of(scratch, 12345, 0));
  std::uint64_t sum = 0;
  std::memcpy(&sum, scratch.data() + 64, 8);
  EXPECT_EQ(sum, count * static_cast<std::size_t>(acp_procs()));
  destroy_shared(map);
}

// The map is swapped by another rank each time. All ranks have used both maps
// before, so they know directories that are stale.
SPMD_CASE(acp_swap_map_stale,
          "acp_swap_map: others know the swapped map by their old directory") {
  const Scratch scratch;
  const acp_map_t map = create_shared(20);
  const acp_map_t other = create_shared(3);
  if (acp_rank() == 0) {
    for (std::uint64_t i = 0; i < 30; ++i) {
      acp_insert_map(map, pair_of(scratch, i, i));
    }
  }
  acp_sync();
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(acp_size_map(map), std::size_t{round % 2 == 0 ? 30U : 0U});
    EXPECT_EQ(acp_size_map(other), std::size_t{round % 2 == 0 ? 0U : 30U});
    const acp_map_t full = round % 2 == 0 ? map : other;
    EXPECT_EQ(acp_retrieve_map(full, pair_of(scratch, 7, 0)), std::size_t{8});
    EXPECT(acp_begin_map(full).elem != ACP_GA_NULL);
    acp_sync();
    if (acp_rank() == round % acp_procs()) acp_swap_map(map, other);
    acp_sync();
  }
  destroy_shared(map);
  destroy_shared(other);
}

SPMD_CASE(acp_map_refuses_handles, "map: no, destroyed and other handles") {
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const acp_map_t alive = create(10, right);
  acp_insert_map(alive, pair_of(scratch, 5, 6));
  const acp_map_t gone = create(10, right);
  acp_insert_map(gone, pair_of(scratch, 5, 6));
  acp_destroy_map(gone);
  const acp_list_t list = acp_create_list(right);
  expect_dead(scratch, {ACP_GA_NULL, 1, 1}, alive);
  expect_dead(scratch, {scratch.ga(), 1, 1}, alive);
  expect_dead(scratch, {list.ga, 1, 1}, alive);
  expect_dead(scratch, gone, alive);
  acp_destroy_list(list);
  acp_destroy_map(alive);
}

SPMD_CASE(acp_map_refuses_values, "map: ranks, slots, keys, iterators") {
  const Scratch scratch;
  const spmd::StderrCapture quiet;
  const int code = ACPX_INVALID_ARGUMENT;
  const int me = acp_rank();
  const int twice[2] = {me, me};
  const int wrong[1] = {acp_procs()};
  EXPECT_FAILS(acp_create_map(0, &me, 1, 0).ga, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_create_map(1, nullptr, 1, 0).ga, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_create_map(1, &me, 0, 0).ga, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_create_map(2, twice, 1, 0).ga, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_create_map(1, wrong, 1, 0).ga, ACP_GA_NULL, ACPX_BAD_RANK);
  const std::vector<int> ranks = all_ranks();
  for (const int count :
       {acp_procs() + 1, -1, int{INT32_MAX}, int{INT32_MIN}}) {
    EXPECT_FAILS(acp_create_map(count, ranks.data(), 1, 0).ga, ACP_GA_NULL,
                 code);
  }
  for (const int slots : {-1, int{INT32_MIN}}) {
    EXPECT_FAILS(acp_create_map(1, &me, slots, 0).ga, ACP_GA_NULL, code);
  }
  for (const int rank : {-1, int{INT32_MAX}, int{INT32_MIN}}) {
    EXPECT_FAILS(acp_create_map(1, &rank, 1, 0).ga, ACP_GA_NULL, ACPX_BAD_RANK);
    EXPECT_FAILS(acp_create_map(1, &me, 1, rank).ga, ACP_GA_NULL,
                 ACPX_BAD_RANK);
  }

  EXPECT_FAILS(acp_create_map(1, &me, INT32_MAX, 0).ga, ACP_GA_NULL,
               ACPX_TOO_LARGE);
  const acp_map_t map = create(10, 0);
  const acp_pair_t pair = pair_of(scratch, 1, 2);
  acp_insert_map(map, pair);
  const acp_element_t empty{scratch.ga(), 0};
  const acp_element_t nowhere{ACP_GA_NULL, 8};
  EXPECT_FAILS(acp_insert_map(map, {empty, pair.second}), 0, code);
  EXPECT_FAILS(acp_insert_map(map, {nowhere, pair.second}), 0,
               ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_insert_map(map, {pair.first, nowhere}), 0, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_insert_map(map, {{scratch.ga(), SIZE_MAX}, empty}), 0,
               ACPX_TOO_LARGE);
  EXPECT_FAILS(acp_find_map(map, empty).elem, ACP_GA_NULL, code);
  EXPECT_ERRNO(acp_remove_map(map, empty), code);
  EXPECT_FAILS(acpx_insert_map_n(map, nullptr, 1, nullptr), -1, code);
  EXPECT_FAILS(acpx_find_map_n(map, &pair.first, 1, nullptr), -1, code);
  EXPECT_EQ(acpx_insert_map_n(map, nullptr, 0, nullptr), 0);
  acp_pair_t room = pair;
  EXPECT_FAILS(acpx_insert_map_n(map, &pair, SIZE_MAX, nullptr), -1,
               ACPX_NO_MEMORY);
  EXPECT_FAILS(acpx_find_map_n(map, &pair.first, SIZE_MAX, &room), -1,
               ACPX_NO_MEMORY);
  // A counter of another size than 8.
  acp_insert_map(map, {scratch.put_word(77, 128), {scratch.ga(), 3}});
  EXPECT_FAILS(acpx_upsert_add8_map(map, scratch.put_word(77, 128), 1, nullptr),
               -1, code);
  // Iterators: the end, removed, foreign.
  EXPECT_FAILS(acp_dereference_map_it(acp_end_map(map)).first.ga, ACP_GA_NULL,
               ACPX_BAD_ADDRESS);
  acp_map_it_t it = acp_find_map(map, scratch.put_word(77, 128));
  acp_remove_map(map, scratch.put_word(77, 128));
  EXPECT_FAILS(acp_dereference_map_it(it).first.ga, ACP_GA_NULL, code);
  it.elem = scratch.ga(64);
  EXPECT_FAILS(acp_dereference_map_it(it).first.ga, ACP_GA_NULL, code);
  EXPECT_FAILS(acp_increment_map_it(it).elem, ACP_GA_NULL, code);
  EXPECT_EQ(acp_increment_map_it(acp_end_map(map)).elem, ACP_GA_NULL);
  EXPECT_EQ(acp_size_map(map), std::size_t{1});
  EXPECT_EQ(acp_retrieve_map(map, pair_of(scratch, 1, 0)), std::size_t{8});
  acp_destroy_map(map);
}

// Makes and destroys maps whose control lies on the neighbour, some of them
// cleared before. Then it allocates nearly the whole heap, which fails if the
// maps have left blocks behind.
SPMD_CASE(acp_destroy_map_leaks_nothing, "acp_destroy_map: no leak") {
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const std::size_t count = spmd::scaled_flights(2'000);
  for (std::size_t i = 0; i < count; ++i) {
    const acp_map_t map = create(1 + static_cast<int>(i % 10), right);
    for (std::uint64_t j = 0; j < i % 20; ++j) {
      acp_insert_map(map,
                     {scratch.put_word(j, 0), {scratch.ga(64), j % 2 * 100}});
    }
    if (i % 3 == 0) acp_clear_map(map);
    acp_destroy_map(map);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
  acp_sync();
  const acp_ga_t all = acp_malloc(heap - heap / 40, right);
  EXPECT(all != ACP_GA_NULL);
  acp_free(all);
  acp_sync();
}
