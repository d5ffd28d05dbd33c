// The models. Each operation is the line of the standard container that the
// headers of acp describe.
#include "explore/model.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>

#include "explore/operations.h"

namespace explore {

namespace {

class DequeModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<DequeModel>(*this);
  }

  /// Changes the deque as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    const auto position = [&](std::uint64_t index) {
      return all_.begin() + static_cast<std::ptrdiff_t>(index);
    };
    switch (operation.code) {
      case deque::kPushBack: all_.push_back(operation.a); break;
      case deque::kPushFront: all_.push_front(operation.a); break;
      case deque::kPopBack: take_back(); break;
      case deque::kPopFront: take_front(); break;
      case deque::kTakeBack: return take_back();
      case deque::kTakeFront: return take_front();
      case deque::kSize: return all_.size();
      case deque::kInsert:
        if (operation.b > all_.size()) return kFailure;
        all_.insert(position(operation.b), operation.a);
        break;
      case deque::kErase:
        if (operation.a >= all_.size()) return kFailure;
        all_.erase(position(operation.a));
        break;
      case deque::kClear: all_.clear(); break;
      case deque::kFirst: return all_.empty() ? kFailure : all_.front();
      default: break;
    }
    return kNothing;
  }

  std::vector<std::uint64_t> dump() const override {
    return {all_.begin(), all_.end()};
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[deque::kCodes] = {
        "push_back", "push_front", "pop_back", "pop_front",
        "take_back", "take_front", "size",     "insert",
        "erase",     "clear",      "reserve",  "first"};
    std::string name = kNames[operation.code];
    switch (operation.code) {
      case deque::kPushBack:
      case deque::kPushFront:
      case deque::kErase:
      case deque::kReserve:
        return name + "(" + std::to_string(operation.a) + ")";
      case deque::kInsert:
        return name + "(" + std::to_string(operation.a) + " at " +
               std::to_string(operation.b) + ")";
      default: return name;
    }
  }

 private:
  std::uint64_t take_back() {
    if (all_.empty()) return kNothing;
    const std::uint64_t element = all_.back();
    all_.pop_back();
    return element;
  }

  std::uint64_t take_front() {
    if (all_.empty()) return kNothing;
    const std::uint64_t element = all_.front();
    all_.pop_front();
    return element;
  }

  std::deque<std::uint64_t> all_;
};

class MapModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<MapModel>(*this);
  }

  /// Changes the map as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    const auto found = all_.find(operation.a);
    const bool is_there = found != all_.end();
    switch (operation.code) {
      case map::kInsert:
        all_.emplace(operation.a, operation.b);
        return is_there ? 0 : 1;
      case map::kRemove: all_.erase(operation.a); return kNothing;
      case map::kFind: return is_there ? 1 : 0;
      case map::kRetrieve: return is_there ? found->second : kNothing;
      case map::kUpsert: {
        const std::uint64_t old = is_there ? found->second : kNothing;
        all_[operation.a] += operation.b;
        return old;
      }
      case map::kSize: return all_.size();
      case map::kClear: all_.clear(); return kNothing;
      default: return kFailure;
    }
  }

  std::vector<std::uint64_t> dump() const override {
    std::vector<std::uint64_t> pairs;
    for (const auto& [key, value] : all_) {
      pairs.push_back(key);
      pairs.push_back(value);
    }
    return pairs;
  }

  /// The count of a share is changed together with the element, but the shares
  /// are read one after the other.
  bool is_loose(const Operation& operation) const override {
    return operation.code == map::kSize;
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[map::kCodes] = {
        "insert", "remove", "find", "retrieve", "upsert_add8", "size", "clear"};
    std::string name = kNames[operation.code];
    const std::string key = std::to_string(operation.a);
    switch (operation.code) {
      case map::kInsert:
      case map::kUpsert:
        return name + "(" + key + ", " + std::to_string(operation.b) + ")";
      case map::kSize:
      case map::kClear: return name;
      default: return name + "(" + key + ")";
    }
  }

 private:
  std::map<std::uint64_t, std::uint64_t> all_;
};

class VectorModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<VectorModel>(*this);
  }

  /// Changes the vector as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    const auto position = [&](std::uint64_t index) {
      return all_.begin() + static_cast<std::ptrdiff_t>(index);
    };
    switch (operation.code) {
      case vector::kPushBack: all_.push_back(operation.a); break;
      case vector::kPopBack:
        if (!all_.empty()) all_.pop_back();
        break;
      case vector::kSize: return all_.size();
      case vector::kInsert:
        if (operation.b > all_.size()) return kFailure;
        all_.insert(position(operation.b), operation.a);
        break;
      case vector::kErase:
        if (operation.a >= all_.size()) return kFailure;
        all_.erase(position(operation.a));
        break;
      case vector::kClear: all_.clear(); break;
      default: break;
    }
    return kNothing;
  }

  std::vector<std::uint64_t> dump() const override { return all_; }

  /// While pushes are under way, the size may count an element that lies behind
  /// an element that is still missing.
  bool is_loose(const Operation& operation) const override {
    return operation.code == vector::kSize;
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[vector::kCodes] = {
        "push_back", "pop_back", "size", "insert", "erase", "clear", "reserve"};
    return std::string(kNames[operation.code]) + "(" +
           std::to_string(operation.a) + ")";
  }

 private:
  std::vector<std::uint64_t> all_;
};

class ListModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    auto same = std::make_unique<ListModel>(*this);
    same->kept_ = kept_;
    return same;
  }

  /// Changes the lists as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    const auto found = std::find(all_.begin(), all_.end(), kept_);
    switch (operation.code) {
      case list::kPushBack: all_.push_back(operation.a); break;
      case list::kPushFront: all_.insert(all_.begin(), operation.a); break;
      case list::kPushOther: other_.push_back(operation.a); break;
      case list::kPopBack:
        if (!all_.empty()) all_.pop_back();
        break;
      case list::kPopFront:
        if (!all_.empty()) all_.erase(all_.begin());
        break;
      case list::kSize: return all_.size();
      case list::kRemember:
        kept_ = all_.empty() ? kNothing : all_.front();
        break;
      case list::kInsert:
        if (found == all_.end()) return kFailure;
        all_.insert(found, operation.a);
        break;
      case list::kErase:
        if (found == all_.end()) return kFailure;
        all_.erase(found);
        break;
      case list::kClear: all_.clear(); break;
      case list::kReverse: std::reverse(all_.begin(), all_.end()); break;
      case list::kMerge: merge(all_, other_); break;
      case list::kMergeBack: merge(other_, all_); break;
      default: break;
    }
    return kNothing;
  }

  std::vector<std::uint64_t> dump() const override {
    std::vector<std::uint64_t> both = all_;
    both.push_back(kNothing);
    both.insert(both.end(), other_.begin(), other_.end());
    return both;
  }

  std::string text_of(const Operation& operation) const override {
    static constexpr const char* kNames[list::kCodes] = {
        "push_back",      "push_front",  "push_back (list 2)",
        "pop_back",       "pop_front",   "size",
        "keep the first", "insert",      "erase",
        "walk",           "clear",       "reverse",
        "merge 2",        "merge into 2"};
    return std::string(kNames[operation.code]) + "(" +
           std::to_string(operation.a) + ")";
  }

 private:
  static void merge(std::vector<std::uint64_t>& to,
                    std::vector<std::uint64_t>& from) {
    std::vector<std::uint64_t> both;
    std::merge(to.begin(), to.end(), from.begin(), from.end(),
               std::back_inserter(both));
    to = both;
    from.clear();
  }

  std::vector<std::uint64_t> all_;
  std::vector<std::uint64_t> other_;
  std::uint64_t kept_ = kNothing;
};

/// A map without values.
class SetModel : public MapModel {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<SetModel>(*this);
  }

  /// An insert does not tell whether the key was there.
  std::uint64_t run(const Operation& operation) override {
    const std::uint64_t result = MapModel::run(operation);
    return operation.code == map::kInsert ? kNothing : result;
  }

  std::vector<std::uint64_t> dump() const override {
    std::vector<std::uint64_t> keys = MapModel::dump();
    for (std::size_t i = 0; i < keys.size() / 2; ++i) {
      keys[i] = keys[2 * i];
    }
    keys.resize(keys.size() / 2);
    return keys;
  }
};

class WorkspaceModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<WorkspaceModel>(*this);
  }

  std::uint64_t run(const Operation& operation) override {
    if (operation.code == workspace::kWrite) {
      words_[operation.a] = operation.b;
      return kNothing;
    }
    return words_[operation.a];
  }

  std::vector<std::uint64_t> dump() const override {
    std::vector<std::uint64_t> all;
    for (std::uint64_t word = 0; word < workspace::kWords; ++word) {
      const auto found = words_.find(workspace::word_number(word));
      all.push_back(found == words_.end() ? 0 : found->second);
    }
    return all;
  }

  std::string text_of(const Operation& operation) const override {
    return (operation.code == workspace::kWrite ? "write(" : "read(") +
           std::to_string(operation.a) + ", " + std::to_string(operation.b) +
           ")";
  }

 private:
  std::map<std::uint64_t, std::uint64_t> words_;
};

/// Only counts blocks: the program itself looks whether they overlap.
class HeapModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<HeapModel>(*this);
  }

  /// Changes the heap as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    if (operation.code == heap::kAllocateLast && blocks_ == 2) {
      return kFailure;
    }
    const bool allocates = operation.code == heap::kAllocate ||
                           operation.code == heap::kAllocateLast;
    blocks_ += allocates ? 1 : 0;
    blocks_ -= operation.code == heap::kFree ? 1 : 0;
    return kNothing;
  }

  std::vector<std::uint64_t> dump() const override { return {1, blocks_}; }

  std::string text_of(const Operation& operation) const override {
    return operation.code == heap::kAllocate ||
                   operation.code == heap::kAllocateLast
               ? "allocate(" + std::to_string(operation.a) + " on rank " +
                     std::to_string(operation.b) + ")"
           : operation.code == heap::kFree
               ? "free(block " + std::to_string(operation.a) + " of rank " +
                     std::to_string(operation.b) + ")"
               : "trim";
  }

 private:
  std::uint64_t blocks_ = 0;
};

class ChannelModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<ChannelModel>(*this);
  }

  /// Changes the channel as the headers of acp say.
  std::uint64_t run(const Operation& operation) override {
    if (operation.code == channel::kSend) {
      sent_.push_back(operation.a);
    } else if (operation.code == channel::kReceive) {
      if (sent_.empty()) return kFailure;
      const std::uint64_t first = sent_.front();
      sent_.pop_front();
      return first;
    }
    return kNothing;
  }

  std::vector<std::uint64_t> dump() const override { return {}; }

  std::string text_of(const Operation& operation) const override {
    return operation.code == channel::kSend
               ? "send(" + std::to_string(operation.a) + ")"
           : operation.code == channel::kReceive ? "receive"
                                                 : "free";
  }

 private:
  std::deque<std::uint64_t> sent_;
};

}  // namespace

std::unique_ptr<Model> new_model(const std::string& structure) {
  if (structure == "deque") return std::make_unique<DequeModel>();
  if (structure == "map") return std::make_unique<MapModel>();
  if (structure == "vector") return std::make_unique<VectorModel>();
  if (structure == "list") return std::make_unique<ListModel>();
  if (structure == "malloc") return std::make_unique<HeapModel>();
  if (structure == "set") return std::make_unique<SetModel>();
  if (structure == "workspace") return std::make_unique<WorkspaceModel>();
  if (structure == "channel") return std::make_unique<ChannelModel>();
  return nullptr;
}

}  // namespace explore
