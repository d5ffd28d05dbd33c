// Tests of acp.hpp: vectors, deques, lists, sets and maps, of all ranks at
// once.
#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "acp/acp.hpp"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

struct Record {
  std::uint32_t rank;
  std::uint32_t number;

  // NOLINTNEXTLINE(modernize-use-nullptr): of the comparison with 0 inside
  auto operator<=>(const Record&) const = default;
};

template <typename Call>
int code_of(const Call& call) {
  const spmd::StderrCapture quiet;
  try {
    call();
  } catch (const acp::error& error) {
    return error.code();
  }
  return 0;
}

std::uint32_t me() {
  return static_cast<std::uint32_t>(acp::rank());
}

std::size_t procs() {
  return static_cast<std::size_t>(acp::ranks());
}

/// A structure of the last rank, for all. The name is free again behind the
/// barrier.
template <typename Make>
auto shared(const char* name, const Make& make) {
  auto result = acp::share(name, acp::ranks() - 1, make);
  acp::sync();
  if (result.is_owner()) {
    EXPECT(acp::unpublish(name));
  }
  return result;
}

}  // namespace

SPMD_CASE(cpp_vector, "vector: pushes of all ranks, walks, changes") {
  auto all = shared("vector", [] { return acp::vector<Record>(0); });
  constexpr std::uint32_t kEach = 300;  // more than one reading ahead
  for (std::uint32_t i = 0; i < kEach; ++i) {
    all.push_back({me(), i});
  }
  acp::sync();
  EXPECT_EQ(all.size(), kEach * procs());
  std::vector<Record> seen;
  for (const Record& r : all) {
    seen.push_back(r);
  }
  EXPECT(seen == all.to_vector());
  EXPECT_EQ(std::ranges::count_if(
                all, [](const Record& r) { return r.rank == me(); }),
            std::ptrdiff_t{kEach});
  std::sort(seen.begin(), seen.end());
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    EXPECT(seen[i] == (Record{i / kEach, i % kEach}));
  }
  acp::sync();
  if (all.is_owner()) {
    all[5] = Record{77, 78};
    EXPECT_EQ(static_cast<Record>(all[5]).number, 78U);
    all.insert(5, {1, 2});
    EXPECT_EQ(acp::get(all.at(6)).rank, 77U);
    all.erase(0, 5);
    EXPECT_EQ(acp::get(all.at(1)).rank, 77U);
    all.pop_back(2);
    EXPECT_EQ(all.size(), kEach * procs() + 1 - 7);
    all.reserve(10'000);
    EXPECT(all.capacity() >= 10'000);
    acp::vector<Record> other(2);
    other.assign(all);
    EXPECT_EQ(other.size(), all.size());
    acp::vector<Record> empty(0);
    all.exchange_with(empty);
    EXPECT(all.empty() && all.begin() == all.end());
    EXPECT_EQ(code_of([&] { (void)all.at(0); }), ACPX_BAD_ADDRESS);
    EXPECT_EQ(code_of([&] { (void)all.at(SIZE_MAX / 2); }), ACPX_TOO_LARGE);
    const acp::registered<Record> source(3);
    all.push_back(source.ptr(), 3);
    EXPECT_EQ(all.size(), 3U);
    all.clear();
    EXPECT_EQ(all.size(), 0U);
  }
  EXPECT_EQ(code_of([] { acp::vector<int>(0, acp::ranks()); }), ACPX_BAD_RANK);
  EXPECT_EQ(code_of([] { acp::vector<int>().push_back(1); }),
            ACPX_INVALID_ARGUMENT);
  acp::sync();
}

SPMD_CASE(cpp_owners, "owners: moves, release, views destroy nothing") {
  acp::vector<int> one(4);
  const acp_vector_t handle = one.handle();
  {
    const acp::vector<int> view(handle);
    EXPECT(!view.is_owner());
  }
  EXPECT_EQ(one.size(), 4U);
  acp::vector<int> two = std::move(one);
  // NOLINTNEXTLINE(bugprone-use-after-move): it owns nothing any more
  EXPECT(two.is_owner() && !one.is_owner());
  acp::vector<int> three;
  three = std::move(two);
  EXPECT_EQ(three.size(), 4U);
  three.release();
  three = acp::vector<int>();
  acp::vector<int> last(handle);
  EXPECT_EQ(last.size(), 4U);
  acp_destroy_vector(handle);
  EXPECT_EQ(code_of([&] { (void)last.size(); }), ACPX_INVALID_ARGUMENT);
  {
    const acp::vector<int> gone(1);
    last = acp::vector<int>(gone.handle());
  }
  EXPECT_EQ(code_of([&] { (void)last.size(); }), ACPX_INVALID_ARGUMENT);
}

SPMD_CASE(cpp_deque, "deque: each element is taken once, at both ends") {
  auto work = shared("deque", [] { return acp::deque<Record>(4); });
  constexpr std::uint32_t kEach = 100;
  for (std::uint32_t i = 0; i < kEach; ++i) {
    if (i % 2 == 0) {
      work.push_back({me(), i});
    } else {
      work.push_front({me(), i});
    }
  }
  acp::sync();
  EXPECT_EQ(work.size(), kEach * procs());
  EXPECT_EQ(work.to_vector().size(), kEach * procs());
  acp::sync();
  std::uint64_t sum = 0;
  std::uint64_t taken = 0;
  for (;;) {
    const auto item = taken % 2 == 0 ? work.take_front() : work.take_back();
    if (!item) break;
    sum += item->rank * kEach + item->number;
    ++taken;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t part : spmd::gather(sum))
    all += part;
  const std::uint64_t n = kEach * procs();
  EXPECT_EQ(all, n * (n - 1) / 2);
  EXPECT(work.empty());
  acp::sync();
  if (work.is_owner()) {
    for (std::uint32_t i = 0; i < 4; ++i)
      work.push_back({0, i});
    work.pop_front();
    work.pop_back();
    EXPECT_EQ(static_cast<Record>(work[0]).number, 1U);
    EXPECT_EQ(work.size(), 2U);
  }
  acp::sync();
}

SPMD_CASE(cpp_list, "list: elements on all ranks, both directions, sorting") {
  auto all = shared("list", [] { return acp::list<Record>(acp::rank()); });
  for (std::uint32_t i = 0; i < 20; ++i) {
    all.push_back({me(), 19 - i});
    all.push_front({me(), 20 + i}, spmd::right_of(acp::rank()));
  }
  acp::sync();
  if (all.is_owner()) {
    EXPECT_EQ(all.size(), 40 * procs());
    all.sort();
    std::vector<Record> seen;
    std::ranges::copy(all, std::back_inserter(seen));
    EXPECT(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(seen.size(), 40 * procs());
    auto last = all.end();
    --last;
    EXPECT(*last == seen.back());
    all.sort(std::greater<Record>());
    EXPECT(*all.begin() == seen.back());
    all.reverse();
    EXPECT(*all.begin() == seen.front());
    const auto second = all.insert(std::next(all.begin()), {7, 7});
    EXPECT(*second == (Record{7, 7}));
    EXPECT(second.ptr().rank() == acp::rank());
    all.push_back({7, 7});
    all.remove({7, 7});
    EXPECT_EQ(all.size(), 40 * procs());
    all.push_front(seen.front());
    all.unique();
    EXPECT_EQ(all.size(), 40 * procs());
    auto next = all.erase(all.begin());
    EXPECT(*next == seen[1]);
    all.splice(all.end(), all.begin());
    EXPECT(*std::prev(all.end()) == seen[1]);
    all.pop_back();
    all.pop_front();
    acp::list<Record> other(acp::rank());
    other.push_back({0, 0});
    all.merge(other);
    EXPECT(other.empty());
    EXPECT(*all.begin() == (Record{0, 0}));
    other.exchange_with(all);
    EXPECT(all.empty() && all.begin() == all.end());
    EXPECT_EQ(code_of([&] { (void)*all.end(); }), ACPX_BAD_ADDRESS);
    other.clear();
  }
  acp::sync();
}

SPMD_CASE(cpp_set, "set: keys of all ranks, local walks") {
  auto all = shared("set", [] { return acp::set<Record>(64); });
  for (std::uint32_t i = 0; i < 50; ++i) {
    all.insert({i, i});
    all.insert({me(), 1000 + i});
  }
  acp::sync();
  EXPECT_EQ(all.size(), 50 + 50 * procs());
  EXPECT(all.contains({49, 49}) && !all.contains({49, 48}));
  std::set<Record> walked;
  for (const Record& key : all)
    EXPECT(walked.insert(key).second);
  EXPECT_EQ(walked.size(), all.size());
  std::uint64_t mine = 0;
  for (const Record& key : all.local()) {
    EXPECT(walked.contains(key));
    ++mine;
  }
  std::uint64_t total = 0;
  for (const std::uint64_t part : spmd::gather(mine))
    total += part;
  EXPECT_EQ(total, 50 + 50 * procs());
  all.erase({me(), 1000});
  EXPECT(!all.contains({me(), 1000}));
  acp::sync();
  if (all.is_owner()) {
    all.clear();
    EXPECT(all.empty() && all.begin() == all.end());
  }
  acp::sync();
}

SPMD_CASE(cpp_map, "map: insert, find, count, many at a time, walks") {
  using Text = std::array<char, 22>;
  auto all = shared("map", [] { return acp::map<Text, std::uint64_t>(64); });
  const auto key_of = [](std::size_t i) {
    Text key{};
    const std::string digits = "key " + std::to_string(i);
    std::copy(digits.begin(), digits.end(), key.begin());
    return key;
  };
  for (std::size_t i = 0; i < 40; ++i) {
    const bool is_mine = i % procs() == me();
    if (is_mine) {
      EXPECT(all.insert(key_of(i), i));
      EXPECT(!all.insert(key_of(i), 99));
    }
    all.add(key_of(1000), 1);
  }
  acp::sync();
  EXPECT_EQ(all.size(), 41U);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT(all.find(key_of(i)) == i);
  }
  EXPECT(all.find(key_of(41)) == std::nullopt);
  EXPECT(all.contains(key_of(3)) && !all.contains(key_of(41)));
  EXPECT(all.find(key_of(1000)) == 40 * procs());
  EXPECT(!all.ptr(key_of(41)));
  acp::sync();
  acp::fetch_add(all.ptr(key_of(1000)), 1);
  acp::sync();
  EXPECT(all.find(key_of(1000)) == 41 * procs());
  std::uint64_t sum = 0;
  for (const auto& [key, value] : all)
    sum += value;
  EXPECT_EQ(sum, 39 * 40 / 2 + 41 * procs());
  std::uint64_t local = 0;
  for (const auto& [key, value] : all.local())
    local += value;
  std::uint64_t total = 0;
  for (const std::uint64_t part : spmd::gather(local))
    total += part;
  EXPECT_EQ(total, sum);
  std::vector<std::pair<Text, std::uint64_t>> pairs;
  std::vector<Text> keys;
  for (std::size_t i = 0; i < 30; ++i) {
    keys.push_back(key_of(2000 + 100 * me() + i));
    pairs.emplace_back(keys.back(), i);
  }
  EXPECT_EQ(all.insert(pairs), 30U);
  EXPECT_EQ(all.insert(pairs), 0U);
  keys.push_back(key_of(9999));
  const auto found = all.ptrs(keys);
  EXPECT_EQ(found.size(), 31U);
  EXPECT_EQ(acp::get(found[29]), 29U);
  EXPECT(!found[30]);
  all.erase(keys[0]);
  EXPECT(!all.contains(keys[0]));
  acp::sync();
  if (all.is_owner()) {
    acp::map<Text, char> other(all.handle());
    EXPECT(other.find(key_of(1)) == char{1});
    acp::map<Text, std::array<char, 16>> longer(all.handle());
    EXPECT_EQ(code_of([&] { (void)longer.find(key_of(1)); }),
              ACPX_INVALID_ARGUMENT);
    all.clear();
    EXPECT(all.empty());
  }
  EXPECT_EQ(code_of([] { acp::set<int>(0); }), ACPX_INVALID_ARGUMENT);
  acp::sync();
}
