// The models of workspaces, heaps and channels, and what models share.
#include "explore/model.h"

#include <deque>
#include <map>
#include <set>

#include "explore/models.h"
#include "explore/operations.h"

namespace explore {

namespace {

class WorkspaceModel : public Model {
 public:
  std::unique_ptr<Model> copy() const override {
    return std::make_unique<WorkspaceModel>(*this);
  }

  std::uint64_t run(const Operation& operation) override {
    if (operation.code == workspace::kCreate) {
      return operation.b != 0 ? kNothing : kFailure;
    }
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
    static constexpr const char* kNames[workspace::kCodes] = {"write", "read",
                                                              "create"};
    return with_numbers(kNames[operation.code], operation);
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
    const bool frees =
        operation.code == heap::kFree || (operation.code == heap::kFreeMaybe &&
                                          freed_.insert(operation.a).second);
    blocks_ -= frees ? 1 : 0;
    return kNothing;
  }

  std::vector<std::uint64_t> dump() const override { return {1, blocks_}; }

  std::string text_of(const Operation& operation) const override {
    return operation.code == heap::kAllocate ||
                   operation.code == heap::kAllocateLast
               ? "allocate(" + std::to_string(operation.a) + " on rank " +
                     std::to_string(operation.b) + ")"
           : operation.code == heap::kFree || operation.code == heap::kFreeMaybe
               ? "free(block " + std::to_string(operation.a) + " of rank " +
                     std::to_string(operation.b) + ")"
               : "trim";
  }

 private:
  std::uint64_t blocks_ = 0;
  std::set<std::uint64_t> freed_;  ///< By kFreeMaybe.
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

std::string with_numbers(const char* name, const Operation& operation) {
  std::string text = name;
  if (operation.a != 0 || operation.b != 0) {
    text += "(" + std::to_string(operation.a);
    text += operation.b != 0 ? ", " + std::to_string(operation.b) + ")" : ")";
  }
  return text;
}

std::vector<std::uint64_t> TwoContainers::dump() const {
  std::vector<std::uint64_t> all;
  for (const Container* container : {&one_, &two_}) {
    all.insert(all.end(), container->begin(), container->end());
    all.push_back(kNothing);
  }
  return all;
}

void TwoContainers::run_part(const Operation& part) {
  switch (part.code) {
    case kCopyFirst: copies_[part.b] = one_; break;
    case kCopySecond: copies_[part.b] = two_; break;
    case kReplaceFirst: one_ = copies_[part.b]; break;
    case kReplaceSecond: two_ = copies_[part.b]; break;
    default: break;
  }
}

std::unique_ptr<Model> new_model(const std::string& structure) {
  if (structure == "deque") return deque_model();
  if (structure == "vector") return vector_model();
  if (structure == "list") return list_model();
  if (structure == "map") return map_model();
  if (structure == "set") return set_model();
  if (structure == "malloc") return std::make_unique<HeapModel>();
  if (structure == "workspace") return std::make_unique<WorkspaceModel>();
  if (structure == "channel") return std::make_unique<ChannelModel>();
  return nullptr;
}

}  // namespace explore
