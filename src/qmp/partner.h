// The other node of a step of a reduction, and the way to it: its box, or
// channels. docs/qmp.md, "Collectives".
#pragma once

#include <cstddef>

#include "qmp/operation.h"

namespace qmp {

/// Sends to a partner and receives from it alternate. Any status but
/// QMP_SUCCESS: the operation has failed here.
class Partner {
 public:
  /// The first reduction with a node meets it, which may wait.
  Partner(Operation& operation, int node);

  QMP_status_t send(void* data, std::size_t bytes);
  QMP_status_t receive(void* data, std::size_t bytes);
  /// Both, at the same time where they go through channels.
  QMP_status_t swap(void* out, void* in, std::size_t bytes);

 private:
  using Lanes = QMP_comm_struct::Lanes;

  QMP_status_t meet();
  QMP_status_t swap_words(std::uint64_t& out, std::uint64_t& in);
  QMP_status_t receive_in_pair(void* data, std::size_t bytes);

  bool is_paired(std::size_t bytes) const {
    return lanes_->pair != nullptr && bytes <= kPairBytes;
  }

  Operation& operation_;
  Lanes* lanes_;
  int rank_;
  QMP_status_t status_;  ///< Of the meeting.
};

}  // namespace qmp
