// The state of QMP in this process between init and finalize. One thread calls
// init and finalize; other threads read.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "qmp.h"
#include "qmp/comm.h"
#include "qmp/exchange.h"
#include "qmp/options.h"

namespace qmp {

/// begin() and end() write all fields. One thread at a time may call the
/// functions that write a field later: splits, topologies, defaults, barriers.
struct Job {
  Exchange exchange;  ///< Locks by itself; any thread.
  Options options;
  std::unique_ptr<QMP_comm_struct> world;
  std::unique_ptr<QMP_comm_struct>
      part;  ///< The nodes of this job; with -qmp-job.
  /// Revoked communicators, which QMP_comm_free could not free.
  std::vector<std::unique_ptr<QMP_comm_struct>> kept;
  /// The last 4,096 communicators that were freed, so that their use is an
  /// error. Oldest first.
  std::deque<std::unique_ptr<QMP_comm_struct>> freed;
  QMP_comm_t allocated = nullptr;  ///< See QMP_comm_get_allocated.
  QMP_comm_t job = nullptr;        ///< See QMP_comm_get_job.
  QMP_comm_t standard = nullptr;   ///< The default communicator.
  int job_number = 0;              ///< Number of this job with -qmp-job.
  int jobs = 1;                    ///< Jobs that the nodes are divided into.
  std::optional<Grid> machine;     ///< The allocated grid of this job.
  std::vector<int> machine_coordinates;  ///< Position of this node.
  std::vector<int> subgrid;       ///< Sites per node; QMP_layout_grid sets it.
  std::uint32_t next_comm = 2;    ///< Number of the next one; QMP_comm_split.
  int wait_timeout_ms = 600'000;  ///< -1: no limit.
  std::uint64_t barriers = 0;     ///< Barriers of the whole job begun here.

  /// The declared grid of a communicator. Without one it is the grid of the
  /// machine, for communicators of the library with as many nodes; or nullptr.
  const Grid* grid_of(const QMP_comm_struct& comm) const {
    if (comm.grid) {
      return &*comm.grid;
    }
    return machine && comm.nodes() == job->nodes() && comm.is_built_in
               ? &*machine
               : nullptr;
  }
};

/// nullptr before init, after finalize, and in a child made by fork().
Job* job() noexcept;

/// The number of this node in its job, for the lines that it prints. It stays
/// after finalize. Before init it is that of ACP_RANK and ACP_PROCS, which
/// acprun sets, or else 0 of 1.
struct NodeNumber {
  int node = 0;
  int nodes = 1;
};

NodeNumber node_number() noexcept;

/// Returns job(); nullptr comes with a failure that names `function`.
Job* job_for(const char* function);
/// Returns job_for() to a call that allocates; nullptr also when its
/// ReservedCall has found no memory with which it could end.
Job* job_to_begin(const char* function);

/// QMP_init_msg_passing.
QMP_status_t begin(int* argc, char*** argv);
/// QMP_finalize_msg_passing. Does nothing when the job was not joined.
void end();

}  // namespace qmp
