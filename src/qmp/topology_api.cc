// The functions of qmp.h for the logical topology of a communicator and for the
// division of a lattice. Programs call them; every node computes for itself,
// and nothing is sent.
#include <climits>
#include <cstdlib>
#include <span>
#include <vector>

#include "inbox/reserved_call.h"
#include "qmp.h"
#include "qmp/api_pair.h"
#include "qmp/failure.h"
#include "qmp/job.h"

using qmp::fail;
using qmp::Grid;
using qmp::Job;

namespace {

constexpr const char* kLayOut = "QMP_layout_grid";

const Grid* grid_of(QMP_comm_t comm) {
  const Job* mine = qmp::job();
  return mine != nullptr && comm != nullptr ? mine->grid_of(*comm) : nullptr;
}

/// Returns grid_of(); nullptr comes with a failure that names `function`.
const Grid* known_grid_of(QMP_comm_t comm, const char* function) {
  if (qmp::job_for(function) == nullptr) {
    return nullptr;
  }
  const Grid* grid = grid_of(comm);
  if (grid == nullptr) {
    (void)fail(QMP_NONEIGHBOR_INFO, "%s: %s", function,
               comm == nullptr  ? "the communicator is NULL"
               : comm->is_freed ? "the communicator was freed before"
                                : "no logical topology is declared; call "
                                  "QMP_declare_logical_topology or "
                                  "QMP_layout_grid before");
  }
  return grid;
}

bool is_node_of(QMP_comm_t comm, int node, const char* function) {
  if (node >= 0 && node < comm->nodes()) {
    return true;
  }
  (void)fail(QMP_NODE_OUTRANGE, "%s: node %d; nodes are 0 to %d", function,
             node, comm->nodes() - 1);
  return false;
}

/// Sizes are checked without the map first, so that the message says which of
/// the two is wrong.
QMP_status_t declare_topology(const char* function,
                              QMP_comm_t comm,
                              std::span<const int> dims,
                              std::span<const int> map) {
  if (comm->grid) {
    return fail(QMP_TOPOLOGY_EXISTS,
                "%s: this communicator has the logical topology %s already; it "
                "is declared once",
                function, qmp::text_of(comm->grid->dims()).c_str());
  }
  if (!Grid::is_valid(dims, {}, comm->nodes())) {
    return fail(QMP_INVALID_ARG,
                "%s: sizes %s; they have to be 1 or more and have the product "
                "%d, the number of nodes",
                function, qmp::text_of(dims).c_str(), comm->nodes());
  }
  if (!Grid::is_valid(dims, map, comm->nodes())) {
    return fail(QMP_INVALID_ARG,
                "%s: the map %s (an argument, or -qmp-logic-map); each number "
                "in it has to name another one of the %zu axes, from 0",
                function, qmp::text_of(map).c_str(), dims.size());
  }
  comm->grid.emplace(dims, map);
  comm->coordinates.resize(dims.size());
  comm->grid->coordinates_of(comm->me, comm->coordinates.data());
  qmp::tell("logical topology %s, this node at %s", qmp::text_of(dims).c_str(),
            qmp::text_of(comm->coordinates).c_str());
  return QMP_SUCCESS;
}

/// The three checks come in this order, so that the message names the first
/// argument that is wrong.
QMP_status_t declare_topology_of(const char* function,
                                 QMP_comm_t comm,
                                 const int* dims,
                                 int ndim,
                                 std::span<const int> map) {
  const inbox::ReservedCall call;
  if (qmp::job_to_begin(function) == nullptr) {
    return qmp::last_failure().status;
  }
  if (comm == nullptr || dims == nullptr) {
    return fail(QMP_INVALID_ARG, "%s: %s is NULL", function,
                comm == nullptr ? "the communicator" : "dims");
  }
  if (comm->is_freed) {
    return fail(QMP_INVALID_ARG, "%s: the communicator was freed before",
                function);
  }
  if (ndim < 1) {
    return fail(QMP_INVALID_ARG, "%s: ndim is %d; it has to be 1 or more",
                function, ndim);
  }
  return declare_topology(function, comm,
                          {dims, static_cast<std::size_t>(ndim)}, map);
}

/// Whether a node would have more than INT_MAX sites.
bool is_too_large(std::span<const int> lattice, int nodes) {
  const long long most = static_cast<long long>(INT_MAX) * nodes;
  long long sites = 1;
  for (const int size : lattice) {
    if (sites > most / size) {
      return true;
    }
    sites *= size;
  }
  return false;
}

/// The grid of nodes for a lattice; empty when the lattice cannot be divided. A
/// topology that is there is kept. A declared one has as many dimensions as the
/// lattice.
std::vector<int> nodes_for(const Job& mine,
                           const QMP_comm_struct& comm,
                           std::span<const int> lattice) {
  const Grid* grid = mine.grid_of(comm);
  if (grid != nullptr && grid->dims().size() == lattice.size()) {
    for (std::size_t axis = 0; axis < lattice.size(); ++axis) {
      if (lattice[axis] % grid->dims()[axis] != 0) {
        return {};
      }
    }
    return grid->dims();
  }
  return qmp::divide_lattice(lattice, comm.nodes(), mine.options.layout)
      .value_or(std::vector<int>{});
}

/// Checks the sizes, divides the lattice, and declares the topology if there is
/// none.
QMP_status_t lay_out(Job& mine, std::span<const int> lattice) {
  for (std::size_t axis = 0; axis < lattice.size(); ++axis) {
    if (lattice[axis] < 1) {
      return fail(
          QMP_INVALID_ARG,
          "%s: axis %zu of the lattice has %d sites; each has to have 1 "
          "or more",
          kLayOut, axis, lattice[axis]);
    }
  }
  QMP_comm_struct& comm = *mine.standard;
  const Grid* grid = mine.grid_of(comm);
  if (comm.grid && grid->dims().size() != lattice.size()) {
    return fail(QMP_INVALID_TOPOLOGY,
                "%s: the lattice has %zu dimensions, the declared topology has "
                "%zu; both have to have as many",
                kLayOut, lattice.size(), grid->dims().size());
  }
  if (is_too_large(lattice, comm.nodes())) {
    return fail(QMP_INVALID_TOPOLOGY,
                "%s: a lattice of %s has more than %d sites for each of %d "
                "nodes: take more nodes",
                kLayOut, qmp::text_of(lattice).c_str(), INT_MAX, comm.nodes());
  }
  const std::vector<int> nodes = nodes_for(mine, comm, lattice);
  std::vector<int> sizes;
  for (std::size_t axis = 0; axis < nodes.size(); ++axis) {
    sizes.push_back(lattice[axis] / nodes[axis]);
  }
  if (nodes.empty()) {
    const bool is_given =
        grid != nullptr && grid->dims().size() == lattice.size();
    return fail(QMP_INVALID_TOPOLOGY,
                "%s: a lattice of %s cannot be divided equally among %d "
                "nodes%s%s: take another number of nodes",
                kLayOut, qmp::text_of(lattice).c_str(), comm.nodes(),
                is_given ? " in a grid of " : "",
                is_given ? qmp::text_of(grid->dims()).c_str() : "");
  }
  if (!comm.grid) {
    const std::vector<int>& map = mine.machine && mine.machine->dims() == nodes
                                      ? mine.options.allocated_map
                                      : mine.options.logical_map;
    const QMP_status_t status = declare_topology(kLayOut, &comm, nodes, map);
    if (status != QMP_SUCCESS) {
      return status;
    }
  }
  mine.subgrid = sizes;
  return QMP_SUCCESS;
}

}  // namespace

extern "C" {

// Without a map the axes keep their order, and mapdim counts as 0.
QMP_API_PAIR(QMP_status_t,
             declare_logical_topology_map,
             (dims, ndim, map, mapdim),
             const int dims[],
             int ndim,
             const int map[],
             int mapdim) {
  if (qmp::job_for(function) == nullptr) {
    return QMP_NOT_INITED;
  }
  if (mapdim < 0) {
    return fail(QMP_INVALID_ARG, "%s: mapdim is %d; it has to be 0 or more",
                function, mapdim);
  }
  const std::size_t mapped =
      map != nullptr ? static_cast<std::size_t>(mapdim) : 0;
  return declare_topology_of(function, comm, dims, ndim, {map, mapped});
}

QMP_API_PAIR(QMP_status_t,
             declare_logical_topology,
             (dims, ndim),
             const int dims[],
             int ndim) {
  const Job* mine = qmp::job();
  const std::vector<int> none;
  const std::vector<int>& map =
      mine != nullptr ? mine->options.logical_map : none;
  return declare_topology_of(function, comm, dims, ndim, map);
}

QMP_API_PAIR(QMP_bool_t, logical_topology_is_declared, ()) {
  return comm != nullptr && comm->grid ? QMP_TRUE : QMP_FALSE;
}

QMP_API_PAIR(int, get_logical_number_of_dimensions, ()) {
  const Grid* grid = grid_of(comm);
  return grid != nullptr ? grid->axes() : 0;
}

QMP_API_PAIR(const int*, get_logical_dimensions, ()) {
  const Grid* grid = grid_of(comm);
  return grid != nullptr ? grid->dims().data() : nullptr;
}

QMP_API_PAIR(const int*, get_logical_coordinates, ()) {
  if (grid_of(comm) == nullptr) {
    return nullptr;
  }
  return comm->grid ? comm->coordinates.data()
                    : QMP_get_allocated_coordinates();
}

QMP_API_PAIR(void,
             get_logical_coordinates_from2,
             (coords, node),
             int coords[],
             int node) {
  const Grid* grid = known_grid_of(comm, function);
  if (grid != nullptr && is_node_of(comm, node, function)) {
    grid->coordinates_of(node, coords);
  }
}

QMP_API_PAIR(int*, get_logical_coordinates_from, (node), int node) {
  const Grid* grid = known_grid_of(comm, function);
  if (grid == nullptr || !is_node_of(comm, node, function)) {
    return nullptr;
  }
  // The caller frees it, in C.
  auto* result =
      static_cast<int*>(std::malloc(grid->dims().size() * sizeof(int)));
  if (result == nullptr) {
    return qmp::fail_null(QMP_NOMEM_ERR, "%s: no memory", function);
  }
  grid->coordinates_of(node, result);
  return result;
}

QMP_API_PAIR(int,
             get_node_number_from,
             (coordinates),
             const int coordinates[]) {
  const Grid* grid = known_grid_of(comm, function);
  if (grid == nullptr) {
    return -1;
  }
  if (coordinates == nullptr) {
    (void)fail(QMP_INVALID_ARG, "%s: coordinates is NULL", function);
    return -1;
  }
  return grid->node_at({coordinates, grid->dims().size()});
}

QMP_status_t QMP_layout_grid(const int dimensions[], int ndims) {
  const inbox::ReservedCall call;
  Job* mine = qmp::job_to_begin(kLayOut);
  if (mine == nullptr) {
    return qmp::last_failure().status;
  }
  if (dimensions == nullptr) {
    return fail(QMP_INVALID_ARG, "%s: dimensions is NULL", kLayOut);
  }
  if (ndims < 1) {
    return fail(QMP_INVALID_ARG, "%s: ndims is %d; it has to be 1 or more",
                kLayOut, ndims);
  }
  return lay_out(*mine, {dimensions, static_cast<std::size_t>(ndims)});
}

const int* QMP_get_subgrid_dimensions(void) {
  const Job* mine = qmp::job();
  return mine != nullptr && !mine->subgrid.empty() ? mine->subgrid.data()
                                                   : nullptr;
}

int QMP_get_number_of_subgrid_sites(void) {
  const Job* mine = qmp::job();
  if (mine == nullptr || mine->subgrid.empty()) {
    return 0;
  }
  int sites = 1;
  for (const int size : mine->subgrid) {
    sites *= size;
  }
  return sites;
}

}  // extern "C"
