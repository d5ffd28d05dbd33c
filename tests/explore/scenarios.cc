// The scenarios: pairs of operations on each structure, and some triples.
#include <utility>

#include "explore/operations.h"
#include "explore/scenario.h"

namespace explore {

namespace {

/// An operation, by a name for the scenario.
struct Named {
  const char* name;
  Operation operation;
};

/// A scenario for each pair, also of an operation with itself.
void add_pairs(std::vector<Scenario>& all,
               const std::string& structure,
               const std::string& prefix,
               std::uint64_t variant,
               const std::vector<Operation>& before,
               const std::vector<Named>& first,
               const std::vector<Named>& second) {
  for (const Named& a : first) {
    for (const Named& b : second) {
      Scenario scenario;
      scenario.name = prefix + "." + a.name + "+" + b.name;
      scenario.structure = structure;
      scenario.variant = variant;
      scenario.before = before;
      scenario.programs = {{a.operation}, {b.operation}};
      all.push_back(scenario);
    }
  }
}

void add_deques(std::vector<Scenario>& all) {
  const std::vector<Operation> before = {{deque::kPushBack, 1, 0},
                                         {deque::kPushBack, 2, 0}};
  const std::vector<Named> changes = {
      {"push_back", {deque::kPushBack, 10, 0}},
      {"push_front", {deque::kPushFront, 11, 0}},
      {"pop_back", {deque::kPopBack, 0, 0}},
      {"take_front", {deque::kTakeFront, 0, 0}},
      {"take_back", {deque::kTakeBack, 0, 0}},
      {"insert", {deque::kInsert, 12, 1}},
      {"clear", {deque::kClear, 0, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"size", {deque::kSize, 0, 0}});
  others.push_back({"reserve", {deque::kReserve, 100, 0}});
  add_pairs(all, "deque", "deque", 0, before, changes, others);
}

void add_maps(std::vector<Scenario>& all) {
  const std::vector<Named> changes = {{"insert", {map::kInsert, 1, 10}},
                                      {"remove", {map::kRemove, 1, 0}},
                                      {"upsert", {map::kUpsert, 1, 1}}};
  std::vector<Named> others = changes;
  others.push_back({"find", {map::kFind, 1, 0}});
  others.push_back({"retrieve", {map::kRetrieve, 1, 0}});
  others.push_back({"insert2", {map::kInsert, 2, 20}});
  others.push_back({"clear", {map::kClear, 0, 0}});
  const std::vector<Operation> with = {{map::kInsert, 1, 5}};
  add_pairs(all, "map", "map.absent", 0, {}, changes, others);
  add_pairs(all, "map", "map.present", 0, with, changes, others);
  add_pairs(all, "map", "map.large_keys", map::kLargeKeys, with, changes,
            others);
}

/// The pairs of maps that sets have, too.
void add_sets(std::vector<Scenario>& all) {
  const std::vector<Named> changes = {{"insert", {map::kInsert, 1, 0}},
                                      {"remove", {map::kRemove, 1, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"find", {map::kFind, 1, 0}});
  others.push_back({"insert2", {map::kInsert, 2, 0}});
  const std::vector<Operation> with = {{map::kInsert, 1, 0}};
  add_pairs(all, "set", "set.absent", 0, {}, changes, others);
  add_pairs(all, "set", "set.present", 0, with, changes, others);
  add_pairs(all, "set", "set.large_keys", map::kLargeKeys, with, changes,
            others);
}

/// Both ranks use a word of each rank, so no order of their writes is hidden.
void add_workspaces(std::vector<Scenario>& all) {
  const Operation write{workspace::kWrite, 0, 1};
  const Operation write_far{workspace::kWrite, workspace::word_number(1), 2};
  const Operation read{workspace::kRead, 0, 0};
  const Operation read_far{workspace::kRead, workspace::word_number(1), 0};
  const std::vector<Operation> zeros = {
      {workspace::kWrite, 0, 0},
      {workspace::kWrite, workspace::word_number(1), 0}};
  const auto add = [&](const char* name,
                       std::vector<std::vector<Operation>> programs) {
    Scenario scenario;
    scenario.name = std::string("workspace.") + name;
    scenario.structure = "workspace";
    scenario.before = zeros;
    scenario.programs = std::move(programs);
    all.push_back(scenario);
  };
  add("write+read", {{write, write_far}, {read_far, read}});
  add("write+write", {{write, read_far}, {write_far, read}});
}

void add_vectors(std::vector<Scenario>& all) {
  const std::vector<Operation> before = {{vector::kPushBack, 1, 0},
                                         {vector::kPushBack, 2, 0}};
  // A body of 64 bytes has room for four elements: the last one grows it.
  std::vector<Operation> full = before;
  full.push_back({vector::kPushBack, 3, 0});
  full.push_back({vector::kPushBack, 4, 0});
  const std::vector<Named> changes = {{"push_back", {vector::kPushBack, 10, 0}},
                                      {"pop_back", {vector::kPopBack, 0, 0}},
                                      {"insert", {vector::kInsert, 12, 1}},
                                      {"clear", {vector::kClear, 0, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"push_back2", {vector::kPushBack, 11, 0}});
  others.push_back({"size", {vector::kSize, 0, 0}});
  others.push_back({"reserve", {vector::kReserve, 100, 0}});
  add_pairs(all, "vector", "vector", 0, before, changes, others);
  add_pairs(all, "vector", "vector.full", 0, full, changes, others);
}

/// Pairs on a list, walks beside changes, and merges of two lists in both
/// directions.
void add_lists(std::vector<Scenario>& all) {
  const std::vector<Operation> before = {{list::kPushBack, 1, 0},
                                         {list::kPushBack, 2, 1},
                                         {list::kPushBack, 3, 0}};
  const std::vector<Named> changes = {{"push_back", {list::kPushBack, 10, 0}},
                                      {"push_front", {list::kPushFront, 11, 1}},
                                      {"pop_back", {list::kPopBack, 0, 0}},
                                      {"pop_front", {list::kPopFront, 0, 0}},
                                      {"clear", {list::kClear, 0, 0}},
                                      {"reverse", {list::kReverse, 0, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"size", {list::kSize, 0, 0}});
  add_pairs(all, "list", "list", 0, before, changes, others);
  add_pairs(all, "list", "list.empty", 0, {}, changes, others);
  const auto beside_walk = [&](const char* name, Operation operation,
                               std::uint64_t wanted) {
    Scenario scenario;
    scenario.name = std::string("list.walk+") + name;
    scenario.structure = "list";
    scenario.before = before;
    scenario.programs = {{operation}, {{list::kWalk, wanted, 0}}};
    all.push_back(scenario);
  };
  beside_walk("push_back", {list::kPushBack, 10, 0}, 0b1110);
  beside_walk("push_front", {list::kPushFront, 11, 1}, 0b1110);
  beside_walk("pop_back", {list::kPopBack, 0, 0}, 0b0110);
  beside_walk("pop_front", {list::kPopFront, 0, 0}, 0b1100);
  Scenario merges;
  merges.name = "list.merge+merge_back";
  merges.structure = "list";
  merges.before = before;
  merges.before.push_back({list::kPushOther, 5, 0});
  merges.before.push_back({list::kPushOther, 6, 1});
  merges.programs = {{{list::kMerge, 0, 0}}, {{list::kMergeBack, 0, 0}}};
  all.push_back(merges);
}

/// Three ranks, and programs of two operations: waiters behind a front, and
/// memory that is used again.
void add_longer(std::vector<Scenario>& all) {
  const auto add = [&](const char* name, const char* structure,
                       std::uint64_t variant, std::vector<Operation> before,
                       std::vector<std::vector<Operation>> programs,
                       bool has_cache = true) {
    Scenario scenario;
    scenario.has_cache = has_cache;
    scenario.name = name;
    scenario.structure = structure;
    scenario.variant = variant;
    scenario.before = std::move(before);
    scenario.programs = std::move(programs);
    all.push_back(scenario);
  };
  const Operation push{deque::kPushBack, 10, 0};
  const Operation take{deque::kTakeFront, 0, 0};
  const std::vector<Operation> full = {{deque::kPushBack, 1, 0},
                                       {deque::kPushBack, 2, 0},
                                       {deque::kPushBack, 3, 0},
                                       {deque::kPushBack, 4, 0}};
  add("deque.three_ranks", "deque", 0, {}, {{push}, {push}, {take}});
  add("deque.twice", "deque", 0, {}, {{push, take}, {push, take}});
  add("deque.three_twice", "deque", 0, {},
      {{push, push}, {push, push}, {push}});
  // The body is moved to its middle, and the offset of the first byte changes.
  std::vector<Operation> late = full;
  late.insert(late.end(), 3, take);
  add("deque.move+first", "deque", 0, late, {{push}, {{deque::kFirst, 0, 0}}});

  const Operation insert{map::kInsert, 1, 10};
  const Operation other{map::kInsert, 2, 20};
  const Operation remove{map::kRemove, 1, 0};
  const Operation retrieve{map::kRetrieve, 1, 0};
  const std::vector<Operation> with = {{map::kInsert, 1, 5}};
  add("map.three_ranks", "map", 0, {}, {{insert}, {insert}, {remove}});
  add("map.all_ranks", "map", map::kAllRanks, {},
      {{insert, other}, {other, insert}});
  add("map.reuse+retrieve", "map", 0, with, {{remove, other}, {retrieve}});
  add("map.reuse+retrieve2", "map", 0, with,
      {{remove, other}, {{map::kRetrieve, 2, 0}}});
  // Without a cache, the block that was freed is the next that is allocated.
  add("map.reuse_keys+retrieve", "map", map::kLargeKeys, with,
      {{remove, other}, {retrieve}}, false);
  add("map.reuse_values+retrieve", "map", map::kLargeValues, with,
      {{remove, other}, {retrieve}}, false);
  add("map.again+retrieve", "map", map::kLargeValues, with,
      {{remove, insert}, {retrieve}}, false);

  const Operation append{vector::kPushBack, 10, 0};
  add("vector.three_ranks", "vector", 0, {}, {{append}, {append}, {append}});
  add("vector.three_changes", "vector", 0, {{vector::kPushBack, 1, 0}},
      {{append}, {{vector::kPopBack, 0, 0}}, {{vector::kInsert, 12, 0}}});
  add("vector.twice", "vector", 0, {}, {{append, append}, {append, append}});

  const Operation near{list::kPushBack, 10, 0};
  const Operation far{list::kPushFront, 11, 1};
  add("list.three_ranks", "list", 0, {},
      {{near}, {far}, {{list::kPopFront, 0, 0}}});
  add("list.erase+insert", "list", 0,
      {{list::kPushBack, 1, 0}, {list::kPushBack, 2, 1}},
      {{{list::kRemember, 0, 0}, {list::kErase, 0, 0}},
       {{list::kPushFront, 11, 0}, {list::kPopBack, 0, 0}}});
}

/// A rank takes a lock again and again, and others wait for it. Fairness
/// (fairness.h) bounds how often it passes them.
void add_bypasses(std::vector<Scenario>& all) {
  const auto add = [&](const std::string& name, const std::string& structure,
                       std::vector<Operation> before,
                       std::vector<std::vector<Operation>> programs) {
    Scenario scenario;
    scenario.name = structure + ".bypass" + name;
    scenario.structure = structure;
    scenario.before = std::move(before);
    scenario.programs = std::move(programs);
    all.push_back(scenario);
  };
  const auto add_both = [&](const std::string& structure,
                            const std::vector<Operation>& before,
                            const Operation& one) {
    add("", structure, before, {{one, one, one}, {one}});
    add(".three_ranks", structure, before, {{one, one, one}, {one}, {one}});
  };
  add_both("deque", {}, {deque::kPushBack, 10, 0});
  add_both("list", {}, {list::kPushBack, 10, 0});
  add_both("map", {{map::kInsert, 1, 5}}, {map::kUpsert, 1, 1});
  const std::vector<Operation> two = {{vector::kPushBack, 1, 0},
                                      {vector::kPushBack, 2, 0}};
  const Operation insert{vector::kInsert, 12, 0};
  add_both("vector", two, insert);
  add(".pushes", "vector", two,
      {{insert, insert}, {{vector::kPushBack, 10, 0}}, {insert, insert}});
}

void add_heaps(std::vector<Scenario>& all) {
  constexpr std::uint64_t kSmall = 64;
  constexpr std::uint64_t kHalfSpan = 8192;  // two blocks of a span
  constexpr std::uint64_t kRun = 40'000;     // pages of a chunk
  constexpr std::uint64_t kLarge = 150'000;  // more than two chunks
  const auto add = [&](const char* name, const std::vector<Operation>& before,
                       const std::vector<std::vector<Operation>>& programs) {
    for (const bool has_cache : {false, true}) {
      Scenario scenario;
      scenario.name =
          std::string("malloc.") + name + (has_cache ? ".cache" : "");
      scenario.structure = "malloc";
      scenario.before = before;
      scenario.programs = programs;
      scenario.has_cache = has_cache;
      scenario.is_warm = false;
      all.push_back(scenario);
    }
  };
  for (const auto& [name, bytes] :
       {std::pair{"small", kSmall}, std::pair{"half_span", kHalfSpan},
        std::pair{"run", kRun}, std::pair{"large", kLarge}}) {
    const Operation allocate{heap::kAllocate, bytes, 0};
    const std::string text = name;
    add((text + ".allocate+allocate").c_str(), {}, {{allocate}, {allocate}});
    add((text + ".free+allocate").c_str(), {allocate},
        {{{heap::kFree, 0, 0}}, {allocate}});
    add((text + ".free+free").c_str(), {allocate, allocate},
        {{{heap::kFree, 0, 0}}, {{heap::kFree, 1, 0}}});
    add((text + ".free+allocate_last").c_str(), {allocate, allocate},
        {{{heap::kFree, 0, 0}, allocate}, {{heap::kFree, 1, 0}, allocate}});
  }
  // Spans of two blocks: a full span that is listed, and a span that is not.
  const Operation half{heap::kAllocate, kHalfSpan, 0};
  add("full_span.free+allocate", {half, half}, {{{heap::kFree, 0, 0}}, {half}});
  add("unlisted_span.free+free", {half, half, half},
      {{{heap::kFree, 0, 0}}, {{heap::kFree, 1, 0}}});
  add("unlisted_span.free+allocate", {half, half, half},
      {{{heap::kFree, 0, 0}, {heap::kFree, 1, 0}}, {half, half}});
  // The first span of a list is taken off and put back while another rank takes
  // it off.
  add("list_head_returns", {half, half, half, half},
      {{{heap::kFree, 0, 0}, half, {heap::kFree, 1, 0}}, {half, half}});
  // All chunks but one are in use, and the last chunk has a span whose blocks
  // are free. Rank 0 needs its pages, and rank 1 remembers the span: one of
  // both gets them. A cache would keep them from rank 0.
  add("sweep+allocate", {{heap::kAllocate, 917'000, 0}},
      {{{heap::kAllocateLast, 60'000, 0}},
       {{heap::kAllocateLast, kHalfSpan, 0}}});
  all.pop_back();
  all.back().before1 = {half, {heap::kFree, 0, 1}};
  add("mixed.run+small", {},
      {{{heap::kAllocate, kRun, 0}}, {{heap::kAllocate, kSmall, 0}}});
  add("mixed.large+run", {{heap::kAllocate, kRun, 0}},
      {{{heap::kAllocate, kLarge, 0}}, {{heap::kFree, 0, 0}}});
}

void add_channels(std::vector<Scenario>& all) {
  const auto add = [&](const char* name, std::vector<Operation> sender,
                       std::vector<Operation> receiver) {
    Scenario scenario;
    scenario.name = std::string("channel.") + name;
    scenario.structure = "channel";
    scenario.programs = {std::move(sender), std::move(receiver)};
    scenario.is_direct = true;
    all.push_back(scenario);
  };
  const Operation send{channel::kSend, 1, 1};
  const Operation send2{channel::kSend, 2, 1};
  const Operation receive{channel::kReceive, 0, 1};
  const Operation free{channel::kFree, 0, 0};
  add("one", {send, free}, {receive, free});
  add("two", {send, send2, free}, {receive, receive, free});
  // Larger than the ring: the receiver fetches it, or grants its memory.
  const Operation large{channel::kSend, 3, 1024};
  const Operation receive_large{channel::kReceive, 0, 1024};
  add("large", {large, free}, {receive_large, free});
  add("mixed", {send, large, free}, {receive, receive_large, free});
}

}  // namespace

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  add_deques(all);
  add_maps(all);
  add_sets(all);
  add_workspaces(all);
  add_vectors(all);
  add_lists(all);
  add_longer(all);
  add_bypasses(all);
  add_heaps(all);
  add_channels(all);
  return all;
}

}  // namespace explore
