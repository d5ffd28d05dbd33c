// Barrier, broadcast and reductions over a communicator. docs/qmp.md,
// "Collectives".
#pragma once

#include <cstddef>
#include <cstdint>

#include "qmp.h"
#include "qmp/job.h"

namespace qmp {

/// Combines two operands of `bytes` bytes: lower = lower op higher. It may
/// change `higher`.
class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual void apply(void* lower, void* higher, std::size_t bytes) const = 0;
  /// Operators that must not meet in one operation have different kinds; see
  /// Tag.
  virtual std::uint8_t kind() const = 0;

 protected:
  ~Operator() = default;
};

// Every function here waits without a time limit; after QMP_WAIT_TIMEOUT it
// says once for which node it waits. A failure revokes the communicator. The
// error lines name `function`, a literal: the program has called it.

/// Replaces `data` by the reduction over all nodes. All nodes give equal sizes.
QMP_status_t reduce(Job& job,
                    QMP_comm_struct& comm,
                    const char* function,
                    void* data,
                    std::size_t bytes,
                    const Operator& combine);

/// Copies `data` of node 0 to all nodes.
QMP_status_t broadcast(Job& job,
                       QMP_comm_struct& comm,
                       const char* function,
                       void* data,
                       std::size_t bytes);

/// Block i of `out` on node j becomes block j of `in` on node i, for all pairs
/// of nodes. A block has `bytes` bytes. `in` and `out` do not overlap.
QMP_status_t all_to_all(Job& job,
                        QMP_comm_struct& comm,
                        const char* function,
                        std::byte* in,
                        std::byte* out,
                        std::size_t bytes);

QMP_status_t barrier(Job& job, QMP_comm_struct& comm, const char* function);

/// A barrier by a reduction of 0 bytes, on the channels of the communicator.
QMP_status_t meet(Job& job, QMP_comm_struct& comm, const char* function);

}  // namespace qmp
