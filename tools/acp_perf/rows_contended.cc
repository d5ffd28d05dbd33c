// Rows of one data structure on the target that all ranks change at once. Each
// rank begins its next operation when the last one is over. Three rows for each
// structure: operations of all ranks, the largest share by the smallest, and
// the longest operation. rows.cc lists them, and runner.cc runs them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

/// Memory of the calling rank: two words as source, two as destination.
class Desk {
 public:
  Desk() : ga_(acp_malloc(64, acp_rank())) {
    std::memset(acp_query_address(ga_), 0, 64);
  }

  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  ~Desk() { acp_free(ga_); }

  acp_element_t word(std::size_t index) const { return {ga_ + index * 8, 8}; }

 private:
  acp_ga_t ga_;
};

acp_map_t map_at(acp_ga_t handle) {
  acp_map_t map{};
  map.ga = handle;
  return map;
}

/// One kind of structure. Handles are addresses.
struct Kind {
  const char* name;
  const char* what;
  std::function<acp_ga_t(int target)> create;
  /// Operation `number` of the calling rank. Even ones add what the next odd
  /// one takes.
  std::function<void(acp_ga_t, const Desk&, std::uint64_t number)> change;
  std::function<void(acp_ga_t)> destroy;
};

/// The figures of all ranks together.
struct Sum {
  std::uint64_t operations = 0;
  std::uint64_t most = 0;   ///< Operations of one rank.
  std::uint64_t least = 0;  ///< Operations of one rank.
  std::uint64_t longest_ns = 0;
};

/// Changes the structure for the time of the row, and publishes this rank's
/// figures.
void change_for_a_while(const Context& context, const Kind& kind) {
  const acp_ga_t handle = *context.memory.own_word(Word::kCount);
  const Desk desk;
  acp_sync();
  std::uint64_t operations = 0;
  std::int64_t longest = 0;
  std::int64_t now = now_ns();
  const std::int64_t end = now + context.time_ns;
  while (now < end || operations % 2 != 0) {
    kind.change(handle, desk, operations++);
    const std::int64_t after = now_ns();
    longest = std::max(longest, after - now);
    now = after;
  }
  *context.memory.own_word(Word::kPhase) = operations;
  *context.memory.own_word(Word::kResultOther) =
      static_cast<std::uint64_t>(longest);
  acp_sync();
}

/// Runs on rank 0. The structure is destroyed before the figures are read,
/// which no rank changes any more.
Sum lead(const Context& context, const Kind& kind) {
  const acp_ga_t handle = kind.create(context.target);
  for (int rank = 0; rank < context.procs; ++rank) {
    context.memory.put_word(rank, Word::kCount, handle);
  }
  acp_sync();
  change_for_a_while(context, kind);
  kind.destroy(handle);
  Sum sum;
  sum.least = ~std::uint64_t{0};
  for (int rank = 0; rank < context.procs; ++rank) {
    const std::uint64_t mine = context.memory.get_word(rank, Word::kPhase);
    sum.operations += mine;
    sum.most = std::max(sum.most, mine);
    sum.least = std::min(sum.least, mine);
    sum.longest_ns = std::max(
        sum.longest_ns, context.memory.get_word(rank, Word::kResultOther));
  }
  return sum;
}

using Figure = std::function<bool(const Context&, const Sum&, Samples&)>;

/// Each row measures by itself, so any of them can be chosen alone.
void add_row(Rows& rows,
             const std::shared_ptr<const Kind>& kind,
             const char* suffix,
             const std::string& what,
             Unit unit,
             const Figure& figure) {
  rows.push_back({.name = std::string("contended.") + kind->name + suffix,
                  .what = what,
                  .unit = unit,
                  .needs = Needs::kPeer,
                  .partners = Partners::kAll,
                  .run =
                      [kind, figure](Context& context, Samples& samples) {
                        acp_errno = 0;
                        const Sum sum = lead(context, *kind);
                        const bool is_good = acp_errno == 0;
                        figure(context, sum, samples);
                        return expect(is_good, "an operation failed");
                      },
                  .respond =
                      [kind](Context& context) {
                        acp_sync();
                        change_for_a_while(context, *kind);
                      }});
}

/// The three rows of a structure differ in the figure that they show.
void add_kind(Rows& rows, Kind all_of_it) {
  const auto kind = std::make_shared<const Kind>(std::move(all_of_it));
  add_row(rows, kind, "", std::string(kind->what) + ": operations of all ranks",
          Unit::kRate,
          [](const Context& context, const Sum& sum, Samples& samples) {
            return samples.add(static_cast<double>(context.time_ns),
                               sum.operations);
          });
  add_row(rows, kind, ".share",
          std::string(kind->what) + ": largest share by smallest", Unit::kTimes,
          [](const Context&, const Sum& sum, Samples& samples) {
            return samples.add(
                static_cast<double>(sum.most) /
                    static_cast<double>(std::max<std::uint64_t>(sum.least, 1)),
                1);
          });
  add_row(rows, kind, ".longest",
          std::string(kind->what) + ": the longest operation", Unit::kTime,
          [](const Context&, const Sum& sum, Samples& samples) {
            return samples.add(static_cast<double>(sum.longest_ns), 1);
          });
}

}  // namespace

/// Operations come in pairs, so that a structure has at most one element for
/// each rank, and all operations take equally long.
void add_contended_rows(Rows& rows) {
  add_kind(rows, {"list", "all push to one list, and pop, in turn",
                  [](int target) { return acp_create_list(target).ga; },
                  [](acp_ga_t handle, const Desk& desk, std::uint64_t number) {
                    if (number % 2 == 0) {
                      acp_push_back_list({handle}, desk.word(0), acp_rank());
                    } else {
                      acp_pop_front_list({handle});
                    }
                  },
                  [](acp_ga_t handle) {
                    acp_destroy_list({handle});
                  }});
  add_kind(rows, {"deque", "all push to one deque, and take, in turn",
                  [](int target) { return acp_create_deque(4096, target).ga; },
                  [](acp_ga_t handle, const Desk& desk, std::uint64_t number) {
                    if (number % 2 == 0) {
                      acp_push_back_deque({handle}, desk.word(0).ga, 8);
                    } else {
                      acpx_take_front_deque({handle}, desk.word(2).ga, 8);
                    }
                  },
                  [](acp_ga_t handle) {
                    acp_destroy_deque({handle});
                  }});
  add_kind(rows, {"vector", "all push to one vector, and pop, in turn",
                  [](int target) { return acp_create_vector(64, target).ga; },
                  [](acp_ga_t handle, const Desk& desk, std::uint64_t number) {
                    if (number % 2 == 0) {
                      acp_push_back_vector({handle}, desk.word(0).ga, 8);
                    } else {
                      acp_pop_back_vector({handle}, 8);
                    }
                  },
                  [](acp_ga_t handle) {
                    acp_destroy_vector({handle});
                  }});
  add_kind(rows,
           {"map", "all add to the value of one key",
            [](int target) { return acp_create_map(1, &target, 1, target).ga; },
            [](acp_ga_t handle, const Desk& desk, std::uint64_t) {
              acpx_upsert_add8_map(map_at(handle), desk.word(0), 1, nullptr);
            },
            [](acp_ga_t handle) {
              acp_destroy_map(map_at(handle));
            }});
}

}  // namespace acp::perf
