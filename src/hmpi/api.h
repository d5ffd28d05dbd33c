// How the functions of MPI are defined here: under both names, visible, in C.
#pragma once

#include "hmpi/below.h"
#include "hmpi/job.h"
#include "hmpi/types.h"
#include "hmpi/waiting.h"

/// Defines MPI_NAME and PMPI_NAME as one function with this list of parameters.
/// Its body follows.
#define HMPI_FUNCTION(name, parameters)                               \
  extern "C" [[gnu::visibility("default")]] int MPI_##name parameters \
      __attribute__((alias("PMPI_" #name)));                          \
  extern "C" [[gnu::visibility("default")]] int PMPI_##name parameters

namespace hmpi {

/// The communicator if a message to or from this rank may be local: the rank is
/// on this host, or any source. Else null, and the call passes through, as with
/// arguments that the MPI below will refuse.
inline Comm* comm_for(
    MPI_Comm handle, int rank, int tag, MPI_Count count, MPI_Datatype type) {
  if (rank == MPI_PROC_NULL || count < 0 || type == MPI_DATATYPE_NULL) {
    return nullptr;
  }
  Comm* comm = job().comms.find(handle);
  if (comm == nullptr || (rank < 0 && rank != MPI_ANY_SOURCE) ||
      (tag < 0 && tag != MPI_ANY_TAG) || tag > job().highest_tag) {
    return nullptr;
  }
  return rank == MPI_ANY_SOURCE || comm->peer_of(rank) != kAnyPeer ? comm
                                                                   : nullptr;
}

/// Answers as comm_for() does, for sends: their tag is no wildcard. Counts the
/// sends that pass through.
inline Comm* comm_for_send(
    MPI_Comm handle, int rank, int tag, MPI_Count count, MPI_Datatype type) {
  if (rank < 0 || tag < 0) {
    return nullptr;
  }
  Comm* comm = comm_for(handle, rank, tag, count, type);
  if (comm == nullptr) {
    (job().comms.find(handle) == nullptr ? job().below_on_unknown_comms
                                         : job().below_to_other_hosts) += 1;
  }
  return comm;
}

/// Whether a message of a plain type has no memory: the MPI below refuses it.
/// Absolute addresses, which begin at MPI_BOTTOM, are no plain type.
inline bool lacks_memory(const void* data, MPI_Count count, MPI_Datatype type) {
  return data == nullptr && count > 0 && type != MPI_DATATYPE_NULL &&
         facts_of(type).is_plain;
}

/// comm_for() for calls that have data.
inline Comm* comm_for(MPI_Comm handle,
                      const void* data,
                      int rank,
                      int tag,
                      MPI_Count count,
                      MPI_Datatype type) {
  return lacks_memory(data, count, type)
             ? nullptr
             : comm_for(handle, rank, tag, count, type);
}

inline Comm* comm_for_send(MPI_Comm handle,
                           const void* data,
                           int rank,
                           int tag,
                           MPI_Count count,
                           MPI_Datatype type) {
  return lacks_memory(data, count, type)
             ? nullptr
             : comm_for_send(handle, rank, tag, count, type);
}

/// A call that passes through, and waits. It goes straight to the MPI below if
/// nothing on this host needs the process meanwhile, or if its other end `rank`
/// is MPI_PROC_NULL, which takes no time; else as a request that `begin` makes,
/// beside local progress.
template <typename Straight, typename Begin>
int pass(
    Call& call, int rank, MPI_Status* status, Straight straight, Begin begin) {
  if (!call || rank == MPI_PROC_NULL || job().engine.is_idle()) {
    if (call) {
      call.leave();
    }
    return straight();
  }
  MPI_Request request = MPI_REQUEST_NULL;
  int code = begin(&request);
  if (code == MPI_SUCCESS) {
    wait_until(job(), {.is_below = true}, [&] {
      int is_done = 0;
      code = below.Test(&request, &is_done, status);
      return is_done != 0 || code != MPI_SUCCESS;
    });
  }
  return code;
}

/// Describes a send of the program in a request.
void describe_send(Request& request,
                   Comm& comm,
                   const void* data,
                   MPI_Count count,
                   MPI_Datatype type,
                   int rank,
                   int tag,
                   Mode mode);
void describe_receive(Request& request,
                      Comm& comm,
                      void* data,
                      MPI_Count count,
                      MPI_Datatype type,
                      int rank,
                      int tag);

/// The program may free a derived type while the receive is posted.
void keep_type(Request& request);

/// Waits for a request of a call that blocks. Inside of the gate.
void wait_for(Request& request);

/// Ends freed requests that are over. At the begin of calls that
/// complete requests.
inline void reap() {
  if (job().requests.has_freed()) {
    job().requests.reap();
  }
}

}  // namespace hmpi
