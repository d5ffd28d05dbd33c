// Operations on a list of elements of two words, which lie on the rank that
// the operation names.
#include "acp/list.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::size_t kElement = 16;
constexpr std::uint64_t kSource = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kContent = 128;
constexpr std::size_t kMostElements = 16;

class ListProgram : public Program {
 public:
  Handles create(std::uint64_t /*variant*/) override {
    return {acp_create_list(0).ga, acp_create_list(0).ga};
  }

  void use(const Handles& handles) override {
    list_ = {handles.first};
    other_ = {handles.second};
  }

  /// The element of a push lies in starter memory. kRemember keeps an iterator
  /// for the operations behind it.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    std::uint64_t* source = own_words(kSource);
    source[0] = operation.a;
    source[1] = ~operation.a;
    const acp_element_t element{own_ga(kSource), kElement};
    const int rank = static_cast<int>(operation.b);
    switch (operation.code) {
      case list::kPushBack: acp_push_back_list(list_, element, rank); break;
      case list::kPushFront: acp_push_front_list(list_, element, rank); break;
      case list::kPushOther: acp_push_back_list(other_, element, rank); break;
      case list::kPopBack: acp_pop_back_list(list_); break;
      case list::kPopFront: acp_pop_front_list(list_); break;
      case list::kSize: return unless_failed(acp_size_list(list_));
      case list::kRemember: kept_ = acp_begin_list(list_); break;
      case list::kInsert: acp_insert_list(kept_, element, rank); break;
      case list::kErase: acp_erase_list(kept_); break;
      case list::kWalk: return walk(operation.a);
      case list::kClear: acp_clear_list(list_); break;
      case list::kReverse: acp_reverse_list(list_); break;
      case list::kMerge: acp_merge_list(list_, other_, &compare); break;
      case list::kMergeBack: acp_merge_list(other_, list_, &compare); break;
      default: return kFailure;
    }
    return unless_failed(kNothing);
  }

  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    std::size_t count = read(list_, to, most);
    if (count < most) {
      to[count++] = kNothing;  // between the lists
    }
    return count + read(other_, to + count, most - count);
  }

  void destroy() override {
    acp_destroy_list(list_);
    acp_destroy_list(other_);
  }

 private:
  static int compare(const acp_element_t one, const acp_element_t two) {
    const auto number_of = [](const acp_element_t& element) {
      return *static_cast<const std::uint64_t*>(acp_query_address(element.ga));
    };
    return number_of(one) < number_of(two)   ? -1
           : number_of(one) > number_of(two) ? 1
                                             : 0;
  }

  static std::uint64_t number_at(acp_list_it_t it) {
    const acp_element_t element = acp_dereference_list_it(it);
    if (element.size != kElement) {
      return kFailure;
    }
    acp_complete(
        acp_copy(own_ga(kContent), element.ga, kElement, ACP_HANDLE_NULL));
    const std::uint64_t* words = own_words(kContent);
    return words[1] == ~words[0] ? words[0] : kFailure;
  }

  static std::size_t read(acp_list_t list,
                          std::uint64_t* to,
                          std::size_t most) {
    std::size_t count = 0;
    for (acp_list_it_t it = acp_begin_list(list);
         it.elem != ACP_GA_NULL && count < most;
         it = acp_increment_list_it(it)) {
      to[count++] = number_at(it);
    }
    return count;
  }

  /// Walks while others change the list. `wanted` has a bit for each element
  /// that is there all the time: each is met once, in ascending order. Other
  /// elements may be erased before they are read. If the walk stands on an
  /// element that is erased, it ends with acp_errno set.
  std::uint64_t walk(std::uint64_t wanted) {
    std::uint64_t met = 0;
    std::size_t count = 0;
    for (acp_list_it_t it = acp_begin_list(list_); it.elem != ACP_GA_NULL;
         it = acp_increment_list_it(it)) {
      if (acp_dereference_list_it(it).size != kElement && acp_errno == 0) {
        return kFailure;  // the size of another link
      }
      const std::uint64_t number = number_at(it);
      if (number < 64 && (wanted >> number & 1) != 0) {
        if (met >> number != 0) {
          return kFailure;
        }
        met |= std::uint64_t{1} << number;
      }
      if (++count > kMostElements) {
        return kFailure;
      }
    }
    return met == wanted || acp_errno != 0 ? kNothing : kFailure;
  }

  acp_list_t list_{};
  acp_list_t other_{};
  acp_list_it_t kept_{};
};

}  // namespace

Program* list_program() {
  static ListProgram program;
  return &program;
}

}  // namespace explore
