// The scenarios of sets and maps.
#include "explore/operations.h"
#include "explore/scenarios.h"

namespace explore {

namespace {

using namespace table;

const Operation kInsert1{kInsert, 1, 10};
const Operation kInsert2{kInsert, 2, 20};
const Operation kRemove1{kRemove, 1, 0};
const Operation kRetrieve1{kRetrieve, 1, 0};
const Operation kUpsert1{kUpsert, 1, 1};
const Operations kWith1 = {{kInsert, 1, 5}};

void add_element_pairs(Scenarios& all) {
  std::vector<Named> changes = {{"insert", kInsert1}, {"remove", kRemove1}};
  std::vector<Named> others = changes;
  others.push_back({"find", {kFind, 1, 0}});
  others.push_back({"insert2", kInsert2});
  add_pairs(all, "set.absent", 0, {}, changes, others);
  add_pairs(all, "set.present", 0, kWith1, changes, others);
  add_pairs(all, "set.large_keys", kLargeKeys, kWith1, changes, others);

  changes.push_back({"upsert", kUpsert1});
  others.push_back({"upsert", kUpsert1});
  others.push_back({"retrieve", kRetrieve1});
  others.push_back({"clear", {kClear, 0, 0}});
  add_pairs(all, "map.absent", 0, {}, changes, others);
  add_pairs(all, "map.present", 0, kWith1, changes, others);
  add_pairs(all, "map.large_keys", kLargeKeys, kWith1, changes, others);
}

/// Operations on whole tables beside those on one element. The second table has
/// one key of the first, and another one.
void add_whole(Scenarios& all, const std::string& structure) {
  const Operations before = {
      {kInsert, 1, 5}, {kInsertOther, 1, 7}, {kInsertOther, 2, 8}};
  const std::vector<Named> changes = {{"insert", {kInsert, 3, 30}},
                                      {"remove", kRemove1},
                                      {"remove_other", {kRemoveOther, 2, 0}}};
  const std::vector<Named> wholes = {{"assign", {kAssign, 0, 0}},
                                     {"merge", {kMerge, 0, 0}},
                                     {"move", {kMove, 0, 0}}};
  add_pairs(all, structure + ".whole", 0, before, wholes, changes);
  add_pairs(all, structure + ".whole", 0, before,
            {{"swap", {kSwap, 0, 0}}, {"merge", {kMerge, 0, 0}}},
            {{"insert3", {kInsert, 3, 30}}, {"remove1", kRemove1}});
  add_pairs(all, structure + ".walk", 0,
            {{kInsert, 1, 5}, {kInsertOther, 2, 8}},
            {{"walk", {kWalk, 0b0010, 0}}},
            {{"insert2", kInsert2},
             {"merge", {kMerge, 0, 0}},
             {"move", {kMove, 0, 0}}});
  // All ranks assign their parts, and the tables are spread differently.
  add(all, structure + ".assign_local",
      {{kInsert, 1, 5},
       {kInsert, 3, 6},
       {kInsertOther, 1, 7},
       {kInsertOther, 2, 8}},
      {{{kAssignLocal, 0, 0}}, {{kAssignLocal, 0, 0}}})
      .variant = kAllRanks | kReversed;
  // Rank 1 has destroyed the first table, and knows where its buckets were. The
  // second one is created in that memory.
  Scenario& stale =
      add(all, structure + ".destroyed+insert", kWith1,
          {{{kRecreate, 0, 0}, {kInsertOther, 3, 6}}, {kInsert2, kInsert2}});
  stale.before1 = {{kFind, 1, 0}, {kDestroy, 0, 0}};
  stale.has_cache = false;
}

/// Memory of an element that a reader has found is used again.
void add_reuses(Scenarios& all) {
  const auto add_one = [&](const char* name, std::uint64_t variant,
                           const Operations& changes, const Operations& reads) {
    Scenario& scenario =
        add(all, std::string("map.") + name, kWith1, {changes, reads});
    scenario.variant = variant;
    // Without a cache, the block that was freed is the next that is allocated.
    scenario.has_cache = variant == 0;
  };
  const Operations again = {kRemove1, kInsert2};
  add_one("reuse+retrieve", 0, again, {kRetrieve1});
  add_one("reuse+retrieve2", 0, again, {{kRetrieve, 2, 0}});
  add_one("reuse_keys+retrieve", kLargeKeys, again, {kRetrieve1});
  add_one("reuse_values+retrieve", kLargeValues, again, {kRetrieve1});
  add_one("again+retrieve", kLargeValues, {kRemove1, kInsert1}, {kRetrieve1});
  for (const Named& whole :
       {Named{"assign", {kAssign, 0, 0}}, Named{"merge", {kMerge, 0, 0}},
        Named{"move", {kMove, 0, 0}}}) {
    Scenario& scenario =
        add(all, std::string("map.reuse_values+") + whole.name,
            {{kInsertOther, 1, 5}},
            {{{kRemoveOther, 1, 0}, {kInsertOther, 2, 20}}, {whole.operation}});
    scenario.variant = kLargeValues;
    scenario.has_cache = false;
  }
}

}  // namespace

void add_tables(Scenarios& all) {
  add_element_pairs(all);
  add_whole(all, "map");
  add_whole(all, "set");
  add_reuses(all);
  add(all, "map.three_ranks", {}, {{kInsert1}, {kInsert1}, {kRemove1}});
  add(all, "map.all_ranks", {}, {{kInsert1, kInsert2}, {kInsert2, kInsert1}})
      .variant = kAllRanks;
  // Ranks that wait for a bucket find that its table is another one.
  add(all, "map.swap.three_ranks", kWith1,
      {{{kSwap, 0, 0}}, {kUpsert1}, {kUpsert1}});
  add(all, "map.threads", kWith1, {{kUpsert1}, {kUpsert1}}).threads = {
      {kUpsert1}};
  add_bypasses(all, "map", kWith1, kUpsert1);
  // The example of docs/testing.md. Its operation has a race.
  add(all, "map.example.swap_values+upsert", {{kInsert, 1, 5}, {kInsert, 2, 6}},
      {{{kSwapValues, 1, 2}}, {kUpsert1}})
      .is_apart = true;
}

}  // namespace explore
