// Operations on two maps, or two sets, whose keys and values are one number
// each, repeated to the size that the variant asks for.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "acp/map.h"
#include "acp/set.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::uint64_t kKey = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kValue = 64;
constexpr std::uint64_t kTarget = 192;
constexpr int kSlots = 2;

struct Maps {
  using Handle = acp_map_t;
  using It = acp_map_it_t;
  static constexpr bool kHasValues = true;
  // NOLINTBEGIN(readability-identifier-naming): called as functions
  static constexpr auto create = acp_create_map;
  static constexpr auto destroy = acp_destroy_map;
  static constexpr auto remove = acp_remove_map;
  static constexpr auto find = acp_find_map;
  static constexpr auto size = acp_size_map;
  static constexpr auto empty = acp_empty_map;
  static constexpr auto clear = acp_clear_map;
  static constexpr auto assign = acp_assign_map;
  static constexpr auto assign_local = acp_assign_local_map;
  static constexpr auto merge = acp_merge_map;
  static constexpr auto move = acp_move_map;
  static constexpr auto swap = acp_swap_map;
  static constexpr auto begin = acp_begin_map;
  static constexpr auto increment = acp_increment_map_it;

  // NOLINTEND(readability-identifier-naming)

  static std::uint64_t insert(Handle map, acp_pair_t pair) {
    return static_cast<std::uint64_t>(acp_insert_map(map, pair));
  }

  static acp_pair_t dereference(It it) { return acp_dereference_map_it(it); }

  static std::uint64_t upsert(Handle map,
                              acp_element_t key,
                              std::uint64_t addend) {
    std::uint64_t old = 0;
    const int result = acpx_upsert_add8_map(map, key, addend, &old);
    return result < 0 ? kFailure : result == 1 ? kNothing : old;
  }

  static std::size_t retrieve(Handle map, acp_pair_t pair) {
    return acp_retrieve_map(map, pair);
  }
};

/// A set is a map without values. An insert does not tell whether the key was
/// there.
struct Sets {
  using Handle = acp_set_t;
  using It = acp_set_it_t;
  static constexpr bool kHasValues = false;
  // NOLINTBEGIN(readability-identifier-naming): called as functions
  static constexpr auto create = acp_create_set;
  static constexpr auto destroy = acp_destroy_set;
  static constexpr auto remove = acp_remove_set;
  static constexpr auto find = acp_find_set;
  static constexpr auto size = acp_size_set;
  static constexpr auto empty = acp_empty_set;
  static constexpr auto clear = acp_clear_set;
  static constexpr auto assign = acp_assign_set;
  static constexpr auto assign_local = acp_assign_local_set;
  static constexpr auto merge = acp_merge_set;
  static constexpr auto move = acp_move_set;
  static constexpr auto swap = acp_swap_set;
  static constexpr auto begin = acp_begin_set;
  static constexpr auto increment = acp_increment_set_it;

  // NOLINTEND(readability-identifier-naming)

  static std::uint64_t insert(Handle set, acp_pair_t pair) {
    return acp_insert_set(set, pair.first) == 1 ? kNothing : kFailure;
  }

  static acp_pair_t dereference(It it) {
    return {acp_dereference_set_it(it), {}};
  }

  static std::uint64_t upsert(Handle, acp_element_t, std::uint64_t) {
    return kFailure;
  }

  static std::size_t retrieve(Handle, acp_pair_t) { return 0; }
};

template <typename Api>
class TableProgram : public Program {
 public:
  /// With kReversed the shares of the second table have the opposite order, so
  /// most keys are on another rank than in the first.
  Handles create(std::uint64_t variant) override {
    const int ranks[] = {0, 1, 2};
    const int reversed[] = {1, 0};
    const bool is_wide = (variant & table::kAllRanks) != 0;
    const int count = is_wide ? acp_procs() : 1;
    Handles handles;
    handles.first = Api::create(count, ranks, kSlots, 0).ga;
    handles.second = (variant & table::kReversed) != 0
                         ? Api::create(2, reversed, kSlots, 0).ga
                         : Api::create(count, ranks, kSlots, 0).ga;
    handles.variant = variant;
    return handles;
  }

  void use(const Handles& handles) override {
    const std::uint64_t variant = handles.variant;
    const bool is_wide = (variant & table::kAllRanks) != 0;
    const bool is_reversed = (variant & table::kReversed) != 0;
    const std::uint64_t count =
        is_wide ? static_cast<std::uint64_t>(acp_procs()) : 1;
    one_ = handle_of(handles.first, count);
    two_ = handle_of(handles.second, is_reversed ? 2 : count);
    key_words_ = (variant & table::kLargeKeys) != 0 ? 5 : 1;
    value_words_ = !Api::kHasValues                       ? 0
                   : (variant & table::kLargeValues) != 0 ? 8
                                                          : 1;
  }

  /// Key and value lie in starter memory, as long as the variant says.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    const acp_element_t key = filled(kKey, key_words_, operation.a);
    const acp_element_t value = filled(kValue, value_words_, operation.b);
    std::uint64_t result = kNothing;
    switch (operation.code) {
      case table::kInsert: result = Api::insert(one_, {key, value}); break;
      case table::kRemove: Api::remove(one_, key); break;
      case table::kFind:
        result = Api::find(one_, key).elem != ACP_GA_NULL ? 1 : 0;
        break;
      case table::kRetrieve: result = retrieve(key); break;
      case table::kUpsert: result = Api::upsert(one_, key, operation.b); break;
      case table::kSize: result = Api::size(one_); break;
      case table::kEmpty: result = Api::empty(one_) != 0 ? 1 : 0; break;
      case table::kClear: Api::clear(one_); break;
      case table::kInsertOther: result = Api::insert(two_, {key, value}); break;
      case table::kRemoveOther: Api::remove(two_, key); break;
      case table::kAssign: Api::assign(one_, two_); break;
      case table::kAssignLocal: Api::assign_local(one_, two_); break;
      case table::kMerge: Api::merge(one_, two_); break;
      case table::kMove: Api::move(one_, two_); break;
      case table::kSwap: Api::swap(one_, two_); break;
      case table::kWalk: result = walk(operation.a); break;
      case table::kDestroy: Api::destroy(one_); break;
      case table::kRecreate: two_ = recreated(); break;
      case table::kSwapValues: swap_values(operation.a, operation.b); break;
      default: return kFailure;
    }
    return unless_failed(result);
  }

  /// The pairs of the first table, or the keys, sorted; kNothing; and those of
  /// the second.
  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    std::size_t count = 0;
    for (const typename Api::Handle& handle : {one_, two_}) {
      const std::size_t first = count;
      for (typename Api::It it = Api::begin(handle);
           it.elem != ACP_GA_NULL && count + 3 <= most;
           it = Api::increment(it)) {
        const acp_pair_t pair = Api::dereference(it);
        to[count++] = read(pair.first, key_words_);
        if (Api::kHasValues) {
          to[count++] = read(pair.second, value_words_);
        }
      }
      sort(to + first, count - first);
      to[count++] = kNothing;
    }
    return count;
  }

  void destroy() override {
    Api::destroy(one_);
    Api::destroy(two_);
  }

 private:
  static typename Api::Handle handle_of(acp_ga_t ga, std::uint64_t ranks) {
    typename Api::Handle handle{};
    handle.ga = ga;
    handle.num_ranks = ranks;
    handle.num_slots = kSlots;
    return handle;
  }

  static acp_element_t filled(std::uint64_t offset,
                              std::size_t words,
                              std::uint64_t number) {
    std::fill_n(own_words(offset), words, number);
    return {own_ga(offset), words * 8};
  }

  std::uint64_t retrieve(acp_element_t key) {
    std::fill_n(own_words(kTarget), value_words_, kFailure);
    const std::size_t bytes =
        Api::retrieve(one_, {key, {own_ga(kTarget), value_words_ * 8}});
    return bytes == 0 ? kNothing : number_at(value_words_);
  }

  /// Walks while others change the table. `wanted` has a bit for each key that
  /// is there all the time: each is met once. Other elements may be removed
  /// before they are read.
  std::uint64_t walk(std::uint64_t wanted) {
    std::uint64_t met = 0;
    for (typename Api::It it = Api::begin(one_); it.elem != ACP_GA_NULL;
         it = Api::increment(it)) {
      const acp_pair_t pair = Api::dereference(it);
      if (pair.first.ga == ACP_GA_NULL) {
        acp_errno = 0;  // removed before it was read
        continue;
      }
      const std::uint64_t key = read(pair.first, key_words_);
      if (key >= 64 || (wanted >> key & 1) == 0) {
        continue;
      }
      if ((met >> key & 1) != 0) {
        return kFailure;
      }
      met |= std::uint64_t{1} << key;
    }
    return met == wanted ? kNothing : kFailure;
  }

  /// Exchanges the values of two keys. Another rank may change a value between
  /// the two halves: that is the race of the example.
  void swap_values(std::uint64_t one, std::uint64_t two) {
    const std::uint64_t old_one = retrieve(filled(kKey, key_words_, one));
    const std::uint64_t old_two = retrieve(filled(kKey, key_words_, two));
    for (const auto& [key, value] :
         {std::pair{one, old_two}, std::pair{two, old_one}}) {
      const acp_element_t at = filled(kKey, key_words_, key);
      Api::remove(one_, at);
      Api::insert(one_, {at, filled(kValue, value_words_, value)});
    }
  }

  /// Destroys the second table and creates another, which may get its memory.
  typename Api::Handle recreated() {
    Api::destroy(two_);
    const int ranks[] = {0};
    return Api::create(1, ranks, kSlots, 0);
  }

  std::uint64_t read(acp_element_t element, std::size_t words) {
    if (element.size != words * 8) {
      return kFailure;
    }
    acp_complete(
        acp_copy(own_ga(kTarget), element.ga, element.size, ACP_HANDLE_NULL));
    return number_at(words);
  }

  /// The number that all words at kTarget have, or kFailure.
  static std::uint64_t number_at(std::size_t words) {
    const std::uint64_t* first = own_words(kTarget);
    return std::all_of(first, first + words,
                       [&](std::uint64_t word) { return word == *first; })
               ? *first
               : kFailure;
  }

  static void sort(std::uint64_t* numbers, std::size_t count) {
    if (!Api::kHasValues) {
      std::sort(numbers, numbers + count);
      return;
    }
    for (std::size_t i = 2; i < count; i += 2) {
      for (std::size_t j = i; j > 0 && numbers[j] < numbers[j - 2]; j -= 2) {
        std::swap(numbers[j], numbers[j - 2]);
        std::swap(numbers[j + 1], numbers[j - 1]);
      }
    }
  }

  typename Api::Handle one_{};
  typename Api::Handle two_{};
  std::size_t key_words_ = 1;
  std::size_t value_words_ = 1;
};

}  // namespace

Program* map_program() {
  static TableProgram<Maps> program;
  return &program;
}

Program* set_program() {
  static TableProgram<Sets> program;
  return &program;
}

}  // namespace explore
