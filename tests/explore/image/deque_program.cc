// Operations on a deque of elements of two words.
#include <algorithm>

#include "acp/deque.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::size_t kElement = 16;
constexpr std::uint64_t kSource = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kTarget = 64;
constexpr std::uint64_t kContent = 128;

/// The number of an element, or kFailure when it is torn.
std::uint64_t number_in(const std::uint64_t* element) {
  return element[1] == ~element[0] ? element[0] : kFailure;
}

class DequeProgram : public Program {
 public:
  Handles create(std::uint64_t /*variant*/) override {
    return {acp_create_deque(0, 0).ga, 0};
  }

  void use(const Handles& handles) override { deque_ = {handles.first}; }

  /// The element of a push lies in starter memory, and a taken one arrives
  /// there.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    std::uint64_t* source = own_words(kSource);
    source[0] = operation.a;
    source[1] = ~operation.a;
    switch (operation.code) {
      case deque::kPushBack:
        acp_push_back_deque(deque_, own_ga(kSource), kElement);
        break;
      case deque::kPushFront:
        acp_push_front_deque(deque_, own_ga(kSource), kElement);
        break;
      case deque::kPopBack: acp_pop_back_deque(deque_, kElement); break;
      case deque::kPopFront: acp_pop_front_deque(deque_, kElement); break;
      case deque::kTakeBack:
        return taken(acpx_take_back_deque(deque_, own_ga(kTarget), kElement));
      case deque::kTakeFront:
        return taken(acpx_take_front_deque(deque_, own_ga(kTarget), kElement));
      case deque::kSize: return unless_failed(size());
      case deque::kInsert:
        acp_insert_deque(at(operation.b), own_ga(kSource), kElement);
        break;
      case deque::kErase: acp_erase_deque(at(operation.a), kElement); break;
      case deque::kClear: acp_clear_deque(deque_); break;
      case deque::kReserve:
        acp_reserve_deque(deque_, operation.a * kElement);
        break;
      case deque::kFirst: return unless_failed(element(0));
      default: return kFailure;
    }
    return unless_failed(kNothing);
  }

  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    const std::size_t count = std::min<std::size_t>(size(), most);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = element(i);
    }
    return count;
  }

  void destroy() override { acp_destroy_deque(deque_); }

 private:
  std::uint64_t element(std::size_t position) const {
    const acp_ga_t at =
        acp_at_deque(deque_, static_cast<int>(position * kElement));
    acp_complete(acp_copy(own_ga(kContent), at, kElement, ACP_HANDLE_NULL));
    return number_in(own_words(kContent));
  }

  std::size_t size() const {
    return static_cast<std::size_t>(acp_end_deque(deque_).index) / kElement;
  }

  acp_deque_it_t at(std::uint64_t position) const {
    return {deque_, static_cast<int>(position * kElement)};
  }

  static std::uint64_t taken(int result) {
    return result == 1   ? number_in(own_words(kTarget))
           : result == 0 ? kNothing
                         : kFailure;
  }

  acp_deque_t deque_{};
};

}  // namespace

Program* deque_program() {
  static DequeProgram program;
  return &program;
}

}  // namespace explore
