// Three ranks with three operations each, for runs of hours: docs/testing.md.
#include "explore/operations.h"
#include "explore/scenarios.h"

namespace explore {

void add_long_ones(Scenarios& all) {
  const auto add_long = [&](const char* name, const Operations& before,
                            const Operations& one, const Operations& two,
                            const Operations& three) {
    add(all, name, before, {one, two, three}).is_apart = true;
  };
  {
    using namespace sequence;
    const Operation push{kPushBack, 10, 0};
    const Operation take{kTakeFront, 0, 0};
    const Operation pop{kPopBack, 0, 0};
    const Operation insert{kInsert, 12, 0};
    const Operation size{kSize, 0, 0};
    add_long("deque.long", {}, {push, take, push},
             {push, {kTakeBack, 0, 0}, take},
             {{kPushFront, 11, 0}, size, take});
    add_long("vector.long", {{kPushBack, 1, 0}}, {push, push, pop},
             {push, insert, push}, {pop, push, size});
  }
  {
    using namespace list;
    const Operation push{kPushBack, 10, 0};
    const Operation pop{kPopFront, 0, 0};
    add_long("list.long", {}, {push, pop, push},
             {{kPushFront, 11, 1}, pop, pop},
             {push, {kReverse, 0, 0}, {kSize, 0, 0}});
  }
  {
    using namespace table;
    const Operation insert{kInsert, 1, 10};
    const Operation insert2{kInsert, 2, 20};
    const Operation remove{kRemove, 1, 0};
    const Operation upsert{kUpsert, 1, 1};
    add_long("map.long", {}, {insert, remove, upsert},
             {upsert, insert2, remove}, {{kRetrieve, 1, 0}, upsert, insert});
  }
  {
    using namespace heap;
    const Operation half{kAllocate, 8192, 0};
    add_long("malloc.long", {half, half, half},
             {{kFree, 0, 0}, half, {kFree, 1, 0}}, {half, half, half},
             {{kFree, 2, 0}, half, half});
    all.back().has_cache = all.back().is_warm = false;
  }
}

}  // namespace explore
