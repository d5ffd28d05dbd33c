// The interface by which the World tells about the steps of a schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "acp/extension.h"

namespace explore {

/// A put8 or an atomic that has happened at its target.
struct WordChange {
  const void* thread;  ///< The thread that has posted it.
  int rank;            ///< The rank of the thread.
  const acpx_op_t& op;
  std::uint64_t old;  ///< Content of the word before.
  const std::vector<acpx_op_t>& chain;
};

/// Sees the steps of a schedule, in their order.
class StepWatcher {
 public:
  StepWatcher() = default;
  StepWatcher(const StepWatcher&) = delete;
  StepWatcher& operator=(const StepWatcher&) = delete;
  virtual ~StepWatcher() = default;

  virtual void on_change(const WordChange& change) = 0;

  /// An operation of the program has ended.
  virtual void on_call_end(const void* thread) = 0;
};

}  // namespace explore
