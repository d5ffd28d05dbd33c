// The state of QMP in this process, from init to finalize.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "qmp.h"
#include "qmp/comm.h"
#include "qmp/exchange.h"
#include "qmp/options.h"

namespace qmp {

struct Job {
  Exchange exchange;
  Options options;
  std::unique_ptr<QMP_comm_struct> world;
  std::unique_ptr<QMP_comm_struct> part;  ///< With -qmp-job.
  /// Which QMP_comm_free could not free, because they are revoked.
  std::vector<std::unique_ptr<QMP_comm_struct>> kept;
  QMP_comm_t allocated = nullptr;
  QMP_comm_t job = nullptr;
  QMP_comm_t standard = nullptr;  ///< The default communicator.
  int job_number = 0;
  int jobs = 1;
  std::optional<Grid> machine;  ///< The allocated grid of this job.
  std::vector<int> machine_coordinates;
  std::vector<int> subgrid;
  std::uint32_t next_comm = 2;
  int wait_timeout_ms = 600'000;  ///< -1: none.
  std::uint64_t barriers = 0;     ///< Of the whole job, begun here.

  /// The declared grid, or the machine's for those who share it; nullptr: none.
  const Grid* grid_of(const QMP_comm_struct& comm) const {
    if (comm.grid) {
      return &*comm.grid;
    }
    return machine && comm.nodes() == job->nodes() && comm.is_built_in
               ? &*machine
               : nullptr;
  }
};

/// nullptr before init and after finalize.
Job* job() noexcept;

/// This node in the job that it has joined last: 0 of 1 before.
struct NodeNumber {
  int node = 0;
  int nodes = 1;
};

NodeNumber node_number() noexcept;

/// The same, and a failure that names the function.
Job* job_for(const char* function);

/// Joins. QMP_init_msg_passing.
QMP_status_t begin(int* argc, char*** argv);
/// Leaves. Nothing when not joined.
void end();

}  // namespace qmp
