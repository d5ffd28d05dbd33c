// The search of Wing and Gong: takes each call that may be the next, and goes
// back when no order follows. A schedule has nine calls at most.
#include "explore/linearize.h"

#include <algorithm>

namespace explore {

namespace {

class Search {
 public:
  Search(const std::vector<Call>& calls,
         const std::vector<std::uint64_t>* content)
      : calls_(calls), content_(content), is_placed_(calls.size(), false) {}

  /// Whether the calls that have no place yet can follow `model`.
  bool go_on(const Model& model) {
    if (is_complete(model)) {
      return true;
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (is_placed_[i] || !may_be_next(i)) {
        continue;
      }
      const Call& call = calls_[i];
      const std::unique_ptr<Model> after = model.copy();
      const std::uint64_t result = after->run(call.operation);
      const bool is_equal = model.is_loose(call.operation)
                                ? call.result != kFailure
                                : call.result == result;
      if (call.end != 0 && !is_equal) {
        continue;
      }
      is_placed_[i] = true;
      if (go_on(*after)) {
        return true;
      }
      is_placed_[i] = false;
    }
    return false;
  }

 private:
  bool is_complete(const Model& model) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!is_placed_[i] && calls_[i].end != 0) {
        return false;
      }
    }
    return content_ == nullptr || model.dump() == *content_;
  }

  /// Whether all calls that had ended before its begin have their place.
  bool may_be_next(std::size_t number) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!is_placed_[i] && calls_[i].end != 0 &&
          calls_[i].end < calls_[number].begin) {
        return false;
      }
    }
    return true;
  }

  const std::vector<Call>& calls_;
  const std::vector<std::uint64_t>* content_;
  std::vector<bool> is_placed_;
};

}  // namespace

bool is_linearizable(const Model& before,
                     const std::vector<Call>& calls,
                     const std::vector<std::uint64_t>* content) {
  return Search(calls, content).go_on(before);
}

}  // namespace explore
