// Probes: a message that has come over a ring, or one that the MPI below has.
#include "hmpi/api.h"

namespace hmpi {

namespace {

void describe(const Arrived& message, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) {
    return;
  }
  const Envelope& envelope = message.message.envelope;
  status->MPI_SOURCE = envelope.source;
  status->MPI_TAG = envelope.tag;
  below.Status_set_elements_x(status, MPI_BYTE,
                              static_cast<MPI_Count>(envelope.size));
  below.Status_set_cancelled(status, 0);
}

/// The oldest local message that a receive posted now would get; or null.
Arrived* find(Comm& comm, int rank, int tag) {
  const Peer peer = rank == MPI_ANY_SOURCE ? kAnyPeer : comm.peer_of(rank);
  return static_cast<Arrived*>(
      comm.context.matching.probe(peer, tag == MPI_ANY_TAG ? kAnyTag : tag));
}

/// Whether the MPI below may have a message that fits, too.
bool asks_below(const Comm& comm, int rank) {
  return rank == MPI_ANY_SOURCE && !comm.is_local;
}

Awaited awaited(const Comm& comm, int rank) {
  return {.is_below = asks_below(comm, rank)};
}

}  // namespace

/// A message that has come over a ring goes first.
HMPI_FUNCTION(
    Iprobe,
    (int rank, int tag, MPI_Comm handle, int* flag, MPI_Status* status)) {
  const Call call;
  Comm* comm = call ? comm_for(handle, rank, tag, 0, MPI_BYTE) : nullptr;
  if (call) {
    job().progress();
  }
  if (comm == nullptr) {
    return below.Iprobe(rank, tag, handle, flag, status);
  }
  if (const Arrived* message = find(*comm, rank, tag)) {
    *flag = 1;
    describe(*message, status);
    return MPI_SUCCESS;
  }
  *flag = 0;
  return asks_below(*comm, rank) ? below.Iprobe(rank, tag, handle, flag, status)
                                 : MPI_SUCCESS;
}

/// Looks at rings and at the MPI below in turn.
HMPI_FUNCTION(Probe, (int rank, int tag, MPI_Comm handle, MPI_Status* status)) {
  Call call;
  Comm* comm = call ? comm_for(handle, rank, tag, 0, MPI_BYTE) : nullptr;
  if (comm == nullptr && (!call || job().engine.is_idle())) {
    if (call) {
      call.leave();
    }
    return below.Probe(rank, tag, handle, status);
  }
  int code = MPI_SUCCESS;
  wait_until(job(),
             comm != nullptr ? awaited(*comm, rank) : Awaited{.is_below = true},
             [&] {
               int has_one = 0;
               if (comm != nullptr) {
                 if (const Arrived* message = find(*comm, rank, tag)) {
                   describe(*message, status);
                   return true;
                 }
               }
               if (comm == nullptr || asks_below(*comm, rank)) {
                 code = below.Iprobe(rank, tag, handle, &has_one, status);
               }
               return has_one != 0 || code != MPI_SUCCESS;
             });
  return code;
}

namespace {

/// Takes a local message for the program. False: there is none.
bool take(
    Comm& comm, int rank, int tag, MPI_Message* taken, MPI_Status* status) {
  Arrived* message = find(comm, rank, tag);
  if (message == nullptr) {
    return false;
  }
  describe(*message, status);
  comm.context.matching.take(*message);
  *taken = job().requests.hold(*message, comm);
  return true;
}

}  // namespace

/// Takes a message that has come over a ring, or else asks the MPI below.
HMPI_FUNCTION(Improbe,
              (int rank,
               int tag,
               MPI_Comm handle,
               int* flag,
               MPI_Message* message,
               MPI_Status* status)) {
  const Call call;
  Comm* comm = call ? comm_for(handle, rank, tag, 0, MPI_BYTE) : nullptr;
  if (call) {
    job().progress();
  }
  if (comm == nullptr) {
    return below.Improbe(rank, tag, handle, flag, message, status);
  }
  *flag = take(*comm, rank, tag, message, status) ? 1 : 0;
  return *flag == 0 && asks_below(*comm, rank)
             ? below.Improbe(rank, tag, handle, flag, message, status)
             : MPI_SUCCESS;
}

/// Looks as MPI_Probe does, and takes the message.
HMPI_FUNCTION(Mprobe,
              (int rank,
               int tag,
               MPI_Comm handle,
               MPI_Message* message,
               MPI_Status* status)) {
  Call call;
  Comm* comm = call ? comm_for(handle, rank, tag, 0, MPI_BYTE) : nullptr;
  if (comm == nullptr && (!call || job().engine.is_idle())) {
    if (call) {
      call.leave();
    }
    return below.Mprobe(rank, tag, handle, message, status);
  }
  int code = MPI_SUCCESS;
  wait_until(
      job(), comm != nullptr ? awaited(*comm, rank) : Awaited{.is_below = true},
      [&] {
        int has_one = 0;
        if (comm != nullptr && take(*comm, rank, tag, message, status)) {
          return true;
        }
        if (comm == nullptr || asks_below(*comm, rank)) {
          code = below.Improbe(rank, tag, handle, &has_one, message, status);
        }
        return has_one != 0 || code != MPI_SUCCESS;
      });
  return code;
}

}  // namespace hmpi
