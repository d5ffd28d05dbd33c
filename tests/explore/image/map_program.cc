// Operations on a map whose keys and values are one number each, repeated to
// the size that the variant asks for.
#include <algorithm>

#include "acp/map.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::uint64_t kKey = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kValue = 64;
constexpr std::uint64_t kTarget = 192;

class MapProgram : public Program {
 public:
  Handles create(std::uint64_t variant) override {
    const int ranks[] = {0, 1, 2};
    const bool is_wide = (variant & map::kAllRanks) != 0;
    return {acp_create_map(is_wide ? acp_procs() : 1, ranks, 2, 0).ga, variant};
  }

  void use(const Handles& handles) override {
    const std::uint64_t variant = handles.second;
    map_.ga = handles.first;
    map_.num_ranks = (variant & map::kAllRanks) != 0
                         ? static_cast<std::uint64_t>(acp_procs())
                         : 1;
    map_.num_slots = 2;
    key_words_ = (variant & map::kLargeKeys) != 0 ? 5 : 1;
    value_words_ = (variant & map::kLargeValues) != 0 ? 8 : 1;
  }

  /// Key and value lie in starter memory, as long as the variant says.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    const acp_element_t key = filled(kKey, key_words_, operation.a);
    switch (operation.code) {
      case map::kInsert: {
        const acp_element_t value = filled(kValue, value_words_, operation.b);
        const int result = acp_insert_map(map_, {key, value});
        return unless_failed(static_cast<std::uint64_t>(result));
      }
      case map::kRemove:
        acp_remove_map(map_, key);
        return unless_failed(kNothing);
      case map::kFind:
        return unless_failed(acp_find_map(map_, key).elem != ACP_GA_NULL ? 1
                                                                         : 0);
      case map::kRetrieve: return retrieve(key);
      case map::kUpsert: {
        std::uint64_t old = 0;
        const int result = acpx_upsert_add8_map(map_, key, operation.b, &old);
        return result < 0 ? kFailure : result == 1 ? kNothing : old;
      }
      case map::kSize: return unless_failed(acp_size_map(map_));
      case map::kClear: acp_clear_map(map_); return unless_failed(kNothing);
      default: return kFailure;
    }
  }

  /// Pairs of key and value, sorted.
  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    std::size_t count = 0;
    acp_map_it_t it = acp_begin_map(map_);
    for (; it.elem != acp_end_map(map_).elem && count + 2 <= most;
         it = acp_increment_map_it(it)) {
      const acp_pair_t pair = acp_dereference_map_it(it);
      to[count] = read(pair.first, key_words_);
      to[count + 1] = read(pair.second, value_words_);
      count += 2;
    }
    sort_pairs(to, count);
    return count;
  }

  void destroy() override { acp_destroy_map(map_); }

 private:
  static acp_element_t filled(std::uint64_t offset,
                              std::size_t words,
                              std::uint64_t number) {
    std::fill_n(own_words(offset), words, number);
    return {own_ga(offset), words * 8};
  }

  std::uint64_t retrieve(acp_element_t key) {
    std::fill_n(own_words(kTarget), value_words_, kFailure);
    const std::size_t bytes =
        acp_retrieve_map(map_, {key, {own_ga(kTarget), value_words_ * 8}});
    return unless_failed(bytes == 0 ? kNothing : number_at(value_words_));
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

  static void sort_pairs(std::uint64_t* pairs, std::size_t count) {
    for (std::size_t i = 2; i < count; i += 2) {
      for (std::size_t j = i; j > 0 && pairs[j] < pairs[j - 2]; j -= 2) {
        std::swap(pairs[j], pairs[j - 2]);
        std::swap(pairs[j + 1], pairs[j - 1]);
      }
    }
  }

  acp_map_t map_{};
  std::size_t key_words_ = 1;
  std::size_t value_words_ = 1;
};

}  // namespace

Program* map_program() {
  static MapProgram program;
  return &program;
}

}  // namespace explore
