// Ownership passing: OPI_Alloc, OPI_Free, OPI_Give and OPI_Take. Within a host
// the address travels, and nothing is copied. Elsewhere the data are sent, with
// the same meaning. docs/hmpi.md has the rules.
#include <cstdio>
#include <string>
#include <utility>

#include "hmpi/api.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/host_memory.h"
#include "hmpi/log.h"
#include "hmpi/protection.h"

namespace hmpi {

namespace {

/// Writes the line, and calls the error handler of the communicator.
int fail(MPI_Comm comm, int code, const std::string& text) {
  log(ACPX_LOG_ERROR, text);
  below.Comm_call_errhandler(comm, code);
  return code;
}

std::string name_of(const char* call, const void* buffer) {
  char text[64];
  (void)std::snprintf(text, sizeof text, "%s of %p", call, buffer);
  return text;
}

/// Why a buffer cannot be given or freed; null: it can. The taker's own state
/// hides an earlier give, which HMPI_DEBUG=on remembers.
const char* fault_of(Block& block) {
  if (block.is_given != 0 || g_protection.has_given(block.bytes())) {
    return ": OPI_Give has passed it to another process already";
  }
  return block.use.load(std::memory_order_relaxed) == Block::Use::kPooled
             ? ": OPI_Free has freed it already"
             : nullptr;
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  return facts_of(type).size * static_cast<std::size_t>(count);
}

/// The bytes of memory that `count` elements take.
std::size_t room_for(int count, MPI_Datatype type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  below.Type_get_extent_x(type, &lower, &extent);
  const MPI_Count bytes = extent * count;
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

/// Any communicator for a request whose own is not known: its errors go there.
Comm& any_comm(Comm* comm) {
  return comm != nullptr ? *comm : *job().comms.find(MPI_COMM_SELF);
}

/// Sends the data of a buffer that is free, or the program's again, when they
/// are sent.
int give_copy(Request& request, Comm* comm, MPI_Comm handle, Block* block) {
  request.comm = &any_comm(comm);
  if (comm != nullptr) {
    request.gives = block;
    return job().requests.start(request);
  }
  if (request.rank == MPI_PROC_NULL) {
    request.gives = block;
    Requests::start_send_below(request);
    return MPI_SUCCESS;
  }
  const int code = below.Isend(request.data, static_cast<int>(request.count),
                               request.type, request.rank, request.wanted_tag,
                               handle, &request.also_below);
  if (code == MPI_SUCCESS) {
    request.gives = block;
    Requests::start_send_below(request);
  }
  return code;
}

/// Begins to give. The receiver has the buffer, or a copy of it.
int give(void* buffer,
         int count,
         MPI_Datatype type,
         int rank,
         int tag,
         MPI_Comm handle,
         Request& request) {
  Comm* comm = comm_for_send(handle, rank, tag, count, type);
  Block* block = g_host_memory.block_at(buffer);
  const std::size_t bytes = comm != nullptr ? bytes_of(count, type) : 0;
  describe_send(request, any_comm(comm), buffer, count, type, rank, tag,
                Mode::kStandard);
  const bool can_pass = comm != nullptr && facts_of(type).is_plain &&
                        job().engine.is_in_library(buffer, bytes);
  if (!can_pass) {
    return give_copy(request, comm, handle, block);
  }
  request.send.kind = Kind::kGive;
  if (block != nullptr) {
    block->is_given = 1;
  }
  // With HMPI_DEBUG=on a buffer of OPI_Alloc has its pages for itself.
  const bool is_whole =
      block != nullptr &&
      block->use.load(std::memory_order_relaxed) == Block::Use::kBuffer;
  g_protection.forbid(buffer, is_whole ? block->capacity() : bytes, rank, tag);
  return job().requests.start(request);
}

/// A buffer for the data of a receive that may come without one.
bool prepare_buffer(Request& request) {
  request.data =
      g_buffers.take(room_for(static_cast<int>(request.count), request.type));
  return request.data != nullptr;
}

/// Begins to take. Data that come from another host, or of a type with gaps,
/// are written to a buffer of this process.
int take(void** into,
         int count,
         MPI_Datatype type,
         int rank,
         int tag,
         MPI_Comm handle,
         Request& request) {
  Comm* comm = comm_for(handle, rank, tag, count, type);
  describe_receive(request, any_comm(comm), nullptr, count, type, rank, tag);
  request.taken_into = into;
  if (rank == MPI_PROC_NULL) {
    job().requests.start_below(request);
    request.is_below = request.is_complete = true;
    set_from_null(&request.below_status);
    return MPI_SUCCESS;
  }
  request.takes_buffer = comm != nullptr && facts_of(type).is_plain;
  const bool may_come_from_below =
      comm == nullptr || (rank == MPI_ANY_SOURCE && !comm->is_local);
  if ((may_come_from_below || !request.takes_buffer) &&
      !prepare_buffer(request)) {
    return fail(handle, MPI_ERR_NO_MEM,
                "OPI_Take: the heap has no room for " +
                    std::to_string(room_for(count, type)) +
                    " bytes; HMPI_HEAP_SIZE makes it larger");
  }
  if (comm != nullptr) {
    job().engine.progress();
    return job().requests.start(request);
  }
  const int code =
      below.Irecv(request.data, count, type, rank, tag, handle, &request.twin);
  if (code == MPI_SUCCESS) {
    job().requests.start_below(request);
  } else {
    g_buffers.give_back(*g_host_memory.block_at(request.data));
  }
  return code;
}

constexpr const char* kNotAtWork =
    ": HMPI is not at work: before MPI_Init, after MPI_Finalize, or because of "
    "what it has said in MPI_Init";

/// MPI_SUCCESS: so much of the buffer may be given.
int check_give(const Call& call,
               void** place,
               int count,
               MPI_Datatype type,
               MPI_Comm handle) {
  if (!call) {
    return fail(handle, MPI_ERR_OTHER, std::string("OPI_Give") + kNotAtWork);
  }
  if (place == nullptr || *place == nullptr) {
    return fail(handle, MPI_ERR_BUFFER, "OPI_Give of a null pointer");
  }
  Block* block = g_host_memory.block_at(*place);
  if (block == nullptr) {
    return MPI_SUCCESS;
  }
  if (const char* fault = fault_of(*block)) {
    return fail(handle, MPI_ERR_BUFFER, name_of("OPI_Give", *place) + fault);
  }
  // Elements with gaps are copied, and may leave out the last gap.
  const bool is_row =
      count > 0 && type != MPI_DATATYPE_NULL && facts_of(type).is_plain;
  if (is_row && bytes_of(count, type) > block->capacity()) {
    return fail(handle, MPI_ERR_BUFFER,
                name_of("OPI_Give", *place) + ": " + std::to_string(count) +
                    " elements take " + std::to_string(bytes_of(count, type)) +
                    " bytes, and the buffer has " +
                    std::to_string(block->capacity()));
  }
  return MPI_SUCCESS;
}

/// MPI_SUCCESS: the call can give a request.
int check_request(const MPI_Request* request,
                  const char* call,
                  MPI_Comm handle) {
  return request != nullptr
             ? MPI_SUCCESS
             : fail(handle, MPI_ERR_REQUEST,
                    std::string(call) + " has no place for its request; " +
                        call + "_blocking waits, and needs none");
}

/// MPI_SUCCESS: a buffer may be taken.
int check_take(const Call& call, void** place, MPI_Comm handle) {
  if (!call) {
    return fail(handle, MPI_ERR_OTHER, std::string("OPI_Take") + kNotAtWork);
  }
  if (place == nullptr) {
    return fail(handle, MPI_ERR_BUFFER,
                "OPI_Take into a null pointer: it writes the buffer's address "
                "there");
  }
  *place = nullptr;
  return MPI_SUCCESS;
}

/// Carries out a call that returns a request.
template <typename Begin>
int begin_with(MPI_Request* handle, Begin begin) {
  Request& made = job().requests.take();
  const int code = begin(made);
  if (code == MPI_SUCCESS) {
    *handle = made.handle;
  } else {
    job().requests.free(made);
  }
  return code;
}

/// Carries out a call that waits.
template <typename Begin>
int run_to_end(MPI_Status* status, Begin begin) {
  Requests& requests = job().requests;
  Request& request = requests.take();
  const int code = begin(request);
  if (code != MPI_SUCCESS) {
    requests.free(request);
    return code;
  }
  wait_for(request);
  return requests.finish(request, status);
}

}  // namespace

#define HMPI_OPI(name, parameters) \
  extern "C" [[gnu::visibility("default")]] int OPI_##name parameters

HMPI_OPI(Alloc, (void** place, std::size_t bytes)) {
  if (place == nullptr) {
    return fail(MPI_COMM_WORLD, MPI_ERR_ARG, "OPI_Alloc into a null pointer");
  }
  *place = g_buffers.take(bytes);
  if (*place == nullptr) {
    return fail(
        MPI_COMM_WORLD, MPI_ERR_NO_MEM,
        "OPI_Alloc of " + std::to_string(bytes) + " bytes" +
            (g_host_memory.is_closed()
                 ? kNotAtWork
                 : ": the heap is full; HMPI_HEAP_SIZE makes it larger"));
  }
  return MPI_SUCCESS;
}

HMPI_OPI(Free, (void** place)) {
  if (place == nullptr || *place == nullptr) {
    return MPI_SUCCESS;
  }
  Block* block = g_host_memory.block_at(*place);
  const char* fault =
      block == nullptr ? ": no buffer begins there" : fault_of(*block);
  if (fault != nullptr) {
    return fail(MPI_COMM_WORLD, MPI_ERR_BUFFER,
                name_of("OPI_Free", *place) + fault);
  }
  g_buffers.give_back(*block);
  *place = nullptr;
  return MPI_SUCCESS;
}

// The program has its buffer again if the call fails.
HMPI_OPI(Give,
         (void** place,
          int count,
          MPI_Datatype type,
          int rank,
          int tag,
          MPI_Comm handle,
          MPI_Request* request)) {
  const Call call;
  int code = check_request(request, "OPI_Give", handle);
  if (code == MPI_SUCCESS) {
    code = check_give(call, place, count, type, handle);
  }
  if (code == MPI_SUCCESS) {
    void* buffer = std::exchange(*place, nullptr);
    code = begin_with(request, [&](Request& made) {
      return give(buffer, count, type, rank, tag, handle, made);
    });
    if (code != MPI_SUCCESS) {
      *place = buffer;
    }
  }
  return code;
}

// The receiver may have the buffer before this call ends.
HMPI_OPI(Give_blocking,
         (void** place,
          int count,
          MPI_Datatype type,
          int rank,
          int tag,
          MPI_Comm handle)) {
  const Call call;
  int code = check_give(call, place, count, type, handle);
  if (code == MPI_SUCCESS) {
    void* buffer = std::exchange(*place, nullptr);
    code = run_to_end(MPI_STATUS_IGNORE, [&](Request& made) {
      return give(buffer, count, type, rank, tag, handle, made);
    });
    if (code != MPI_SUCCESS) {
      *place = buffer;
    }
  }
  return code;
}

// The program may free a derived type before the request is complete.
HMPI_OPI(Take,
         (void** place,
          int count,
          MPI_Datatype type,
          int rank,
          int tag,
          MPI_Comm handle,
          MPI_Request* request)) {
  const Call call;
  int code = check_request(request, "OPI_Take", handle);
  if (code == MPI_SUCCESS) {
    code = check_take(call, place, handle);
  }
  if (code == MPI_SUCCESS) {
    code = begin_with(request, [&](Request& made) {
      const int begun = take(place, count, type, rank, tag, handle, made);
      if (begun == MPI_SUCCESS) {
        keep_type(made);
      }
      return begun;
    });
  }
  return code;
}

HMPI_OPI(Take_blocking,
         (void** place,
          int count,
          MPI_Datatype type,
          int rank,
          int tag,
          MPI_Comm handle,
          MPI_Status* status)) {
  const Call call;
  int code = check_take(call, place, handle);
  if (code == MPI_SUCCESS) {
    code = run_to_end(status, [&](Request& made) {
      return take(place, count, type, rank, tag, handle, made);
    });
  }
  return code;
}

HMPI_OPI(Igive, (void**, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))
__attribute__((alias("OPI_Give")));
HMPI_OPI(Itake, (void**, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))
__attribute__((alias("OPI_Take")));

// NOLINTNEXTLINE(readability-identifier-naming): the name of the original
extern "C" [[gnu::visibility("default")]] int IS_SM_BUF(const void* address) {
  return g_host_memory.contains(address) ? 1 : 0;
}

}  // namespace hmpi
