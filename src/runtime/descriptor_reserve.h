// Descriptors that are taken before they are needed. A connection that has to
// be accepted then finds one, although the program has used up its limit of
// open files meanwhile.
#pragma once

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"

namespace acp::runtime {

/// Move-only, and used by one thread at a time.
class DescriptorReserve {
 public:
  /// Holds up to `count` descriptors from now on, none of them below `lowest`.
  /// It holds fewer where the system gives no more.
  void hold(std::size_t count, int lowest);

  /// Frees one descriptor for the next call that needs one, if it holds any.
  void release_one() noexcept {
    if (!held_.empty()) {
      held_.pop_back();
    }
  }

  std::size_t size() const noexcept { return held_.size(); }

 private:
  UniqueFd model_;  ///< The others are duplicates of it, and say nothing.
  std::vector<UniqueFd> held_;
};

}  // namespace acp::runtime
