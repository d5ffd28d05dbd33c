// Records that are used again and again, so that the hot path allocates
// nothing once enough of them exist.
#pragma once

#include <deque>
#include <vector>

namespace acp::ucx {

/// Guarded by the engine's mutex. Records stay at their addresses.
template <typename T>
class Pool {
 public:
  T& take() {
    if (free_.empty()) {
      free_.reserve(all_.size() + 1);  // give() then allocates nothing
      return all_.emplace_back();
    }
    T& record = *free_.back();
    free_.pop_back();
    return record;
  }

  void give(T& record) noexcept { free_.push_back(&record); }

 private:
  std::deque<T> all_;     ///< Grown by take(); never shrinks.
  std::vector<T*> free_;  ///< give() adds, and take() removes.
};

}  // namespace acp::ucx
