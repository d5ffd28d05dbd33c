// HMPI_Init for programs that are written for HMPI: it makes communicators of
// the host and between hosts.
#include "hmpi/api.h"

namespace hmpi {

namespace {

/// The communicators have the names that the program uses.
extern "C" {
// NOLINTBEGIN(*-non-const-global-variables, readability-identifier-naming)
[[gnu::visibility("default")]] MPI_Comm HMPI_COMM_NODE = MPI_COMM_NULL;
[[gnu::visibility("default")]] MPI_Comm HMPI_COMM_NETWORK = MPI_COMM_NULL;
// NOLINTEND(*-non-const-global-variables, readability-identifier-naming)
}

/// The processes of each host in the order of their world ranks; then those of
/// all hosts that have the same rank there.
int make_comms(int code) {
  if (code != MPI_SUCCESS || HMPI_COMM_NODE != MPI_COMM_NULL) {
    return code;
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                             MPI_INFO_NULL, &HMPI_COMM_NODE);
  if (code != MPI_SUCCESS) {
    return code;
  }
  int node_rank = 0;
  MPI_Comm_rank(HMPI_COMM_NODE, &node_rank);
  return MPI_Comm_split(MPI_COMM_WORLD, node_rank, rank, &HMPI_COMM_NETWORK);
}

}  // namespace

#define HMPI_ADDED(name, parameters) \
  extern "C" [[gnu::visibility("default")]] int HMPI_##name parameters

HMPI_ADDED(Init, (int* argc, char*** argv)) {
  return make_comms(MPI_Init(argc, argv));
}

HMPI_ADDED(Init_thread,
           (int* argc, char*** argv, int required, int* provided)) {
  return make_comms(MPI_Init_thread(argc, argv, required, provided));
}

HMPI_ADDED(Finalize, (void)) {
  if (HMPI_COMM_NODE != MPI_COMM_NULL) {
    MPI_Comm_free(&HMPI_COMM_NETWORK);
    MPI_Comm_free(&HMPI_COMM_NODE);
  }
  return MPI_Finalize();
}

HMPI_ADDED(Comm_node_rank, (MPI_Comm comm, int rank, int* node_rank)) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group node = MPI_GROUP_NULL;
  int code = MPI_Comm_group(comm, &group);
  if (code != MPI_SUCCESS) {
    return code;
  }
  MPI_Comm_group(HMPI_COMM_NODE, &node);
  code = MPI_Group_translate_ranks(group, 1, &rank, node, node_rank);
  MPI_Group_free(&node);
  MPI_Group_free(&group);
  return code;
}

}  // namespace hmpi
