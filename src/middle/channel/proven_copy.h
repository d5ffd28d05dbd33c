// A copy of message bytes whose failure the channel learns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Copies into memory of this rank, one copy at a time, and proves that all of
/// it was executed. The handle of a copy says only that nothing of it is under
/// way. acp_complete would tell a failure, and would collect the failures of
/// the program as well. So a word of this rank is added to behind the copy, in
/// the same operation. Guarded by the lock of its end. Nothing here waits.
class ProvenCopy {
 public:
  /// `proof` is the word at `proof_at`, in this rank's heap. No other copy uses
  /// it until this one is over.
  ProvenCopy(std::uint64_t& proof, acp_ga_t proof_at)
      : proof_(&proof), proof_at_(proof_at) {}

  /// Returns 0: the copy has started. ACPX_AGAIN: the window is full, and
  /// nothing has changed. Another code of acp_errno: it cannot start at all.
  int start(acp_ga_t to, acp_ga_t from, std::size_t size) {
    store(*proof_, 0);
    const int before = acp_errno;
    {
      const BusyScope busy;
      handle_ = acpx_put_signal(to, from, size, proof_at_, 1, ACP_HANDLE_NULL);
    }
    const int reason = handle_ == ACP_HANDLE_NULL ? acp_errno : 0;
    acp_errno = before;
    return reason;
  }

  /// From the start of a copy to end().
  bool is_started() const { return handle_ != ACP_HANDLE_NULL; }

  /// Nothing is under way.
  bool is_over() const { return is_complete(handle_); }

  /// Called when the copy is over. Its bytes are not, or not all, here.
  bool has_failed() const { return is_started() && load(*proof_) == 0; }

  /// Called when the copy is over and its bytes were used.
  void end() { handle_ = ACP_HANDLE_NULL; }

 private:
  // start() and end() write these, under the lock of the end. The copy itself
  // adds to the word behind proof_.
  std::uint64_t* proof_;
  acp_ga_t proof_at_;
  acp_handle_t handle_ = ACP_HANDLE_NULL;
};

}  // namespace acp::middle::channel
