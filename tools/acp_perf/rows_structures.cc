// Rows of data structures on the target, which rank 0 alone uses. Elements,
// keys and values have 8 bytes unless the row says otherwise. Rows compare with
// get8, so over a network the ratio counts round trips. rows.cc lists them, and
// runner.cc runs them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::uint64_t kElements = 20'000;  // Most elements of a structure.

/// Keys of a set or map that is half full: keys 0 to there - 1 are in it. There
/// are fewer over a network, where each insertion takes round trips before the
/// row can begin. There are also fewer in a row that is given little time.
struct Keys {
  std::uint64_t there;

  static Keys of(const Context& context) {
    constexpr std::int64_t kNsPerKey = 1000;
    const auto most = context.is_direct ? kElements / 2 : kElements / 40;
    return {std::clamp<std::uint64_t>(context.time_ns / kNsPerKey, 100, most)};
  }

  int slots() const { return static_cast<int>(2 * there); }

  /// A key that is there; numbers spread over all of these keys.
  std::uint64_t some(std::uint64_t number) const {
    return number * 7919 % there;
  }

  /// A key that is not there.
  std::uint64_t other(std::uint64_t number) const { return 2 * there + number; }
};

/// Memory of the calling rank: source and destination of the operations.
class Source {
 public:
  Source() : ga_(acp_malloc(kBytes, acp_rank())) {}

  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  ~Source() { acp_free(ga_); }

  acp_ga_t ga(std::size_t at = 0) const { return ga_ + at; }

  /// Stores `value` as word `index`, and returns it as an element.
  acp_element_t word(std::size_t index, std::uint64_t value) const {
    std::memcpy(acp_query_address(ga_ + index * 8), &value, 8);
    return {ga_ + index * 8, 8};
  }

 private:
  acp_ga_t ga_;
};

using Operation = std::function<void(const Source&, std::uint64_t)>;

/// Measures `operation`, which gets the number of its call.
Outcome run(Context& context,
            Samples& samples,
            std::size_t count,
            const Operation& operation) {
  const Source source;
  std::uint64_t number = 0;
  acp_errno = 0;
  measure(context.time_ns, count, samples,
          [&] { operation(source, number++); });
  const bool is_good = acp_errno == 0;
  return expect(is_good, "an operation failed");
}

void add_row(Rows& rows,
             const char* name,
             const char* what,
             std::function<Outcome(Context&, Samples&)> function) {
  rows.push_back({.name = name,
                  .what = what,
                  .raw_direct = "get8",
                  .raw_network = "get8",
                  .run = std::move(function)});
}

// ---- Vector and deque -----------------------------------------------------

template <typename Work>
Outcome with_vector(Context& context, const Work& work) {
  const acp_vector_t vector = acp_create_vector(64, context.target);
  acp_reserve_vector(vector, kElements * 8 + 64);
  Outcome outcome = work(vector);
  acp_destroy_vector(vector);
  return outcome;
}

/// The vector has its capacity reserved, so that push_back never reallocates.
void add_vector_rows(Rows& rows) {
  add_row(rows, "vector.push_back", "acp_push_back_vector of 8 bytes",
          [](Context& context, Samples& samples) {
            return with_vector(context, [&](acp_vector_t vector) {
              return run(context, samples, 1,
                         [=](const Source& source, std::uint64_t number) {
                           acp_push_back_vector(vector, source.ga(), 8);
                           if (number % kElements == kElements - 1) {
                             acp_clear_vector(vector);
                           }
                         });
            });
          });
  add_row(rows, "vector.at", "acp_at_vector",
          [](Context& context, Samples& samples) {
            return with_vector(context, [&](acp_vector_t vector) {
              return run(context, samples, 1,
                         [=](const Source&, std::uint64_t) {
                           acp_at_vector(vector, 8);
                         });
            });
          });
}

template <typename Work>
Outcome with_deque(Context& context, const Work& work) {
  const acp_deque_t deque = acp_create_deque(kElements * 8, context.target);
  Outcome outcome = work(deque);
  acp_destroy_deque(deque);
  return outcome;
}

void add_deque_rows(Rows& rows) {
  add_row(rows, "deque.push_take",
          "acp_push_back_deque or acpx_take_front_deque of 8 bytes, in turn",
          [](Context& context, Samples& samples) {
            return with_deque(context, [&](acp_deque_t deque) {
              return run(context, samples, 2,
                         [=](const Source& source, std::uint64_t) {
                           acp_push_back_deque(deque, source.ga(), 8);
                           acpx_take_front_deque(deque, source.ga(8), 8);
                         });
            });
          });
}

// ---- List -----------------------------------------------------------------

template <typename Work>
Outcome with_list(Context& context, const Work& work) {
  const acp_list_t list = acp_create_list(context.target);
  Outcome outcome = work(list);
  acp_destroy_list(list);
  return outcome;
}

/// list.push clears its list now and then, or the target's heap would run out.
void add_list_rows(Rows& rows) {
  add_row(rows, "list.push",
          "acp_push_back_list of 8 bytes; all are cleared at 100,000",
          [](Context& context, Samples& samples) {
            const int rank = context.target;
            return with_list(context, [&](acp_list_t list) {
              return run(context, samples, 1,
                         [=](const Source& source, std::uint64_t number) {
                           acp_push_back_list(list, source.word(0, number),
                                              rank);
                           if (number % 100'000 == 99'999) {
                             acp_clear_list(list);
                           }
                         });
            });
          });
  add_row(rows, "list.push_pop",
          "acp_push_back_list or acp_pop_front_list of 8 bytes, in turn",
          [](Context& context, Samples& samples) {
            const int rank = context.target;
            return with_list(context, [&](acp_list_t list) {
              return run(context, samples, 2,
                         [=](const Source& source, std::uint64_t number) {
                           acp_push_back_list(list, source.word(0, number),
                                              rank);
                           acp_pop_front_list(list);
                         });
            });
          });
  add_row(rows, "list.step", "acp_increment_list_it and dereference",
          [](Context& context, Samples& samples) {
            return with_list(context, [&](acp_list_t list) {
              const Source source;
              for (std::uint64_t i = 0; i < 100; ++i) {
                acp_push_back_list(list, source.word(0, i), context.target);
              }
              acp_list_it_t it = acp_begin_list(list);
              return run(context, samples, 1,
                         [list, it](const Source&, std::uint64_t) mutable {
                           acp_dereference_list_it(it);
                           it = acp_increment_list_it(it);
                           if (it.elem == ACP_GA_NULL) {
                             it = acp_begin_list(list);
                           }
                         });
            });
          });
}

// ---- Map ------------------------------------------------------------------

using MapOperation =
    std::function<void(acp_map_t, const Keys&, const Source&, std::uint64_t)>;

/// Size of the map of a row, and of its values.
struct MapPlan {
  /// Beside a key of 8 bytes the table has room for values of 24 bytes. Larger
  /// values lie outside of the table.
  std::size_t value_bytes = 8;
  /// More slots for a row that only inserts, per millisecond of its time. Over
  /// a network it gets a tenth of them.
  std::int64_t inserts_per_ms = 0;
};

bool fill(acp_map_t map, const Keys& keys, std::size_t value_bytes) {
  const Source source;
  for (std::uint64_t i = 0; i < keys.there; ++i) {
    const acp_element_t key = source.word(0, i);
    const acp_element_t value = {source.word(1, i).ga, value_bytes};
    if (acp_insert_map(map, {key, value}) != 1) {
      return false;
    }
  }
  return true;
}

/// Adds a row with a map on the target that is half full when the row begins.
void add_map_row(Rows& rows,
                 const char* name,
                 const char* what,
                 std::size_t count,
                 MapOperation operation,
                 const MapPlan& plan = {}) {
  add_row(rows, name, what,
          [count, operation, plan](Context& context, Samples& samples) {
            const Keys keys = Keys::of(context);
            const auto more =
                static_cast<int>(context.time_ns * plan.inserts_per_ms /
                                 (context.is_direct ? 1'000'000 : 10'000'000));
            const acp_map_t map =
                acp_create_map(1, &context.target, keys.slots() + more, 0);
            Outcome outcome = expect(fill(map, keys, plan.value_bytes),
                                     "the map could not be filled");
            if (outcome.failure.empty()) {
              outcome = run(context, samples, count,
                            [&](const Source& words, std::uint64_t number) {
                              operation(map, keys, words, number);
                            });
            }
            acp_destroy_map(map);
            return outcome;
          });
}

void find_present(acp_map_t map,
                  const Keys& keys,
                  const Source& source,
                  std::uint64_t number) {
  acp_find_map(map, source.word(0, keys.some(number)));
}

void insert_window(acp_map_t map,
                   const Keys& keys,
                   const Source& source,
                   std::uint64_t number) {
  constexpr std::size_t kPairsAtOnce = 16;
  std::array<acp_pair_t, kPairsAtOnce> pairs{};
  for (std::size_t i = 0; i < kPairsAtOnce; ++i) {
    const std::uint64_t key = keys.other(number * kPairsAtOnce + i);
    pairs[i] = {source.word(2 * i, key), source.word(2 * i + 1, key)};
  }
  acpx_insert_map_n(map, pairs.data(), kPairsAtOnce, nullptr);
}

/// Rows that leave the keys as they are call some(). Rows that insert new keys
/// call other(), and need a plan with more slots unless they remove the keys.
void add_map_rows(Rows& rows) {
  add_map_row(rows, "map.find", "acp_find_map of a key that is there", 1,
              find_present);
  add_map_row(rows, "map.find_large",
              "acp_find_map of a key that is there, values of 128 bytes", 1,
              find_present, {.value_bytes = 128});
  add_map_row(rows, "map.find_miss", "acp_find_map of one that is not", 1,
              [](acp_map_t map, const Keys& keys, const Source& source,
                 std::uint64_t number) {
                acp_find_map(map, source.word(0, keys.other(number)));
              });
  add_map_row(rows, "map.insert_remove",
              "acp_insert_map or acp_remove_map, in turn", 2,
              [](acp_map_t map, const Keys& keys, const Source& source,
                 std::uint64_t number) {
                const acp_element_t key = source.word(0, keys.other(number));
                acp_insert_map(map, {key, source.word(1, number)});
                acp_remove_map(map, key);
              });
  add_map_row(rows, "map.insert_present", "acp_insert_map of a key there", 1,
              [](acp_map_t map, const Keys& keys, const Source& source,
                 std::uint64_t number) {
                const acp_element_t key = source.word(0, keys.some(number));
                acp_insert_map(map, {key, key});
              });
  add_map_row(rows, "map.upsert", "acpx_upsert_add8_map of a key there", 1,
              [](acp_map_t map, const Keys& keys, const Source& source,
                 std::uint64_t number) {
                acpx_upsert_add8_map(map, source.word(0, keys.some(number)), 1,
                                     nullptr);
              });
  add_map_row(rows, "map.insert_n", "one of acpx_insert_map_n of 16", 16,
              insert_window, {.inserts_per_ms = 10'000});
  add_map_row(rows, "map.size", "acp_size_map over one rank", 1,
              [](acp_map_t map, const Keys&, const Source&, std::uint64_t) {
                acp_size_map(map);
              });
}

// ---- Set ------------------------------------------------------------------

/// Adds a row with a set on the target that is half full when the row begins.
void add_set_row(
    Rows& rows,
    const char* name,
    const char* what,
    std::size_t count,
    std::function<void(acp_set_t, const Keys&, const Source&, std::uint64_t)>
        operation) {
  add_row(
      rows, name, what, [count, operation](Context& context, Samples& samples) {
        const Keys keys = Keys::of(context);
        const acp_set_t set =
            acp_create_set(1, &context.target, keys.slots(), 0);
        const Source source;
        for (std::uint64_t i = 0; i < keys.there; ++i) {
          acp_insert_set(set, source.word(0, i));
        }
        Outcome outcome = run(context, samples, count,
                              [&](const Source& words, std::uint64_t number) {
                                operation(set, keys, words, number);
                              });
        acp_destroy_set(set);
        return outcome;
      });
}

void add_set_rows(Rows& rows) {
  add_set_row(rows, "set.find", "acp_find_set of a key that is there", 1,
              [](acp_set_t set, const Keys& keys, const Source& source,
                 std::uint64_t number) {
                acp_find_set(set, source.word(0, keys.some(number)));
              });
  add_set_row(rows, "set.insert_remove",
              "acp_insert_set or acp_remove_set, in turn", 2,
              [](acp_set_t set, const Keys& keys, const Source& source,
                 std::uint64_t number) {
                const acp_element_t key = source.word(0, keys.other(number));
                acp_insert_set(set, key);
                acp_remove_set(set, key);
              });
}

// ---- Workspace ------------------------------------------------------------

constexpr std::size_t kPart = kBytes / 2;
constexpr std::size_t kParts = 16;

/// The parts of the workspace go to the ranks in turn, so that kBytes lie on
/// two ranks when there are two.
acp_wsd_t create_workspace() {
  acp_setparams_ws(0, kPart);
  return acp_create_ws(kParts * kPart);
}

/// Creating and destroying a workspace are collective, so the other ranks take
/// part in the row for these two calls.
void add_workspace_row(Rows& rows,
                       const char* name,
                       const char* what,
                       int (*operation)(acp_wsd_t, acp_ga_t, size_t, size_t)) {
  add_row(rows, name, what, [operation](Context& context, Samples& samples) {
    acp_wsd_t workspace = create_workspace();
    Outcome outcome = run(context, samples, 1,
                          [&](const Source& source, std::uint64_t number) {
                            operation(workspace, source.ga(), kBytes,
                                      number % (kParts - 1) * kPart);
                          });
    acp_destroy_ws(workspace);
    return outcome;
  });
  Row& row = rows.back();
  row.raw_direct = row.raw_network = "get.4K.one";
  row.partners = Partners::kAll;
  row.respond = [](Context&) {
    acp_destroy_ws(create_workspace());
  };
}

/// Adds first the row that the workspace rows compare with: an acp_copy of an
/// equal size.
void add_workspace_rows(Rows& rows) {
  add_row(rows, "get.4K.one", "acp_copy of 4 KiB from the target",
          [](Context& context, Samples& samples) {
            const acp_ga_t there = acp_malloc(kBytes, context.target);
            Outcome outcome = run(
                context, samples, 1, [=](const Source& source, std::uint64_t) {
                  acp_complete(
                      acp_copy(source.ga(), there, kBytes, ACP_HANDLE_NULL));
                });
            acp_free(there);
            return outcome;
          });
  add_workspace_row(rows, "workspace.read",
                    "acp_read_ws of 4 KiB, half of it on the target",
                    [](acp_wsd_t ws, acp_ga_t ga, size_t size, size_t offset) {
                      return acp_read_ws(ws, ga, size, offset);
                    });
  add_workspace_row(rows, "workspace.write",
                    "acp_write_ws of 4 KiB, half of it on the target",
                    [](acp_wsd_t ws, acp_ga_t ga, size_t size, size_t offset) {
                      return acp_write_ws(ws, ga, size, offset);
                    });
}

}  // namespace

void add_structure_rows(Rows& rows) {
  add_vector_rows(rows);
  add_deque_rows(rows);
  add_list_rows(rows);
  add_map_rows(rows);
  add_set_rows(rows);
  add_workspace_rows(rows);
}

}  // namespace acp::perf
