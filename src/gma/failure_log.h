// The failed operations that no call has collected yet.
//
// A failure is never forgotten before it is collected. A forgotten failure
// would read as success, and operations ordered after it would start. Failed
// numbers that follow one another with the same reason share an entry.
#pragma once

#include <cstddef>
#include <deque>

#include "gma/operation.h"

namespace acp::gma {

/// Guarded by the engine's mutex.
///
/// Invariants: entries are in ascending order and do not overlap; each number
/// that failed and was not collected is inside exactly one entry.
class FailureLog {
 public:
  /// Bounds the memory. Once there are so many entries, the last one grows
  /// over the numbers in between, which then count as failed as well.
  static constexpr std::size_t kMaxEntries = 4096;

  /// `sequence` has failed. Numbers come in ascending order; `status` is not
  /// kOk.
  void note(Sequence sequence, Status status);

  /// The reason of the oldest failure at or below `sequence`; kOk when there is
  /// none.
  Status first_up_to(Sequence sequence) const noexcept {
    return !entries_.empty() && entries_.front().first <= sequence
               ? entries_.front().status
               : Status::kOk;
  }

  /// Removes the failures at or below `sequence`.
  void collect_up_to(Sequence sequence);

  bool is_empty() const noexcept { return entries_.empty(); }

  std::size_t entries() const noexcept { return entries_.size(); }

  void clear() noexcept { entries_.clear(); }

 private:
  /// The numbers `first` to `last` have failed with `status`.
  struct Entry {
    Sequence first;
    Sequence last;
    Status status;
  };

  /// note() adds or extends. collect_up_to() and clear() remove.
  std::deque<Entry> entries_;
};

}  // namespace acp::gma
