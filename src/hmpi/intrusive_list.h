// A list whose links lie in its entries, so that no operation takes memory.
#pragma once

namespace hmpi {

/// The base of an entry of a List. An entry is in one list at a time.
struct ListNode {
  ListNode* before = nullptr;
  ListNode* after = nullptr;
};

/// Entries of type T, which derives from ListNode. The list does not own them,
/// and an entry stays in place while it is listed.
template <typename T>
class List {
 public:
  bool empty() const noexcept { return first_ == nullptr; }

  void push_back(T& entry) noexcept {
    entry.before = last_;
    entry.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &entry;
    last_ = &entry;
  }

  /// `entry` is in this list.
  void remove(T& entry) noexcept {
    (entry.before != nullptr ? entry.before->after : first_) = entry.after;
    (entry.after != nullptr ? entry.after->before : last_) = entry.before;
    entry.before = entry.after = nullptr;
  }

  /// The first entry for which `is_wanted` is true; or null.
  template <typename Predicate>
  T* find(Predicate is_wanted) const noexcept {
    for (ListNode* node = first_; node != nullptr; node = node->after) {
      T* entry = static_cast<T*>(node);
      if (is_wanted(*entry)) {
        return entry;
      }
    }
    return nullptr;
  }

 private:
  ListNode* first_ = nullptr;
  ListNode* last_ = nullptr;
};

}  // namespace hmpi
