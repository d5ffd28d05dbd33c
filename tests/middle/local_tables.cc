// The functions of sets and maps that each rank calls for its own elements. All
// ranks call them at once, on tables that are spread differently over the
// ranks.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "acp/map.h"
#include "acp/set.h"
#include "conformance/table_cases.h"

namespace {

using table::all_ranks;
using table::Scratch;

/// The ranks of the source, in their order. The destination is on all ranks, in
/// ascending order.
enum class Order { kReversed, kRotated, kUpperHalf };

std::vector<int> source_ranks(Order order) {
  std::vector<int> ranks = all_ranks();
  switch (order) {
    case Order::kReversed: std::reverse(ranks.begin(), ranks.end()); break;
    case Order::kRotated:
      std::rotate(ranks.begin(), ranks.begin() + 1, ranks.end());
      break;
    case Order::kUpperHalf:
      ranks.erase(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(
                                                     ranks.size() / 2));
      break;
  }
  return ranks;
}

/// Keys 0 .. 99 are in the destination alone, 100 .. 199 in both, 200 .. in the
/// source alone.
constexpr std::uint64_t kFirstShared = 100;
constexpr std::uint64_t kFirstNew = 200;

std::uint64_t end_of_source() {
  return kFirstNew + spmd::scaled_flights(2'000);
}

/// A value that tells its key and its table; every third is large.
acp_element_t value_of(const Scratch& scratch,
                       std::uint64_t key,
                       std::uint64_t table) {
  const std::size_t words = key % 3 == 0 ? 50 : 1;
  table::Bytes bytes(words * 8);
  const std::uint64_t word = key << 8 | table;
  for (std::size_t i = 0; i < words; ++i)
    std::memcpy(bytes.data() + i * 8, &word, 8);
  return scratch.put(bytes, 64);
}

constexpr std::uint64_t kOld = 1;  ///< The destination's.
constexpr std::uint64_t kNew = 2;  ///< The source's.

struct Maps {
  using Handle = acp_map_t;

  static Handle create(const std::vector<int>& ranks) {
    return acp_create_map(static_cast<int>(ranks.size()), ranks.data(), 20, 0);
  }

  static void destroy(Handle h) { acp_destroy_map(h); }

  static void insert(const Scratch& scratch,
                     Handle h,
                     std::uint64_t key,
                     std::uint64_t table) {
    EXPECT_EQ(acp_insert_map(
                  h, {scratch.put_word(key, 0), value_of(scratch, key, table)}),
              1);
  }

  /// Keys, and the table that each value comes from.
  static std::map<std::uint64_t, std::uint64_t> contents(const Scratch& scratch,
                                                         Handle h) {
    std::map<std::uint64_t, std::uint64_t> all;
    for (acp_map_it_t it = acp_begin_map(h); it.elem != ACP_GA_NULL;
         it = acp_increment_map_it(it)) {
      const acp_pair_t pair = acp_dereference_map_it(it);
      std::uint64_t key = 0;
      std::uint64_t word = 0;
      std::memcpy(&key, scratch.get(pair.first).data(), 8);
      const table::Bytes value = scratch.get(pair.second);
      std::memcpy(&word, value.data(), 8);
      EXPECT_EQ(word >> 8, key);
      EXPECT(value == scratch.get(value_of(scratch, key, word & 0xff)));
      EXPECT(all.emplace(key, word & 0xff).second);
    }
    return all;
  }

  static void assign(Handle to, Handle from) { acp_assign_local_map(to, from); }

  static void merge(Handle to, Handle from) { acp_merge_local_map(to, from); }

  static void move(Handle to, Handle from) { acp_move_local_map(to, from); }

  /// The table whose value a key has afterwards if both tables had it.
  static constexpr std::uint64_t kKept = kOld;
  static constexpr std::uint64_t kAssigned = kNew;
};

struct Sets {
  using Handle = acp_set_t;

  static Handle create(const std::vector<int>& ranks) {
    return acp_create_set(static_cast<int>(ranks.size()), ranks.data(), 20, 0);
  }

  static void destroy(Handle h) { acp_destroy_set(h); }

  /// Every third key is large.
  static acp_element_t key_of(const Scratch& scratch, std::uint64_t key) {
    table::Bytes bytes(key % 3 == 0 ? 100 : 8);
    std::memcpy(bytes.data(), &key, 8);
    return scratch.put(bytes, 0);
  }

  static void insert(const Scratch& scratch,
                     Handle h,
                     std::uint64_t key,
                     std::uint64_t) {
    EXPECT_EQ(acp_insert_set(h, key_of(scratch, key)), 1);
  }

  static std::map<std::uint64_t, std::uint64_t> contents(const Scratch& scratch,
                                                         Handle h) {
    std::map<std::uint64_t, std::uint64_t> all;
    for (acp_set_it_t it = acp_begin_set(h); it.elem != ACP_GA_NULL;
         it = acp_increment_set_it(it)) {
      std::uint64_t key = 0;
      std::memcpy(&key, scratch.get(acp_dereference_set_it(it)).data(), 8);
      EXPECT(all.emplace(key, 0).second);
    }
    return all;
  }

  static void assign(Handle to, Handle from) { acp_assign_local_set(to, from); }

  static void merge(Handle to, Handle from) { acp_merge_local_set(to, from); }

  static void move(Handle to, Handle from) { acp_move_local_set(to, from); }

  static constexpr std::uint64_t kKept = 0;  ///< Keys have no values.
  static constexpr std::uint64_t kAssigned = 0;
};

/// Calls `work` on two tables on all ranks. On rank 0 `check` then gets their
/// contents.
template <typename T, typename Work, typename Check>
void run(Order order, const Work& work, const Check& check) {
  const Scratch scratch;
  typename T::Handle to{};
  typename T::Handle from{};
  if (acp_rank() == 0) {
    to = T::create(all_ranks());
    from = T::create(source_ranks(order));
    EXPECT(to.ga != ACP_GA_NULL && from.ga != ACP_GA_NULL);
    for (std::uint64_t key = 0; key < kFirstNew; ++key)
      T::insert(scratch, to, key, kOld);
    for (std::uint64_t key = kFirstShared; key < end_of_source(); ++key)
      T::insert(scratch, from, key, kNew);
  }
  to.ga = spmd::broadcast(to.ga, 0);
  from.ga = spmd::broadcast(from.ga, 0);
  acp_sync();
  work(to, from);
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  if (acp_rank() == 0) {
    check(T::contents(scratch, to), T::contents(scratch, from));
    T::destroy(to);
    T::destroy(from);
  }
  acp_sync();
}

using Contents = std::map<std::uint64_t, std::uint64_t>;

template <typename T>
void run_assignments() {
  for (const Order order :
       {Order::kReversed, Order::kRotated, Order::kUpperHalf}) {
    run<T>(order, T::assign, [](const Contents& to, const Contents& from) {
      EXPECT_EQ(to.size(), end_of_source() - kFirstShared);
      for (const auto& [key, table] : to) {
        EXPECT(key >= kFirstShared);
        EXPECT_EQ(table, T::kAssigned);
      }
      EXPECT(to == from);
    });
  }
}

template <typename T>
void run_merges_and_moves() {
  const auto check = [](const Contents& to) {
    EXPECT_EQ(to.size(), end_of_source());
    for (const auto& [key, table] : to)
      EXPECT_EQ(table, key < kFirstNew ? T::kKept : T::kAssigned);
  };
  run<T>(Order::kReversed, T::merge,
         [&](const Contents& to, const Contents& from) {
           check(to);
           EXPECT_EQ(from.size(), end_of_source() - kFirstShared);
         });
  run<T>(Order::kReversed, T::move,
         [&](const Contents& to, const Contents& from) {
           check(to);
           EXPECT_EQ(from.size(), kFirstNew - kFirstShared);
         });
}

}  // namespace

SPMD_CASE(acp_assign_local_set_all,
          "acp_assign_local_set: all at once make the sets equal, whichever "
          "ranks have the keys") {
  run_assignments<Sets>();
}

SPMD_CASE(acp_assign_local_map_all,
          "acp_assign_local_map: all at once make the maps equal, whichever "
          "ranks have the elements") {
  run_assignments<Maps>();
}

SPMD_CASE(local_set_merge_move,
          "acp_merge_local_set, acp_move_local_set: no key is lost when all "
          "call them at once") {
  run_merges_and_moves<Sets>();
}

SPMD_CASE(local_map_merge_move,
          "acp_merge_local_map, acp_move_local_map: no element is lost when "
          "all call them at once") {
  run_merges_and_moves<Maps>();
}

// A reader that copies a large element knows by this number whether the element
// was removed meanwhile and its block used again.
SPMD_CASE(serial_numbers_differ,
          "map: the blocks of large elements have different serial numbers") {
  // The block's first word, 16 bytes in front of the key, is its number.
  constexpr std::size_t kHeaderBytes = 16;
  constexpr std::uint64_t kKeys = 30;
  const Scratch scratch;
  acp_map_t map{};
  if (acp_rank() == 0) {
    map = Maps::create(all_ranks());
    EXPECT(map.ga != ACP_GA_NULL);
  }
  map = {spmd::broadcast(map.ga, 0), static_cast<std::size_t>(acp_procs()), 20};
  const std::uint64_t first = static_cast<std::uint64_t>(acp_rank()) * kKeys;
  for (std::uint64_t key = first; key < first + kKeys; ++key)
    Maps::insert(scratch, map, key, kNew);
  acp_sync();
  if (acp_rank() == 0) {
    std::set<std::uint64_t> numbers;
    std::size_t elements = 0;
    for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
         it = acp_increment_map_it(it)) {
      const acp_pair_t pair = acp_dereference_map_it(it);
      if (pair.second.size == 8) continue;
      std::uint64_t number = 0;
      std::memcpy(
          &number,
          scratch.get({pair.first.ga - kHeaderBytes, sizeof number}).data(),
          sizeof number);
      EXPECT(number != 0);
      numbers.insert(number);
      ++elements;
    }
    EXPECT_EQ(elements, kKeys / 3 * static_cast<std::size_t>(acp_procs()));
    EXPECT_EQ(numbers.size(), elements);
    acp_destroy_map(map);
  }
  acp_sync();
}
