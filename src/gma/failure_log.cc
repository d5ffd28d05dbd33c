// The list of failures. The order queue calls it, under the engine's mutex; it
// may not drop a failure that was not collected.
#include "gma/failure_log.h"

#include <algorithm>

#include "base/assert.h"

namespace acp::gma {

void FailureLog::note(Sequence sequence, Status status) {
  if (!entries_.empty()) {
    Entry& last = entries_.back();
    ACP_ASSERT(sequence > last.last);
    const bool follows = sequence == last.last + 1 && status == last.status;
    // In a full log, operations between two failures count as failed, too. The
    // log may report too many failures, but may not hide one.
    if (follows || entries_.size() == kMaxEntries) {
      last.last = sequence;
      return;
    }
  }
  entries_.push_back({sequence, sequence, status});
}

void FailureLog::collect_up_to(Sequence sequence) {
  while (!entries_.empty() && entries_.front().last <= sequence) {
    entries_.pop_front();
  }
  if (!entries_.empty()) {
    Entry& front = entries_.front();
    front.first = std::max(front.first, sequence + 1);
  }
}

}  // namespace acp::gma
