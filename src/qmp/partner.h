// The other node in one round of a reduction. Short messages go through the
// boxes of a pair, others through channels. docs/qmp.md, "Collectives".
#pragma once

#include <cstddef>

#include "qmp/operation.h"

namespace qmp {

/// Sends and receives alternate. Any status but QMP_SUCCESS: the operation has
/// failed here. Lives in one call of reduce(), on its thread.
class Partner {
 public:
  /// Waits for a handshake with the node in their first reduction.
  Partner(Operation& operation, int node);

  QMP_status_t send(void* data, std::size_t bytes);
  QMP_status_t receive(void* data, std::size_t bytes);
  /// Sends and receives; through channels both at a time.
  QMP_status_t swap(void* out, void* in, std::size_t bytes);

 private:
  using Lanes = QMP_comm_struct::Lanes;

  QMP_status_t handshake();
  QMP_status_t swap_words(std::uint64_t& out, std::uint64_t& in);
  QMP_status_t receive_in_pair(void* data, std::size_t bytes);

  bool is_paired(std::size_t bytes) const {
    return lanes_->pair != nullptr && bytes <= kPairBytes;
  }

  // The constructor writes these fields, and they do not change. No lock guards
  // them: the thread of the call alone uses the object. The communicator owns
  // the lanes, which handshake() changes.
  Operation& operation_;
  Lanes* lanes_;
  int rank_;             ///< The node's rank in the job.
  QMP_status_t status_;  ///< Result of handshake().
};

}  // namespace qmp
