// Operations on a set of keys of one word, or of five.
#include <algorithm>

#include "acp/set.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::uint64_t kKey = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kTarget = 192;

class SetProgram : public Program {
 public:
  Handles create(std::uint64_t variant) override {
    const int ranks[] = {0};
    return {acp_create_set(1, ranks, 2, 0).ga, variant};
  }

  void use(const Handles& handles) override {
    set_.ga = handles.first;
    set_.num_ranks = 1;
    set_.num_slots = 2;
    words_ = (handles.second & map::kLargeKeys) != 0 ? 5 : 1;
  }

  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    std::fill_n(own_words(kKey), words_, operation.a);
    const acp_element_t key{own_ga(kKey), words_ * 8};
    switch (operation.code) {
      case map::kInsert:
        return acp_insert_set(set_, key) == 1 ? kNothing : kFailure;
      case map::kRemove:
        acp_remove_set(set_, key);
        return unless_failed(kNothing);
      case map::kFind:
        return unless_failed(acp_find_set(set_, key).elem != ACP_GA_NULL ? 1
                                                                         : 0);
      default: return kFailure;
    }
  }

  /// The keys, sorted.
  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    std::size_t count = 0;
    for (acp_set_it_t it = acp_begin_set(set_);
         it.elem != ACP_GA_NULL && count < most;
         it = acp_increment_set_it(it)) {
      const acp_element_t key = acp_dereference_set_it(it);
      acp_complete(
          acp_copy(own_ga(kTarget), key.ga, key.size, ACP_HANDLE_NULL));
      const std::uint64_t* words = own_words(kTarget);
      to[count++] = std::count(words, words + words_, *words) ==
                            static_cast<std::ptrdiff_t>(words_)
                        ? *words
                        : kFailure;
    }
    std::sort(to, to + count);
    return count;
  }

  void destroy() override { acp_destroy_set(set_); }

 private:
  acp_set_t set_{};
  std::size_t words_ = 1;
};

}  // namespace

Program* set_program() {
  static SetProgram program;
  return &program;
}

}  // namespace explore
