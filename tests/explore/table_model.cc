// The models of sets and maps. Each operation is the line of the standard
// container that the headers of acp describe.
#include <utility>

#include "explore/models.h"
#include "explore/operations.h"

namespace explore {

namespace {

class TableModel : public Model {
 public:
  explicit TableModel(bool is_set) : is_set_(is_set) {}

  std::unique_ptr<Model> copy() const override {
    return std::make_unique<TableModel>(*this);
  }

  /// Changes the tables as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    if (is_destroyed_ && is_of_first(operation.code)) {
      return kFailure;
    }
    const std::uint64_t key = operation.a;
    const auto found = one_.find(key);
    const bool is_there = found != one_.end();
    switch (operation.code) {
      case table::kInsert: return insert(one_, key, operation.b);
      case table::kInsertOther: return insert(two_, key, operation.b);
      case table::kRemove:
      case table::kClearOne: one_.erase(key); break;
      case table::kRemoveOther: two_.erase(key); break;
      case table::kFind: return is_there ? 1 : 0;
      case table::kRetrieve: return is_there ? found->second : kNothing;
      case table::kUpsert: {
        const std::uint64_t old = is_there ? found->second : kNothing;
        one_[key] += operation.b;
        return old;
      }
      case table::kSize: return one_.size();
      case table::kEmpty: return one_.empty() ? 1 : 0;
      case table::kSwap: std::swap(one_, two_); break;
      case table::kAssignLocal: assign_local(); break;
      case table::kRetainOne:
        if (two_.count(key) == 0) one_.erase(key);
        break;
      case table::kAssignOne:
        if (two_.count(key) != 0) one_[key] = two_[key];
        break;
      case table::kMergeOne:
      case table::kMoveOne: copy_one(key, operation.code); break;
      case table::kDestroy:
        is_destroyed_ = true;
        one_.clear();
        break;
      case table::kRecreate: two_.clear(); break;
      case table::kSwapValues: std::swap(one_[key], one_[operation.b]); break;
      default: break;
    }
    return kNothing;
  }

  /// Operations on whole tables are a series of operations on one key. They go
  /// through the keys in any order; no scenario has two keys that show it.
  std::vector<Operation> parts(const Operation& operation) const override {
    std::vector<Operation> all;
    const auto add = [&](table::Code code) {
      for (std::uint64_t key = 0; key < table::kKeys; ++key) {
        all.push_back({code, key, 0});
      }
    };
    switch (operation.code) {
      case table::kClear: add(table::kClearOne); break;
      case table::kAssign:
        add(table::kRetainOne);
        add(table::kAssignOne);
        break;
      case table::kMerge: add(table::kMergeOne); break;
      case table::kMove: add(table::kMoveOne); break;
      default: return {operation};
    }
    return all;
  }

  /// Pairs of a map, or keys of a set; kNothing; and those of the second.
  std::vector<std::uint64_t> dump() const override {
    std::vector<std::uint64_t> all;
    for (const auto* table : {&one_, &two_}) {
      for (const auto& [key, value] : *table) {
        all.push_back(key);
        if (!is_set_) {
          all.push_back(value);
        }
      }
      all.push_back(kNothing);
    }
    return all;
  }

  /// The count of a share is changed together with the element, but the shares
  /// are read one after the other.
  bool is_loose(const Operation& operation) const override {
    return operation.code == table::kSize || operation.code == table::kEmpty;
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[table::kCodes] = {
        "insert",        "remove",        "find",
        "retrieve",      "upsert_add8",   "size",
        "empty",         "clear",         "insert to 2",
        "remove from 2", "assign 2 to 1", "assign my part of 2 to 1",
        "merge 2",       "move 2",        "swap",
        "walk",          "destroy",       "create 2 again",
        "swap values",   "retain",        "assign one",
        "merge one",     "move one",      "clear one"};
    return with_numbers(kNames[operation.code], operation);
  }

 private:
  using Table = std::map<std::uint64_t, std::uint64_t>;

  static bool is_of_first(std::uint16_t code) {
    return code != table::kInsertOther && code != table::kRemoveOther &&
           code != table::kRecreate;
  }

  /// An insert to a set does not tell whether the key was there.
  std::uint64_t insert(Table& to,
                       std::uint64_t key,
                       std::uint64_t value) const {
    const bool is_new = to.emplace(key, is_set_ ? 0 : value).second;
    return is_set_ ? kNothing : is_new ? 1 : 0;
  }

  void copy_one(std::uint64_t key, std::uint16_t code) {
    const auto found = two_.find(key);
    if (found != two_.end() && one_.emplace(*found).second &&
        code == table::kMoveOne) {
      two_.erase(found);
    }
  }

  /// The tables are equal when two ranks, which have all keys, have assigned
  /// their parts.
  void assign_local() {
    if (++local_assigns_ == 2) {
      one_ = two_;
    }
  }

  bool is_set_;
  bool is_destroyed_ = false;
  int local_assigns_ = 0;
  Table one_;
  Table two_;
};

}  // namespace

std::unique_ptr<Model> map_model() {
  return std::make_unique<TableModel>(false);
}

std::unique_ptr<Model> set_model() {
  return std::make_unique<TableModel>(true);
}

}  // namespace explore
