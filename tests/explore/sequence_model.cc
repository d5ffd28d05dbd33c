// The models of deques and vectors. Each operation is the line of the standard
// container that the headers of acp describe.
#include <utility>

#include "explore/models.h"
#include "explore/operations.h"

namespace explore {

namespace {

/// Elements that a body has room for when the first push has made it.
constexpr std::size_t kFirstCapacity = 4;

class SequenceModel : public TwoContainers {
 public:
  explicit SequenceModel(bool is_vector) : is_vector_(is_vector) {}

  std::unique_ptr<Model> copy() const override {
    return std::make_unique<SequenceModel>(*this);
  }

  /// Changes the containers as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    if (is_destroyed_) {
      return kFailure;
    }
    const std::uint64_t a = operation.a;
    const std::uint64_t b = operation.b;
    switch (operation.code) {
      case sequence::kPushBack: return push(one_, one_.end(), a);
      case sequence::kPushFront: return push(one_, one_.begin(), a);
      case sequence::kInsert:
        return b <= one_.size() ? push(one_, at(b), a) : kFailure;
      case sequence::kPushOther: return push(two_, two_.end(), a);
      case sequence::kRemember: kept_ = one_.front(); break;
      case sequence::kPushKept: return push(one_, one_.end(), kept_);
      case sequence::kPopBack: take(one_, Side::kBack); break;
      case sequence::kPopFront: take(one_, Side::kFront); break;
      case sequence::kTakeBack: return take(one_, Side::kBack);
      case sequence::kTakeFront: return take(one_, Side::kFront);
      case sequence::kSize: return one_.size();
      case sequence::kEmpty: return one_.empty() ? 1 : 0;
      case sequence::kAt: return a < one_.size() ? one_[a] : kFailure;
      case sequence::kErase:
        if (a >= one_.size()) return kFailure;
        one_.erase(at(a));
        break;
      case sequence::kClear: one_.clear(); break;
      case sequence::kSwap:
      case sequence::kSwapBack: std::swap(one_, two_); break;
      case sequence::kFillHeap: has_memory_ = false; break;
      case sequence::kDestroy:
        is_destroyed_ = true;
        one_.clear();
        break;
      case sequence::kPushGone:
      case sequence::kPushAsOther:
      case sequence::kPushNowhere: return kFailure;
      default: run_part(operation);
    }
    return kNothing;
  }

  std::vector<Operation> parts(const Operation& operation) const override {
    switch (operation.code) {
      case sequence::kAssign: return assign_first(operation.b);
      case sequence::kAssignBack: return assign_second(operation.b);
      default: return {operation};
    }
  }

  /// While pushes to a vector are under way, its size may count an element that
  /// lies behind an element that is still missing.
  bool is_loose(const Operation& operation) const override {
    return is_vector_ && (operation.code == sequence::kSize ||
                          operation.code == sequence::kEmpty);
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[sequence::kCodes] = {
        "push_back",
        "push_front",
        "pop_back",
        "pop_front",
        "take_back",
        "take_front",
        "size",
        "empty",
        "capacity",
        "insert",
        "erase",
        "clear",
        "reserve",
        "at",
        "push_back to 2",
        "assign 2 to 1",
        "assign 1 to 2",
        "swap 1 and 2",
        "swap 2 and 1",
        "destroy",
        "push_back to the destroyed one",
        "push_back of the other kind",
        "push_back from nowhere",
        "remember the first",
        "push_back of the first",
        "fill the heap"};
    return with_numbers(kNames[operation.code], operation);
  }

 private:
  enum class Side { kFront, kBack };

  Container::iterator at(std::uint64_t position) {
    return one_.begin() + static_cast<std::ptrdiff_t>(position);
  }

  /// Without memory nothing is pushed to a body that is full.
  std::uint64_t push(Container& to,
                     const Container::iterator& where,
                     std::uint64_t element) const {
    if (!has_memory_ && to.size() == kFirstCapacity) {
      return kFailure;
    }
    to.insert(where, element);
    return kNothing;
  }

  static std::uint64_t take(Container& from, Side side) {
    if (from.empty()) return kNothing;
    const std::uint64_t element =
        side == Side::kFront ? from.front() : from.back();
    side == Side::kFront ? from.pop_front() : from.pop_back();
    return element;
  }

  bool is_vector_;
  bool has_memory_ = true;
  bool is_destroyed_ = false;
  std::uint64_t kept_ = kNothing;
};

}  // namespace

std::unique_ptr<Model> deque_model() {
  return std::make_unique<SequenceModel>(false);
}

std::unique_ptr<Model> vector_model() {
  return std::make_unique<SequenceModel>(true);
}

}  // namespace explore
