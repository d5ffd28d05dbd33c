// The MPI below: its functions, under the names that this library hides.
#pragma once

#include <mpi.h>

namespace hmpi {

// The functions that HMPI calls. An MPI-4 library has further ones.
// clang-format off
#define HMPI_BELOW(F)                                                         \
  F(Abort) F(Allgather) F(Alloc_mem) F(Allreduce) F(Bsend) F(Bsend_init) F(Buffer_attach)      \
  F(Buffer_detach) F(Cancel) F(Cart_create) F(Cart_sub)                       \
  F(Comm_call_errhandler) F(Comm_create) F(Comm_create_group)                 \
  F(Comm_create_keyval) F(Comm_delete_attr) F(Comm_dup)                       \
  F(Comm_dup_with_info) F(Comm_free) F(Comm_get_attr) F(Comm_get_errhandler) F(Comm_group)           \
  F(Comm_idup) F(Comm_rank) F(Comm_set_attr) F(Comm_size) F(Comm_split)       \
  F(Comm_split_type) F(Dist_graph_create) F(Dist_graph_create_adjacent)       \
  F(Errhandler_free) F(Finalize) F(Free_mem) F(Graph_create) F(Group_free) F(Group_size)                     \
  F(Group_translate_ranks) F(Ibarrier) F(Ibsend) F(Improbe) F(Imrecv)         \
  F(Init) F(Init_thread) F(Iprobe) F(Irecv) F(Irsend) F(Isend) F(Issend)      \
  F(Mprobe) F(Mrecv) F(Pack) F(Probe) F(Query_thread) F(Recv) F(Recv_init) F(Reduce) F(Request_free)    \
  F(Request_get_status) F(Rsend) F(Rsend_init) F(Send) F(Send_init)           \
  F(Sendrecv) F(Sendrecv_replace) F(Ssend) F(Ssend_init) F(Start)             \
  F(Startall) F(Status_set_cancelled) F(Status_set_elements_x) F(Test)        \
  F(Test_cancelled) F(Testall) F(Testany) F(Testsome) F(Type_commit) F(Type_contiguous) \
  F(Type_create_hindexed) F(Type_create_keyval) F(Type_free)      \
  F(Type_get_contents) F(Type_get_envelope) F(Type_get_extent_x)              \
  F(Type_get_true_extent_x) F(Type_set_attr) F(Type_size_x) F(Unpack)         \
  F(Wait) F(Waitall) F(Waitany) F(Waitsome)

#if MPI_VERSION >= 4
#define HMPI_BELOW_4(F)                                                       \
  F(Bsend_c) F(Bsend_init_c) F(Buffer_attach_c) F(Buffer_detach_c)            \
  F(Comm_idup_with_info) F(Ibsend_c) F(Imrecv_c) F(Irecv_c) F(Irsend_c)       \
  F(Isend_c) F(Isendrecv) F(Isendrecv_c) F(Isendrecv_replace)                 \
  F(Isendrecv_replace_c) F(Issend_c) F(Mrecv_c) F(Recv_c) F(Recv_init_c)      \
  F(Rsend_c) F(Rsend_init_c) F(Send_c) F(Send_init_c) F(Sendrecv_c)           \
  F(Sendrecv_replace_c) F(Ssend_c) F(Ssend_init_c)
#else
#define HMPI_BELOW_4(F)
#endif
// clang-format on

/// Pointers to the functions behind this library, of their PMPI_ names.
struct Below {
// NOLINTNEXTLINE(bugprone-macro-parentheses): `name` is declared
#define HMPI_POINTER(name) decltype(&PMPI_##name) name = nullptr;
  HMPI_BELOW(HMPI_POINTER)
  HMPI_BELOW_4(HMPI_POINTER)
#undef HMPI_POINTER
};

/// Filled when the library is loaded.
extern Below below;

/// Ends the process with a line if it has loaded another MPI than the one that
/// this library was built for: it would call functions of both.
void require_one_mpi();

}  // namespace hmpi
