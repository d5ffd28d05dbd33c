// Operations on two lists of elements of two words, which lie on the rank that
// the operation names. Some elements have one word.
#include <initializer_list>

#include "acp/list.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::size_t kElement = 16;
constexpr std::size_t kShortElement = 8;
constexpr std::uint64_t kSource = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kContent = 128;
constexpr std::size_t kMostElements = 16;

/// The list that the comparator of a sort pushes to, and the error of that.
acp_list_t g_pushes_to{};
int g_push_error = 0;

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
      case list::kInsertShort:
        kept_ = acp_insert_list(acp_end_list(list_),
                                {own_ga(kSource), kShortElement}, rank);
        break;
      case list::kBytes:
        return unless_failed(acp_dereference_list_it(kept_).size);
      case list::kErase: acp_erase_list(kept_); break;
      case list::kWalk: return walk(operation.a);
      case list::kClear: acp_clear_list(list_); break;
      case list::kReverse: acp_reverse_list(list_); break;
      case list::kMerge: acp_merge_list(list_, other_, &compare); break;
      case list::kMergeBack: acp_merge_list(other_, list_, &compare); break;
      case list::kSort: acp_sort_list(list_, &compare); break;
      case list::kUnique: acp_unique_list(list_); break;
      case list::kRemove: acp_remove_list(list_, element); break;
      case list::kAssign: acp_assign_list(list_, other_); break;
      case list::kAssignBack: acp_assign_list(other_, list_); break;
      case list::kSwap: acp_swap_list(list_, other_); break;
      case list::kSwapBack: acp_swap_list(other_, list_); break;
      case list::kSplice: splice(list_, other_); break;
      case list::kSpliceBack: splice(other_, list_); break;
      case list::kSortAndPush: return sort_and_push(list_);
      case list::kSortAndPushOther: return sort_and_push(other_);
      case list::kEmpty:
        return unless_failed(acp_empty_list(list_) != 0 ? 1 : 0);
      default: return kFailure;
    }
    return unless_failed(kNothing);
  }

  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    std::size_t count = 0;
    for (const acp_list_t list : {list_, other_}) {
      count += read(list, to + count, most - count - 1);
      to[count++] = kNothing;
    }
    return count;
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

  /// Compares, and pushes to a list when it is called first.
  static int compare_and_push(const acp_element_t one,
                              const acp_element_t two) {
    if (g_pushes_to.ga != ACP_GA_NULL) {
      const acp_list_t list = g_pushes_to;
      g_pushes_to = {};
      acp_push_back_list(list, {own_ga(kSource), kElement}, acp_rank());
      g_push_error = acp_errno;
      acp_errno = 0;
    }
    return compare(one, two);
  }

  /// Returns 1 when the push has failed, because the list is being sorted.
  std::uint64_t sort_and_push(acp_list_t list) const {
    g_pushes_to = list;
    g_push_error = 0;
    acp_sort_list(list_, &compare_and_push);
    return unless_failed(g_push_error != 0 ? 1 : 0);
  }

  /// Moves the first element to the front of the other list, if there is one.
  static void splice(acp_list_t to, acp_list_t from) {
    const acp_list_it_t first = acp_begin_list(from);
    if (first.elem != ACP_GA_NULL) {
      acp_splice_list(acp_begin_list(to), first);
    }
  }

  static std::uint64_t number_at(acp_list_it_t it) {
    const acp_element_t element = acp_dereference_list_it(it);
    if (element.size != kElement && element.size != kShortElement) {
      return kFailure;
    }
    std::uint64_t* words = own_words(kContent);
    acp_complete(
        acp_copy(own_ga(kContent), element.ga, element.size, ACP_HANDLE_NULL));
    if (element.size == kShortElement) {
      words[1] = ~words[0];
    }
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
