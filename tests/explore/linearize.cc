// The search of Wing and Gong: takes each call that may be the next, and goes
// back when no order follows. A schedule has nine calls at most.
#include "explore/linearize.h"

#include <algorithm>

namespace explore {

namespace {

class Search {
 public:
  Search(const Model& model,
         const std::vector<Call>& calls,
         const std::vector<std::uint64_t>* content)
      : calls_(calls), content_(content), placed_(calls.size(), 0) {
    for (const Call& call : calls) {
      parts_.push_back(model.parts(call.operation));
    }
  }

  /// Whether the parts of calls that have no place yet can follow `model`.
  bool go_on(const Model& model) {
    if (is_complete(model)) {
      return true;
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (is_placed(i) || !may_be_next(i)) {
        continue;
      }
      const Call& call = calls_[i];
      const std::unique_ptr<Model> after = model.copy();
      const bool has_failed =
          call.result == kFailure && model.may_fail(call.operation);
      const std::uint64_t result =
          has_failed ? kFailure : after->run(parts_[i][placed_[i]]);
      const bool is_last = placed_[i] + 1 == parts_[i].size();
      const bool is_equal = model.is_loose(call.operation)
                                ? call.result != kFailure
                                : call.result == result;
      if (is_last && call.end != 0 && !is_equal) {
        continue;
      }
      ++placed_[i];
      if (go_on(*after)) {
        return true;
      }
      --placed_[i];
    }
    return false;
  }

 private:
  bool is_placed(std::size_t call) const {
    return placed_[call] == parts_[call].size();
  }

  bool is_complete(const Model& model) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!is_placed(i) && calls_[i].end != 0) {
        return false;
      }
    }
    return content_ == nullptr || model.dump() == *content_;
  }

  /// Whether all calls that had ended before its begin have their place.
  bool may_be_next(std::size_t number) const {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!is_placed(i) && calls_[i].end != 0 &&
          calls_[i].end < calls_[number].begin) {
        return false;
      }
    }
    return true;
  }

  const std::vector<Call>& calls_;
  const std::vector<std::uint64_t>* content_;
  std::vector<std::vector<Operation>> parts_;  ///< Parts of each call.
  std::vector<std::size_t> placed_;            ///< Parts that have a place.
};

}  // namespace

bool is_linearizable(const Model& before,
                     const std::vector<Call>& calls,
                     const std::vector<std::uint64_t>* content) {
  return Search(before, calls, content).go_on(before);
}

}  // namespace explore
