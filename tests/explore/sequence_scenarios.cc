// The scenarios of deques and vectors.
#include "explore/operations.h"
#include "explore/scenarios.h"

namespace explore {

namespace {

using namespace sequence;

const Operations kTwo = {{kPushBack, 1, 0}, {kPushBack, 2, 0}};
/// A body of 64 bytes has room for four elements: the next one grows it.
const Operations kFull = {
    {kPushBack, 1, 0}, {kPushBack, 2, 0}, {kPushBack, 3, 0}, {kPushBack, 4, 0}};
const Operation kPush{kPushBack, 10, 0};
const Operation kTake{kTakeFront, 0, 0};
const Operation kPop{kPopBack, 0, 0};
const Operation kInsertFirst{kInsert, 12, 0};

Operations joined(Operations first, const Operations& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void add_deque_pairs(Scenarios& all) {
  const std::vector<Named> changes = {{"push_back", kPush},
                                      {"push_front", {kPushFront, 11, 0}},
                                      {"pop_back", kPop},
                                      {"take_front", kTake},
                                      {"take_back", {kTakeBack, 0, 0}},
                                      {"insert", {kInsert, 12, 1}},
                                      {"clear", {kClear, 0, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"size", {kSize, 0, 0}});
  others.push_back({"reserve", {kReserve, 100, 0}});
  add_pairs(all, "deque", 0, kTwo, changes, others);
  // Reads, also while the body grows. The bytes of an element stay where they
  // were, until the next growth.
  const std::vector<Named> reads = {{"empty", {kEmpty, 0, 0}},
                                    {"capacity", {kCapacity, 4, 0}},
                                    {"first", {kAt, 0, 0}},
                                    {"second", {kAt, 1, 0}}};
  const std::vector<Named> beside = {{"push_back", kPush},
                                     {"push_front", {kPushFront, 11, 0}},
                                     {"pop_front", {kPopFront, 0, 0}},
                                     {"take_back", {kTakeBack, 0, 0}},
                                     {"reserve", {kReserve, 100, 0}}};
  add_pairs(all, "deque.full", 0, kFull, beside, reads);
}

void add_vector_pairs(Scenarios& all) {
  const std::vector<Named> changes = {{"push_back", kPush},
                                      {"pop_back", kPop},
                                      {"insert", {kInsert, 12, 1}},
                                      {"clear", {kClear, 0, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"push_back2", {kPushBack, 11, 0}});
  others.push_back({"size", {kSize, 0, 0}});
  others.push_back({"reserve", {kReserve, 100, 0}});
  add_pairs(all, "vector", 0, kTwo, changes, others);
  add_pairs(all, "vector.full", 0, kFull, changes, others);
}

/// Operations that have two structures in use.
void add_both(Scenarios& all, const std::string& structure) {
  const Operations before =
      joined(kTwo, {{kPushOther, 5, 0}, {kPushOther, 6, 0}});
  add_pairs(all, structure + ".both", 0, before,
            {{"assign", {kAssign, 0, 1}}, {"swap", {kSwap, 0, 0}}},
            {{"push_back", kPush},
             {"pop_back", kPop},
             {"push_other", {kPushOther, 11, 0}},
             {"assign_back", {kAssignBack, 0, 2}},
             {"swap_back", {kSwapBack, 0, 0}},
             {"size", {kSize, 0, 0}}});
}

/// Adds what programs may not do, and what fails.
void add_wrong(Scenarios& all, const std::string& structure) {
  const auto named = [&](const char* name) {
    return structure + "." + name;
  };
  const Operation destroy{kDestroy, 0, 0};
  const Operation gone{kPushGone, 9, 0};
  add(all, named("reused"), {}, {{kPush, kInsertFirst}, {gone}}).variant =
      kReused;
  add(all, named("destroy+push_back"), {}, {{destroy}, {kPush}});
  add(all, named("destroy.three_ranks"), {},
      {{kInsertFirst, destroy}, {kPush}, {kPush}});
  const Operation other{kPushAsOther, 9, 0};
  add(all, named("other_kind+push_back"), {}, {{kPush, kPop}, {other}});
  add(all, named("other_kind.three_ranks"), {}, {{kPush}, {kPush}, {other}});
  add(all, named("from_nowhere+insert"), kTwo,
      {{kInsertFirst, kPop}, {{kPushNowhere, 0, 0}}});
  const Operations no_memory = joined(kFull, {{kFillHeap, 0, 0}});
  add(all, named("no_memory.push_back+push_back"), no_memory,
      {{kPush}, {kPush}});
  add(all, named("no_memory.push_back+pop_back"), no_memory, {{kPush}, {kPop}});
  for (auto last = all.end() - 2; last != all.end(); ++last) {
    last->has_cache = last->is_warm = false;
  }
  // An address that was read before a growth names old bytes, and no new block.
  add(all, named("growth+first"), kFull,
      {{kPush, {kPushOther, 5, 0}}, {{kAt, 0, 0}}})
      .has_cache = false;
  // The source of a push is in the body of before the last growth, and this
  // push grows the body again.
  add(all, named("own_source+push_other"),
      joined(joined(kFull, {{kRemember, 0, 0}}), kFull),
      {{{kPushKept, 0, 0}}, {{kPushOther, 5, 0}}})
      .has_cache = false;
}

}  // namespace

void add_sequences(Scenarios& all) {
  add_deque_pairs(all);
  add(all, "deque.three_ranks", {}, {{kPush}, {kPush}, {kTake}});
  add(all, "deque.twice", {}, {{kPush, kTake}, {kPush, kTake}});
  add(all, "deque.three_twice", {}, {{kPush, kPush}, {kPush, kPush}, {kPush}});
  // The body is moved to its middle, and the offset of the first byte changes.
  add(all, "deque.move+first", joined(kFull, {kTake, kTake, kTake}),
      {{kPush}, {{kAt, 0, 0}}});
  add(all, "deque.threads", {}, {{kPush}, {kTake}}).threads = {{kPush}};
  add_bypasses(all, "deque", {}, kPush);
  add_both(all, "deque");
  add_wrong(all, "deque");

  add_vector_pairs(all);
  add(all, "vector.three_ranks", {}, {{kPush}, {kPush}, {kPush}});
  add(all, "vector.three_changes", {{kPushBack, 1, 0}},
      {{kPush}, {kPop}, {kInsertFirst}});
  add(all, "vector.twice", {}, {{kPush, kPush}, {kPush, kPush}});
  add(all, "vector.threads", {}, {{kPush}, {kInsertFirst}}).threads = {
      {kInsertFirst}};
  add_bypasses(all, "vector", kTwo, kInsertFirst);
  add(all, "vector.bypass.pushes", kTwo,
      {{kInsertFirst, kInsertFirst}, {kPush}, {kInsertFirst, kInsertFirst}});
  add_both(all, "vector");
  add_wrong(all, "vector");
}

}  // namespace explore
