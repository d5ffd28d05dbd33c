// The scenarios of lists.
#include "explore/operations.h"
#include "explore/scenarios.h"

namespace explore {

namespace {

using namespace list;

const Operations kThree = {
    {kPushBack, 1, 0}, {kPushBack, 2, 1}, {kPushBack, 3, 0}};
const Operation kNear{kPushBack, 10, 0};
const Operation kFar{kPushFront, 11, 1};

/// A walk, which has to meet the elements whose bits are set, beside a change.
void add_walk(Scenarios& all,
              const char* name,
              const Operation& change,
              std::uint64_t wanted) {
  add(all, std::string("list.walk+") + name, kThree,
      {{change}, {{kWalk, wanted, 0}}});
}

/// Operations on all elements, and operations that have two lists in use.
void add_whole(Scenarios& all) {
  Operations before = kThree;
  before.push_back({kPushOther, 5, 0});
  before.push_back({kPushOther, 6, 1});
  add_pairs(all, "list.whole", 0, before,
            {{"merge", {kMerge, 0, 0}},
             {"sort", {kSort, 0, 0}},
             {"splice", {kSplice, 0, 0}},
             {"swap", {kSwap, 0, 0}},
             {"assign", {kAssign, 0, 1}},
             {"remove", {kRemove, 2, 0}},
             {"unique", {kUnique, 0, 0}}},
            {{"push_back", kNear},
             {"pop_front", {kPopFront, 0, 0}},
             {"push_other", {kPushOther, 7, 0}}});
  add_pairs(all, "list.whole", 0, before,
            {{"splice", {kSplice, 0, 0}},
             {"swap", {kSwap, 0, 0}},
             {"assign", {kAssign, 0, 1}}},
            {{"splice_back", {kSpliceBack, 0, 0}},
             {"swap_back", {kSwapBack, 0, 0}},
             {"assign_back", {kAssignBack, 0, 2}}});
  add(all, "list.merge+merge_back", before,
      {{{kMerge, 0, 0}}, {{kMergeBack, 0, 0}}});
}

/// Comparators that use lists, and elements whose memory is used again.
void add_attacks(Scenarios& all) {
  const Operation sort_and_push{kSortAndPush, 9, 0};
  const Operation sort_and_push_other{kSortAndPushOther, 9, 0};
  add(all, "list.sort_and_push+push_back", kThree, {{sort_and_push}, {kNear}});
  add(all, "list.sort_and_push_other+push_other", kThree,
      {{sort_and_push_other}, {{kPushOther, 8, 0}}, {kNear}});
  add(all, "list.erase+insert", {{kPushBack, 1, 0}, {kPushBack, 2, 1}},
      {{{kRemember, 0, 0}, {kErase, 0, 0}},
       {{kPushFront, 11, 0}, {kPopBack, 0, 0}}});
  // A thread gets the iterator of an element with another size, which the other
  // thread has made in the memory of the first one. kSize gives it the time: an
  // element whose size is known needs no step.
  Scenario& erased =
      add(all, "list.erased_by_thread", {{kPushBack, 1, 0}},
          {{{kRemember, 0, 0}, {kSize, 0, 0}, {kBytes, 0, 0}}, {}});
  erased.threads = {{{kErase, 0, 0}, {kInsertShort, 4, 0}}};
  erased.has_cache = false;
}

}  // namespace

void add_lists(Scenarios& all) {
  const std::vector<Named> changes = {
      {"push_back", kNear},           {"push_front", kFar},
      {"pop_back", {kPopBack, 0, 0}}, {"pop_front", {kPopFront, 0, 0}},
      {"clear", {kClear, 0, 0}},      {"reverse", {kReverse, 0, 0}}};
  std::vector<Named> others = changes;
  others.push_back({"size", {kSize, 0, 0}});
  add_pairs(all, "list", 0, kThree, changes, others);
  add_pairs(all, "list.empty", 0, {}, changes, others);
  add_walk(all, "push_back", kNear, 0b1110);
  add_walk(all, "push_front", kFar, 0b1110);
  add_walk(all, "pop_back", {kPopBack, 0, 0}, 0b0110);
  add_walk(all, "pop_front", {kPopFront, 0, 0}, 0b1100);
  add_whole(all);
  add_attacks(all);
  add(all, "list.three_ranks", {}, {{kNear}, {kFar}, {{kPopFront, 0, 0}}});
  add(all, "list.threads", {}, {{kNear}, {{kPopFront, 0, 0}}}).threads = {
      {kFar}};
  add_bypasses(all, "list", {}, kNear);
}

}  // namespace explore
