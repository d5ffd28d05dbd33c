// The calls that make communicators. A communicator that is made out of a known
// communicator is known as well.
#include "hmpi/api.h"

namespace hmpi {

namespace {

/// A collective creation: the MPI below makes the communicator, outside of the
/// gate, because it waits for other processes.
template <typename Make>
int create(Call& call, MPI_Comm parent, const MPI_Comm* made, Make make) {
  Comm* known = call ? job().comms.find(parent) : nullptr;
  if (known == nullptr) {
    if (call) {
      call.leave();
    }
    return make();
  }
  const std::uint64_t context = Comms::next_context(*known);
  int code = MPI_SUCCESS;
  {
    const Outside outside;
    code = make();
  }
  if (code == MPI_SUCCESS) {
    job().comms.add(*made, context);
  }
  return code;
}

}  // namespace

HMPI_FUNCTION(Comm_dup, (MPI_Comm comm, MPI_Comm* made)) {
  Call call;
  return create(call, comm, made, [&] { return below.Comm_dup(comm, made); });
}

HMPI_FUNCTION(Comm_dup_with_info,
              (MPI_Comm comm, MPI_Info info, MPI_Comm* made)) {
  Call call;
  return create(call, comm, made,
                [&] { return below.Comm_dup_with_info(comm, info, made); });
}

HMPI_FUNCTION(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made)) {
  Call call;
  return create(call, comm, made,
                [&] { return below.Comm_create(comm, group, made); });
}

HMPI_FUNCTION(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made)) {
  Call call;
  return create(call, comm, made,
                [&] { return below.Comm_split(comm, color, key, made); });
}

HMPI_FUNCTION(
    Comm_split_type,
    (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made)) {
  Call call;
  return create(call, comm, made, [&] {
    return below.Comm_split_type(comm, type, key, info, made);
  });
}

HMPI_FUNCTION(Cart_create,
              (MPI_Comm comm,
               int dimensions,
               const int* sizes,
               const int* periods,
               int reorder,
               MPI_Comm* made)) {
  Call call;
  return create(call, comm, made, [&] {
    return below.Cart_create(comm, dimensions, sizes, periods, reorder, made);
  });
}

HMPI_FUNCTION(Cart_sub, (MPI_Comm comm, const int* remain, MPI_Comm* made)) {
  Call call;
  return create(call, comm, made,
                [&] { return below.Cart_sub(comm, remain, made); });
}

HMPI_FUNCTION(Graph_create,
              (MPI_Comm comm,
               int nodes,
               const int* index,
               const int* edges,
               int reorder,
               MPI_Comm* made)) {
  Call call;
  return create(call, comm, made, [&] {
    return below.Graph_create(comm, nodes, index, edges, reorder, made);
  });
}

HMPI_FUNCTION(Dist_graph_create,
              (MPI_Comm comm,
               int n,
               const int* sources,
               const int* degrees,
               const int* destinations,
               const int* weights,
               MPI_Info info,
               int reorder,
               MPI_Comm* made)) {
  Call call;
  return create(call, comm, made, [&] {
    return below.Dist_graph_create(comm, n, sources, degrees, destinations,
                                   weights, info, reorder, made);
  });
}

HMPI_FUNCTION(Dist_graph_create_adjacent,
              (MPI_Comm comm,
               int in_degree,
               const int* sources,
               const int* source_weights,
               int out_degree,
               const int* destinations,
               const int* destination_weights,
               MPI_Info info,
               int reorder,
               MPI_Comm* made)) {
  Call call;
  return create(call, comm, made, [&] {
    return below.Dist_graph_create_adjacent(
        comm, in_degree, sources, source_weights, out_degree, destinations,
        destination_weights, info, reorder, made);
  });
}

/// Not collective on the parent: members alone call it.
HMPI_FUNCTION(Comm_create_group,
              (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made)) {
  Call call;
  Comm* known = call ? job().comms.find(comm) : nullptr;
  if (known == nullptr) {
    if (call) {
      call.leave();
    }
    return below.Comm_create_group(comm, group, tag, made);
  }
  const std::uint64_t context = Comms::next_context(*known, group, tag);
  int code = MPI_SUCCESS;
  {
    const Outside outside;
    code = below.Comm_create_group(comm, group, tag, made);
  }
  if (code == MPI_SUCCESS) {
    job().comms.add(*made, context);
  }
  return code;
}

namespace {

/// A duplicate that is known when its request is complete.
template <typename Make>
int create_later(MPI_Comm parent,
                 MPI_Comm* made,
                 const MPI_Request* request,
                 Make make) {
  const Call call;
  Comm* known = call ? job().comms.find(parent) : nullptr;
  if (known == nullptr) {
    return make();
  }
  const std::uint64_t context = Comms::next_context(*known);
  const int code = make();
  if (code == MPI_SUCCESS) {
    job().requests.expect_duplicate(*request, made, context);
  }
  return code;
}

}  // namespace

HMPI_FUNCTION(Comm_idup,
              (MPI_Comm comm, MPI_Comm* made, MPI_Request* request)) {
  return create_later(comm, made, request,
                      [&] { return below.Comm_idup(comm, made, request); });
}

#if MPI_VERSION >= 4
HMPI_FUNCTION(
    Comm_idup_with_info,
    (MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request)) {
  return create_later(comm, made, request, [&] {
    return below.Comm_idup_with_info(comm, info, made, request);
  });
}
#endif

}  // namespace hmpi
