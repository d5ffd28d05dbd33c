// Operations on a vector of elements of two words.
#include <algorithm>

#include "acp/vector.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::size_t kElement = 16;
constexpr std::uint64_t kSource = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kContent = 128;

class VectorProgram : public Program {
 public:
  Handles create(std::uint64_t /*variant*/) override {
    return {acp_create_vector(0, 0).ga, 0};
  }

  void use(const Handles& handles) override { vector_ = {handles.first}; }

  /// The element of a push lies in starter memory.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    std::uint64_t* source = own_words(kSource);
    source[0] = operation.a;
    source[1] = ~operation.a;
    switch (operation.code) {
      case vector::kPushBack:
        acp_push_back_vector(vector_, own_ga(kSource), kElement);
        break;
      case vector::kPopBack: acp_pop_back_vector(vector_, kElement); break;
      case vector::kSize: return unless_failed(size());
      case vector::kInsert:
        acp_insert_vector(at(operation.b), own_ga(kSource), kElement);
        break;
      case vector::kErase: acp_erase_vector(at(operation.a), kElement); break;
      case vector::kClear: acp_clear_vector(vector_); break;
      case vector::kReserve:
        acp_reserve_vector(vector_, operation.a * kElement);
        break;
      default: return kFailure;
    }
    return unless_failed(kNothing);
  }

  std::size_t dump(std::uint64_t* to, std::size_t most) override {
    const std::size_t count = std::min<std::size_t>(size(), most);
    for (std::size_t i = 0; i < count; ++i) {
      const acp_ga_t element =
          acp_at_vector(vector_, static_cast<int>(i * kElement));
      acp_complete(
          acp_copy(own_ga(kContent), element, kElement, ACP_HANDLE_NULL));
      const std::uint64_t* words = own_words(kContent);
      to[i] = words[1] == ~words[0] ? words[0] : kFailure;
    }
    return count;
  }

  void destroy() override { acp_destroy_vector(vector_); }

 private:
  std::size_t size() const {
    return static_cast<std::size_t>(acp_end_vector(vector_).index) / kElement;
  }

  acp_vector_it_t at(std::uint64_t position) const {
    return {vector_, static_cast<int>(position * kElement)};
  }

  acp_vector_t vector_{};
};

}  // namespace

Program* vector_program() {
  static VectorProgram program;
  return &program;
}

}  // namespace explore
