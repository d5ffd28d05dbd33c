// Sends and receives of MPI. A local message becomes a request; any other call
// passes through.
#include <cstdlib>

#include "hmpi/api.h"
#include "hmpi/end_job.h"
#include "hmpi/packing.h"

namespace hmpi {

void describe_send(Request& request,
                   Comm& comm,
                   const void* data,
                   MPI_Count count,
                   MPI_Datatype type,
                   int rank,
                   int tag,
                   Mode mode) {
  request.work = Request::Work::kSend;
  request.comm = &comm;
  request.data = const_cast<void*>(data);
  request.count = count;
  request.type = type;
  request.rank = rank;
  request.wanted_tag = tag;
  request.mode = mode;
}

void describe_receive(Request& request,
                      Comm& comm,
                      void* data,
                      MPI_Count count,
                      MPI_Datatype type,
                      int rank,
                      int tag) {
  describe_send(request, comm, data, count, type, rank, tag, Mode::kStandard);
  request.work = Request::Work::kReceive;
}

namespace {

/// A type of its own that has the same elements. A duplicate would call what
/// the program has attached to the type.
void own_type(Request& request) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (below.Type_contiguous(1, request.type, &made) == MPI_SUCCESS) {
    below.Type_commit(&made);
    request.type = made;
    request.owns_type = true;
  }
}

}  // namespace

void keep_type(Request& request) {
  const TypeFacts& facts = facts_of(request.type);
  if (!facts.is_named && !facts.is_plain) {
    own_type(request);
  }
}

void wait_for(Request& request) {
  Job& all = job();
  const bool is_send = request.work == Request::Work::kSend;
  wait_until(all,
             {.send = is_send ? &request.send : nullptr,
              .is_below = request.waits_below()},
             [&] { return request.is_over(all.engine); });
}

namespace {

/// Whether a send of this mode is complete as soon as its data are copied.
bool is_standard(Mode mode) {
  return mode == Mode::kStandard || mode == Mode::kReady;
}

/// A blocking send.
int send(Comm& comm,
         const void* data,
         MPI_Count count,
         MPI_Datatype type,
         int rank,
         int tag,
         Mode mode) {
  Requests& requests = job().requests;
  if (is_standard(mode) &&
      requests.send_short(comm, data, count, type, rank, tag)) {
    return MPI_SUCCESS;
  }
  Request& request = requests.take();
  describe_send(request, comm, data, count, type, rank, tag, mode);
  const int code = requests.start(request);
  if (code != MPI_SUCCESS) {
    requests.free(request);
    return code;
  }
  if (!request.send.is_complete) {
    wait_for(request);
  }
  return requests.finish(request, MPI_STATUS_IGNORE);
}

/// A blocking receive.
int receive(Comm& comm,
            void* data,
            MPI_Count count,
            MPI_Datatype type,
            int rank,
            int tag,
            MPI_Status* status) {
  // Messages that have come before are matched first.
  job().engine.progress();
  Requests& requests = job().requests;
  Request& request = requests.take();
  describe_receive(request, comm, data, count, type, rank, tag);
  const int code = requests.start(request);
  if (code != MPI_SUCCESS) {
    requests.free(request);
    return code;
  }
  if (!request.is_complete) {
    wait_for(request);
  }
  return requests.finish(request, status);
}

/// A send with a request. All sends that are complete at once share a handle.
int begin_send(Comm& comm,
               const void* data,
               MPI_Count count,
               MPI_Datatype type,
               int rank,
               int tag,
               Mode mode,
               MPI_Request* request) {
  Requests& requests = job().requests;
  if (is_standard(mode) &&
      requests.send_short(comm, data, count, type, rank, tag)) {
    *request = requests.complete_send();
    return MPI_SUCCESS;
  }
  Request& made = requests.take();
  describe_send(made, comm, data, count, type, rank, tag, mode);
  const int code = requests.start(made);
  if (code != MPI_SUCCESS) {
    requests.free(made);
    return code;
  }
  if (made.send.is_complete) {
    requests.finish(made, MPI_STATUS_IGNORE);
    *request = requests.complete_send();
  } else {
    *request = made.handle;
  }
  return code;
}

void keep_persistent(Request& request) {
  const TypeFacts& facts = facts_of(request.type);
  request.is_persistent = true;
  request.is_active = false;
  // It works on when the program frees the communicator.
  ++request.comm->pending;
  if (!facts.is_named) {
    own_type(request);
  }
}

Bytes packed_copy(const void* data, MPI_Count count, MPI_Datatype type) {
  const std::size_t bytes =
      facts_of(type).size * static_cast<std::size_t>(count);
  Bytes copy(static_cast<std::byte*>(std::malloc(bytes + 1)));
  if (copy == nullptr) {
    end_job("no memory for the " + std::to_string(bytes) +
            " bytes that MPI_Sendrecv_replace replaces");
  }
  pack(data, count, type, copy.get());
  return copy;
}

/// A send and a receive that one call waits for. Each is local, and described,
/// or a request of the MPI below.
struct Exchange {
  Request send;
  Request receive;
  MPI_Request send_below = MPI_REQUEST_NULL;
  MPI_Request receive_below = MPI_REQUEST_NULL;

  int begin_send() { return job().requests.start(send); }

  int begin_receive() {
    job().engine.progress();
    return job().requests.start(receive);
  }

  bool is_send_over(Engine& engine) {
    if (send.work != Request::Work::kNone) {
      return send.is_over(engine);
    }
    int is_done = 0;
    below.Test(&send_below, &is_done, MPI_STATUS_IGNORE);
    return is_done != 0;
  }

  /// The send has failed: ends the receive, and returns the send's error.
  int abandon(int code) {
    if (receive.is_active) {
      job().requests.cancel(receive);
      wait_for(receive);
      job().requests.finish_blocking(receive, MPI_STATUS_IGNORE);
    }
    if (receive_below != MPI_REQUEST_NULL) {
      below.Cancel(&receive_below);
      below.Wait(&receive_below, MPI_STATUS_IGNORE);
    }
    return code;
  }

  /// Waits for both. The status is the receive's.
  int wait(MPI_Status* status) {
    Job& all = job();
    const bool is_local = receive.work != Request::Work::kNone;
    int code = MPI_SUCCESS;
    bool is_sent = false;
    bool is_received = false;
    wait_until(
        all,
        {.send = send.work != Request::Work::kNone ? &send.send : nullptr,
         .is_below = !is_local || receive.twin != MPI_REQUEST_NULL ||
                     send.work == Request::Work::kNone},
        [&] {
          is_sent = is_sent || is_send_over(all.engine);
          if (!is_received && is_local) {
            is_received = receive.is_over(all.engine);
          } else if (receive_below == MPI_REQUEST_NULL && !is_received) {
            set_from_null(status);
            is_received = true;
          } else if (!is_received) {
            int is_done = 0;
            code = below.Test(&receive_below, &is_done, status);
            is_received = is_done != 0;
          }
          return is_sent && is_received;
        });
    if (send.work != Request::Work::kNone) {
      all.requests.finish_blocking(send, MPI_STATUS_IGNORE);
    }
    return is_local ? all.requests.finish_blocking(receive, status) : code;
  }
};

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): parameters and names
#define HMPI_COUNT int
#define HMPI_NAMED(name) name
#include "hmpi/point_to_point.inc"
#undef HMPI_COUNT
#undef HMPI_NAMED
#if MPI_VERSION >= 4
#define HMPI_COUNT MPI_Count
#define HMPI_NAMED(name) name##_c
#include "hmpi/point_to_point.inc"
#undef HMPI_COUNT
#undef HMPI_NAMED
#endif
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace hmpi
