// Makes the machine and the jobs on it from -qmp-geom and -qmp-job. Called by
// job.cc. Every node computes alike from equal options; nothing is sent.
#include "qmp/partition.h"

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "qmp/failure.h"
#include "qmp/tree.h"

namespace qmp {

namespace {

/// Gives each node of the machine its job in `job_of`. The grid of one job
/// becomes the machine that the program sees.
QMP_status_t split_grid(Job& made, std::vector<int>& job_of) {
  const std::vector<int>& jobs = made.options.jobs;
  const std::vector<int> dims = made.machine->dims();
  std::vector<int> left(dims.size());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (jobs.size() != dims.size() || jobs[axis] < 1 ||
        dims[axis] % jobs[axis] != 0) {
      return fail(QMP_INVALID_TOPOLOGY,
                  "-qmp-job needs one number for each of the %zu dimensions of "
                  "%s, each a divisor",
                  dims.size(), made.options.geometry_source);
    }
    left[axis] = dims[axis] / jobs[axis];
  }
  const Grid grid_of_jobs(jobs, {});
  std::vector<int> coordinates(dims.size());
  for (int node = 0; node < made.world->nodes(); ++node) {
    made.machine->coordinates_of(node, coordinates.data());
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      coordinates[axis] /= left[axis];
    }
    job_of[static_cast<std::size_t>(node)] = grid_of_jobs.node_at(coordinates);
  }
  made.machine.emplace(left, made.options.allocated_map);
  return QMP_SUCCESS;
}

/// Gives consecutive nodes to each job: there is no grid.
QMP_status_t split_switch(const Job& made, std::vector<int>& job_of) {
  const std::vector<int>& jobs = made.options.jobs;
  const int nodes = made.world->nodes();
  if (jobs.size() != 1 || jobs[0] < 1 || nodes % jobs[0] != 0) {
    return fail(QMP_INVALID_TOPOLOGY,
                "-qmp-job without -qmp-geom needs one number that divides %d, "
                "the number of nodes",
                nodes);
  }
  for (int node = 0; node < nodes; ++node) {
    job_of[static_cast<std::size_t>(node)] = node / (nodes / jobs[0]);
  }
  return QMP_SUCCESS;
}

}  // namespace

void join_comm(Job& made, QMP_comm_struct& comm) {
  comm.revocation = &made.exchange.join(comm.number, partner_ranks(comm));
}

/// Without -qmp-geom or QMP_GEOM the machine is a switch, and nothing is made.
QMP_status_t lay_out_machine(Job& made) {
  const Options& options = made.options;
  if (options.geometry.empty()) {
    return QMP_SUCCESS;
  }
  const int nodes = made.world->nodes();
  if (!Grid::is_valid(options.geometry, options.allocated_map, nodes)) {
    const bool has_map = !options.allocated_map.empty();
    return fail(QMP_INVALID_TOPOLOGY,
                "%s %s: the sizes must have the product %d, the number of "
                "nodes%s%s",
                options.geometry_source, text_of(options.geometry).c_str(),
                nodes,
                has_map ? "; and each of -qmp-alloc-map has to name another "
                          "axis of them: "
                        : "",
                text_of(options.allocated_map).c_str());
  }
  made.machine.emplace(options.geometry, options.allocated_map);
  return QMP_SUCCESS;
}

/// Nodes keep their order within a job. The communicator of the job needs no
/// message: every node computes its members.
QMP_status_t split_jobs(Job& made) {
  QMP_comm_struct& world = *made.world;
  made.allocated = &world;
  if (!made.options.jobs.empty()) {
    std::vector<int> job_of(world.ranks.size());
    const QMP_status_t status =
        made.machine ? split_grid(made, job_of) : split_switch(made, job_of);
    if (status != QMP_SUCCESS) {
      return status;
    }
    made.jobs =
        std::accumulate(made.options.jobs.begin(), made.options.jobs.end(), 1,
                        std::multiplies<>());
    made.job_number = job_of[static_cast<std::size_t>(world.me)];
    made.part = std::make_unique<QMP_comm_struct>();
    made.part->number = 1;
    for (int node = 0; node < world.nodes(); ++node) {
      if (job_of[static_cast<std::size_t>(node)] != made.job_number) {
        continue;
      }
      if (node == world.me) {
        made.part->me = made.part->nodes();
      }
      made.part->ranks.push_back(node);
    }
    join_comm(made, *made.part);
    made.allocated = made.part.get();
  }
  made.job = made.allocated;
  made.standard = made.allocated;
  if (made.machine) {
    made.machine_coordinates.resize(made.machine->dims().size());
    made.machine->coordinates_of(made.job->me, made.machine_coordinates.data());
  }
  return QMP_SUCCESS;
}

}  // namespace qmp
