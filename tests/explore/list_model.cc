// The model of two lists. Each operation is the line of the standard container
// that the headers of acp describe.
#include <algorithm>
#include <iterator>
#include <utility>

#include "explore/models.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::uint64_t kBytes = 16;
constexpr std::uint64_t kShortBytes = 8;

class ListModel : public TwoContainers {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<ListModel>(*this);
  }

  /// Changes the lists as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    const std::uint64_t a = operation.a;
    const auto found = std::find(one_.begin(), one_.end(), kept_);
    switch (operation.code) {
      case list::kPushBack: one_.push_back(a); break;
      case list::kPushFront: one_.push_front(a); break;
      case list::kPushOther: two_.push_back(a); break;
      case list::kPopBack:
        if (!one_.empty()) one_.pop_back();
        break;
      case list::kPopFront:
        if (!one_.empty()) one_.pop_front();
        break;
      case list::kSize: return one_.size();
      case list::kEmpty: return one_.empty() ? 1 : 0;
      case list::kRemember:
        kept_ = one_.empty() ? kNothing : one_.front();
        is_short_ = false;
        break;
      case list::kInsert:
        if (found == one_.end()) return kFailure;
        one_.insert(found, a);
        break;
      case list::kErase:
        if (found == one_.end()) return kFailure;
        one_.erase(found);
        break;
      case list::kInsertShort:
        one_.push_back(a);
        kept_ = a;
        is_short_ = true;
        break;
      case list::kBytes:
        if (found == one_.end()) return kFailure;
        return is_short_ ? kShortBytes : kBytes;
      case list::kClear: one_.clear(); break;
      case list::kReverse: std::reverse(one_.begin(), one_.end()); break;
      case list::kMerge: merge(one_, two_); break;
      case list::kMergeBack: merge(two_, one_); break;
      case list::kSort: std::sort(one_.begin(), one_.end()); break;
      case list::kSortAndPush: std::sort(one_.begin(), one_.end()); return 1;
      case list::kSortAndPushOther:
        std::sort(one_.begin(), one_.end());
        two_.push_back(a);
        return 0;
      case list::kUnique:
        one_.erase(std::unique(one_.begin(), one_.end()), one_.end());
        break;
      case list::kRemove: std::erase(one_, a); break;
      case list::kSwap:
      case list::kSwapBack: std::swap(one_, two_); break;
      case list::kSplice: splice(one_, two_); break;
      case list::kSpliceBack: splice(two_, one_); break;
      default: run_part(operation);
    }
    return kNothing;
  }

  std::vector<Operation> parts(const Operation& operation) const override {
    switch (operation.code) {
      case list::kAssign: return assign_first(operation.b);
      case list::kAssignBack: return assign_second(operation.b);
      default: return {operation};
    }
  }

  /// Iterators are read before a splice locks.
  bool may_fail(const Operation& operation) const override {
    return operation.code == list::kSplice ||
           operation.code == list::kSpliceBack;
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[list::kCodes] = {"push_back",
                                                         "push_front",
                                                         "push_back to 2",
                                                         "pop_back",
                                                         "pop_front",
                                                         "size",
                                                         "keep the first",
                                                         "insert",
                                                         "erase",
                                                         "walk",
                                                         "clear",
                                                         "reverse",
                                                         "merge 2",
                                                         "merge into 2",
                                                         "sort",
                                                         "unique",
                                                         "remove",
                                                         "assign 2 to 1",
                                                         "assign 1 to 2",
                                                         "swap 1 and 2",
                                                         "swap 2 and 1",
                                                         "splice from 2",
                                                         "splice to 2",
                                                         "sort, and push to it",
                                                         "sort, and push to 2",
                                                         "empty",
                                                         "insert 8 bytes",
                                                         "bytes"};
    return with_numbers(kNames[operation.code], operation);
  }

 private:
  static void merge(Container& to, Container& from) {
    Container both;
    std::merge(to.begin(), to.end(), from.begin(), from.end(),
               std::back_inserter(both));
    to = both;
    from.clear();
  }

  static void splice(Container& to, Container& from) {
    if (!from.empty()) {
      to.push_front(from.front());
      from.pop_front();
    }
  }

  std::uint64_t kept_ = kNothing;
  bool is_short_ = false;  ///< The element kept has 8 bytes.
};

}  // namespace

std::unique_ptr<Model> list_model() {
  return std::make_unique<ListModel>();
}

}  // namespace explore
