// Operations on two deques, or two vectors, of elements of two words. Both
// structures have the same functions but for those at the front of a deque.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "acp/deque.h"
#include "acp/malloc.h"
#include "acp/vector.h"
#include "explore/image/programs.h"
#include "explore/operations.h"
#include "middle/structure/site.h"

namespace explore {

namespace {

constexpr std::size_t kElement = 16;
constexpr std::uint64_t kSource = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kTarget = 64;
constexpr std::uint64_t kContent = 128;
/// No memory of any rank is there.
constexpr std::uint64_t kNowhere = std::uint64_t{1} << 30;

/// The number of an element, or kFailure when it is torn.
std::uint64_t number_in(const std::uint64_t* element) {
  return element[1] == ~element[0] ? element[0] : kFailure;
}

/// The functions of a deque, and those that only a deque has.
struct Deques {
  using Handle = acp_deque_t;
  using It = acp_deque_it_t;
  using Other = acp_vector_t;
  // NOLINTBEGIN(readability-identifier-naming): called as functions
  static constexpr auto create = acp_create_deque;
  static constexpr auto destroy = acp_destroy_deque;
  static constexpr auto push_back = acp_push_back_deque;
  static constexpr auto push_back_other = acp_push_back_vector;
  static constexpr auto pop_back = acp_pop_back_deque;
  static constexpr auto insert = acp_insert_deque;
  static constexpr auto erase = acp_erase_deque;
  static constexpr auto clear = acp_clear_deque;
  static constexpr auto reserve = acp_reserve_deque;
  static constexpr auto assign = acp_assign_deque;
  static constexpr auto swap = acp_swap_deque;
  static constexpr auto size = acp_size_deque;
  static constexpr auto capacity = acp_capacity_deque;
  static constexpr auto empty = acp_empty_deque;
  static constexpr auto at = acp_at_deque;
  // NOLINTEND(readability-identifier-naming)

  static bool run_more(Handle deque, std::uint16_t code, std::uint64_t& result);
};

struct Vectors {
  using Handle = acp_vector_t;
  using It = acp_vector_it_t;
  using Other = acp_deque_t;
  // NOLINTBEGIN(readability-identifier-naming): called as functions
  static constexpr auto create = acp_create_vector;
  static constexpr auto destroy = acp_destroy_vector;
  static constexpr auto push_back = acp_push_back_vector;
  static constexpr auto push_back_other = acp_push_back_deque;
  static constexpr auto pop_back = acp_pop_back_vector;
  static constexpr auto insert = acp_insert_vector;
  static constexpr auto erase = acp_erase_vector;
  static constexpr auto clear = acp_clear_vector;
  static constexpr auto reserve = acp_reserve_vector;
  static constexpr auto assign = acp_assign_vector;
  static constexpr auto swap = acp_swap_vector;
  static constexpr auto size = acp_size_vector;
  static constexpr auto capacity = acp_capacity_vector;
  static constexpr auto empty = acp_empty_vector;
  static constexpr auto at = acp_at_vector;

  // NOLINTEND(readability-identifier-naming)

  static bool run_more(Handle /*vector*/,
                       std::uint16_t /*code*/,
                       std::uint64_t& /*result*/) {
    return false;
  }
};

std::uint64_t taken(int result) {
  return result == 1   ? number_in(own_words(kTarget))
         : result == 0 ? kNothing
                       : kFailure;
}

/// Operations at the front, and takes. The element of a push lies in starter
/// memory, and a taken one arrives there. False: no such operation.
bool Deques::run_more(Handle deque, std::uint16_t code, std::uint64_t& result) {
  result = kNothing;
  switch (code) {
    case sequence::kPushFront:
      acp_push_front_deque(deque, own_ga(kSource), kElement);
      return true;
    case sequence::kPopFront: acp_pop_front_deque(deque, kElement); return true;
    case sequence::kTakeBack:
      result = taken(acpx_take_back_deque(deque, own_ga(kTarget), kElement));
      return true;
    case sequence::kTakeFront:
      result = taken(acpx_take_front_deque(deque, own_ga(kTarget), kElement));
      return true;
    default: return false;
  }
}

template <typename Api>
class SequenceProgram : public Program {
 public:
  /// With kReused the first control was that of a structure that was destroyed,
  /// whose handle is `third`.
  Handles create(std::uint64_t variant) override {
    Handles handles;
    if ((variant & sequence::kReused) != 0) {
      // No control is left that was never used.
      namespace site = acp::middle::structure;
      reinterpret_cast<site::PoolHeader*>(
          site::Site::of_call("explore")->memory(0))
          ->unused = site::kControls - 2;
      handles.second = Api::create(0, 0).ga;
      handles.third = Api::create(0, 0).ga;
      Api::destroy({handles.third});
      handles.first = Api::create(0, 0).ga;
      return handles;
    }
    handles.first = Api::create(0, 0).ga;
    handles.second = Api::create(0, 0).ga;
    return handles;
  }

  void use(const Handles& handles) override {
    one_ = {handles.first};
    two_ = {handles.second};
    gone_ = {handles.third};
  }

  /// The element of a push lies in starter memory.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    std::uint64_t* source = own_words(kSource);
    source[0] = operation.a;
    source[1] = ~operation.a;
    std::uint64_t result = kNothing;
    switch (operation.code) {
      case sequence::kPushBack:
        Api::push_back(one_, own_ga(kSource), kElement);
        break;
      case sequence::kPopBack: Api::pop_back(one_, kElement); break;
      case sequence::kSize: result = Api::size(one_) / kElement; break;
      case sequence::kEmpty: result = Api::empty(one_) != 0 ? 1 : 0; break;
      case sequence::kCapacity:
        result =
            Api::capacity(one_) >= operation.a * kElement ? kNothing : kFailure;
        break;
      case sequence::kInsert:
        Api::insert(position(operation.b), own_ga(kSource), kElement);
        break;
      case sequence::kErase: Api::erase(position(operation.a), kElement); break;
      case sequence::kClear: Api::clear(one_); break;
      case sequence::kReserve:
        Api::reserve(one_, operation.a * kElement);
        break;
      case sequence::kAt: result = element(one_, operation.a); break;
      case sequence::kPushOther:
        Api::push_back(two_, own_ga(kSource), kElement);
        break;
      case sequence::kAssign: Api::assign(one_, two_); break;
      case sequence::kAssignBack: Api::assign(two_, one_); break;
      case sequence::kSwap: Api::swap(one_, two_); break;
      case sequence::kSwapBack: Api::swap(two_, one_); break;
      default: return run_wrong(operation);
    }
    return unless_failed(result);
  }

  /// The elements of the first, kNothing, and those of the second.
  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    std::size_t count = 0;
    for (const typename Api::Handle& handle : {one_, two_}) {
      const std::size_t size = Api::size(handle) / kElement;
      for (std::size_t i = 0; i < size && count + 1 < most; ++i) {
        to[count++] = element(handle, i);
      }
      to[count++] = kNothing;
    }
    return count;
  }

  void destroy() override {
    Api::destroy(one_);
    Api::destroy(two_);
    for (const acp_ga_t block : fill_) {
      acp_free(block);
    }
  }

 private:
  /// Operations that a program may not do, or that fail.
  std::uint64_t run_wrong(const Operation& operation) {
    std::uint64_t result = kNothing;
    switch (operation.code) {
      case sequence::kDestroy: Api::destroy(one_); break;
      case sequence::kPushGone:
        Api::push_back(gone_, own_ga(kSource), kElement);
        break;
      case sequence::kPushAsOther:
        Api::push_back_other(typename Api::Other{one_.ga}, own_ga(kSource),
                             kElement);
        break;
      case sequence::kPushNowhere:
        Api::push_back(
            one_,
            acp_query_starter_ga(static_cast<int>(operation.b)) + kNowhere,
            kElement);
        break;
      case sequence::kRemember: kept_ = Api::at(one_, 0); break;
      case sequence::kPushKept: Api::push_back(one_, kept_, kElement); break;
      case sequence::kFillHeap: fill_heap(); break;
      default:
        if (!Api::run_more(one_, operation.code, result)) {
          return kFailure;
        }
    }
    return unless_failed(result);
  }

  /// Takes all memory of rank 0.
  void fill_heap() {
    for (std::size_t bytes = std::size_t{1} << 20; bytes >= 64;) {
      const acp_ga_t block = acp_malloc(bytes, 0);
      if (block == ACP_GA_NULL) {
        bytes /= 2;
      } else {
        fill_.push_back(block);
      }
    }
    acp_errno = 0;
  }

  std::uint64_t element(typename Api::Handle handle, std::uint64_t at) const {
    const acp_ga_t address = Api::at(handle, static_cast<int>(at * kElement));
    if (address == ACP_GA_NULL) {
      return kFailure;
    }
    acp_complete(
        acp_copy(own_ga(kContent), address, kElement, ACP_HANDLE_NULL));
    return number_in(own_words(kContent));
  }

  typename Api::It position(std::uint64_t at) const {
    return {one_, static_cast<int>(at * kElement)};
  }

  typename Api::Handle one_{};
  typename Api::Handle two_{};
  typename Api::Handle gone_{};
  acp_ga_t kept_ = ACP_GA_NULL;
  std::vector<acp_ga_t> fill_;
};

}  // namespace

Program* deque_program() {
  static SequenceProgram<Deques> program;
  return &program;
}

Program* vector_program() {
  static SequenceProgram<Vectors> program;
  return &program;
}

}  // namespace explore
