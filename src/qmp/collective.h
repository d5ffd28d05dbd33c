// Barrier, broadcast and reductions over a communicator. docs/qmp.md,
// "Collectives".
#pragma once

#include <cstddef>
#include <cstdint>

#include "qmp.h"
#include "qmp/job.h"

namespace qmp {

/// Combines two operands of `bytes` bytes: lower = lower op higher. `higher`
/// may be changed.
class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual void apply(void* lower, void* higher, std::size_t bytes) const = 0;
  /// Different for operators that must not meet; see Tag.
  virtual std::uint8_t kind() const = 0;

 protected:
  ~Operator() = default;
};

// All of these wait without a time limit, and say once for whom when it takes
// longer than QMP_WAIT_TIMEOUT. A failure revokes the communicator.

/// In place. All nodes give the same size.
QMP_status_t reduce(Job& job,
                    QMP_comm_struct& comm,
                    void* data,
                    std::size_t bytes,
                    const Operator& combine);

/// From node 0.
QMP_status_t broadcast(Job& job,
                       QMP_comm_struct& comm,
                       void* data,
                       std::size_t bytes);

QMP_status_t barrier(Job& job, QMP_comm_struct& comm);

/// A reduction of nothing, on channels of the communicator itself.
QMP_status_t meet(Job& job, QMP_comm_struct& comm);

}  // namespace qmp
