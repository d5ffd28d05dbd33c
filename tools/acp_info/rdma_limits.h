// The limits of RDMA devices that matter for ACP. libibverbs knows them, and
// sysfs does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acp::info {

/// The limits of one device, by the names that ibv_devinfo -v prints.
struct RdmaLimits {
  std::string device;             ///< "mlx5_0".
  std::uint64_t max_qp = 0;       ///< Queue pairs: one for each connection.
  std::uint64_t max_qp_wr = 0;    ///< Work requests of a queue pair.
  std::uint64_t max_srq = 0;      ///< Shared receive queues; a color has one.
  std::uint64_t max_srq_wr = 0;   ///< Receive buffers of such a queue.
  std::uint64_t max_cqe = 0;      ///< Entries of a completion queue.
  std::uint64_t max_mr = 0;       ///< Memory registrations.
  std::uint64_t max_mr_size = 0;  ///< Bytes of one registration.
  std::uint64_t max_qp_rd_atom = 0;  ///< Reads and atomics served at once.
  std::string atomics;  ///< "none", "between queue pairs", "with the CPU's".
};

/// Asks each device, by name. libacp-verbs.so has to be loaded before, since it
/// brings libibverbs. Devices that cannot be opened are left out; the result is
/// empty without libibverbs.
std::vector<RdmaLimits> rdma_limits();

}  // namespace acp::info
