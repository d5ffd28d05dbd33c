// Requests and their handles, as requests.h describes them.
#include "hmpi/requests.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "hmpi/below.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/end_job.h"
#include "hmpi/job.h"
#include "hmpi/log.h"
#include "hmpi/packing.h"
#include "hmpi/types.h"

namespace hmpi {

namespace {

constexpr std::size_t kFirstTable = 256;
/// Freed requests that each further request looks at.
constexpr std::size_t kReapedAtOnce = 4;

void set_bytes(MPI_Status* status, std::size_t bytes, bool is_cancelled) {
  below.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  below.Status_set_cancelled(status, is_cancelled ? 1 : 0);
}

}  // namespace

void set_empty(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    set_bytes(status, 0, false);
  }
}

void set_from_null(MPI_Status* status) {
  set_empty(status);
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = MPI_PROC_NULL;
  }
}

Requests::Requests(Job& job) : job_(job), table_(kFirstTable) {
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(table_.size()));
  below.Comm_dup(MPI_COMM_SELF, &own_);
  constexpr int kTagOfNone = 1;
  below.Irecv(nullptr, 0, MPI_BYTE, 0, kTagOfNone, own_, &never_);
  complete_send_ = &make();
  complete_send_->work = Request::Work::kSend;
  complete_send_->is_active = true;
  complete_send_->send.is_complete = true;
}

Requests::~Requests() {
  for (Request& request : all_) {
    below.Request_free(&request.handle);
  }
  for (MPI_Message& message : free_messages_) {
    below.Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
  // They have a receiver now. MPICH loses the message of a send that is freed.
  for (MPI_Request& sent : empty_sends_) {
    below.Wait(&sent, MPI_STATUS_IGNORE);
  }
  below.Cancel(&never_);
  below.Wait(&never_, MPI_STATUS_IGNORE);
  below.Comm_free(&own_);
}

Request& Requests::make() {
  Request& request = all_.emplace_back();
  below.Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, own_,
                  &request.handle);
  if (2 * all_.size() > table_.size()) {
    table_.assign(2 * table_.size(), nullptr);
    --shift_;
    for (Request& each : all_) {
      insert(each);
    }
  } else {
    insert(request);
  }
  return request;
}

void Requests::insert(Request& request) {
  std::size_t at = hash(request.handle) >> shift_;
  while (table_[at & (table_.size() - 1)] != nullptr) {
    ++at;
  }
  table_[at & (table_.size() - 1)] = &request;
}

Request& Requests::take() {
  reap(kReapedAtOnce);
  if (free_.empty()) {
    return make();
  }
  Request& request = *free_.back();
  free_.pop_back();
  return request;
}

void Requests::release(Request& request) {
  if (request.owns_type) {
    below.Type_free(&request.type);
    request.owns_type = false;
  }
  if (request.is_persistent) {
    job_.comms.release(*request.comm);
  }
  if (request.work == Request::Work::kSend) {
    request.send.kind = Kind::kInline;
  }
  request.work = Request::Work::kNone;
  request.is_persistent = false;
  request.is_freed = false;
  request.gives = nullptr;
  request.taken_into = nullptr;
  request.takes_buffer = false;
  free_.push_back(&request);
}

/// The copies of buffered sends lie in library memory, and are counted against
/// the program's buffer. The MPI below counts its own.
bool Requests::has_buffer(const Request& request) {
  const std::size_t bytes =
      facts_of(request.type).size * static_cast<std::size_t>(request.count);
  return job_.engine.buffered_bytes() + bytes + MPI_BSEND_OVERHEAD <=
         job_.attached_bytes;
}

int Requests::start(Request& request) {
  if (request.mode == Mode::kBuffered && !has_buffer(request)) {
    below.Comm_call_errhandler(request.comm->handle, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
  }
  request.is_active = true;
  request.is_cancelled = false;
  ++request.comm->pending;
  if (request.work == Request::Work::kReceive) {
    return start_receive(request);
  }
  if (!start_send(request)) {
    request.is_active = false;
    job_.comms.release(*request.comm);
    below.Comm_call_errhandler(request.comm->handle, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
  }
  return MPI_SUCCESS;
}

bool Requests::send_short(const Comm& comm,
                          const void* data,
                          MPI_Count count,
                          MPI_Datatype type,
                          int rank,
                          int tag) {
  const TypeFacts& facts = facts_of(type);
  return facts.is_plain &&
         job_.engine.send_short(
             comm.peer_of(rank),
             {.context = comm.context.id,
              .source = comm.rank,
              .tag = tag,
              .size = facts.size * static_cast<std::size_t>(count)},
             static_cast<const std::byte*>(data));
}

/// Describes the send to the engine. Data of a derived type are packed first.
/// False: there is no memory for the copy of a buffered send.
bool Requests::start_send(Request& request) {
  const TypeFacts& facts = facts_of(request.type);
  const std::size_t bytes =
      facts.size * static_cast<std::size_t>(request.count);
  Send& send = request.send;
  send.peer = request.comm->peer_of(request.rank);
  send.envelope = {.context = request.comm->context.id,
                   .source = request.comm->rank,
                   .tag = request.wanted_tag,
                   .size = bytes};
  send.is_synchronous = request.mode == Mode::kSynchronous;
  send.is_buffered = request.mode == Mode::kBuffered;
  send.is_complete = false;
  send.data = static_cast<std::byte*>(request.data);
  Engine& engine = job_.engine;
  if (!facts.is_plain && bytes != 0 && send.kind != Kind::kGive) {
    const bool is_inline = bytes <= engine.settings().inline_bytes;
    send.block = is_inline ? nullptr : g_host_memory.take(bytes);
    auto* packed = static_cast<std::byte*>(send.block);
    if (packed == nullptr) {
      send.staging.reset(static_cast<std::byte*>(std::malloc(bytes)));
      packed = send.staging.get();
    }
    if (packed == nullptr) {
      end_job("no memory to pack " + std::to_string(bytes) +
              " bytes of a derived type");
    }
    pack(request.data, request.count, request.type, packed);
    send.data = packed;
  }
  if (engine.begin(send)) {
    return true;
  }
  g_host_memory.give_back(std::exchange(send.block, nullptr));
  send.staging.reset();
  return false;
}

/// Describes the receive to the engine.
void Requests::prepare_receive(Request& request) {
  const TypeFacts& facts = facts_of(request.type);
  request.context = &request.comm->context;
  request.peer = request.rank == MPI_ANY_SOURCE
                     ? kAnyPeer
                     : request.comm->peer_of(request.rank);
  request.tag =
      request.wanted_tag == MPI_ANY_TAG ? kAnyTag : request.wanted_tag;
  request.capacity = facts.size * static_cast<std::size_t>(request.count);
  request.is_packed = !facts.is_plain && request.capacity != 0;
  request.buffer =
      request.is_packed ? nullptr : static_cast<std::byte*>(request.data);
  request.is_matched = false;
  request.is_complete = false;
  request.is_below = false;
  request.given = nullptr;
}

void Requests::start_below(Request& request) {
  request.is_active = true;
  request.is_cancelled = false;
  ++request.comm->pending;
  prepare_receive(request);
  request.is_matched = true;  // It is in no list.
  request.below_code = MPI_SUCCESS;
}

void Requests::start_send_below(Request& request) {
  request.is_active = true;
  request.is_cancelled = false;
  ++request.comm->pending;
  request.send.is_complete = true;
}

void Requests::start_with(Request& request, Arrived& message) {
  request.is_active = true;
  request.is_cancelled = false;
  prepare_receive(request);
  job_.engine.fill(request, message);
}

int Requests::start_receive(Request& request) {
  prepare_receive(request);
  job_.engine.begin(request);
  const bool may_come_from_below = request.peer == kAnyPeer &&
                                   !request.comm->is_local &&
                                   !request.is_matched;
  const int code = may_come_from_below ? request.post_twin() : MPI_SUCCESS;
  if (code != MPI_SUCCESS) {
    job_.engine.withdraw(request);
    request.is_active = false;
    job_.comms.release(*request.comm);
  }
  return code;
}

int Request::post_twin() {
  is_twin_asked = false;
#if MPI_VERSION >= 4
  return below.Irecv_c(data, count, type, MPI_ANY_SOURCE, wanted_tag,
                       comm->handle, &twin);
#else
  return below.Irecv(data, static_cast<int>(count), type, MPI_ANY_SOURCE,
                     wanted_tag, comm->handle, &twin);
#endif
}

/// A local message fits. The twin has to be cancelled before it may have it.
Receive::Claim Request::claim(bool is_library_thread) {
  if (twin == MPI_REQUEST_NULL) {
    return Claim::kMine;
  }
  if (is_library_thread && !job().has_threads_below) {
    return Claim::kLater;
  }
  if (!is_twin_asked) {
    below.Cancel(&twin);
    is_twin_asked = true;
  }
  int is_done = 0;
  below_code = below.Test(&twin, &is_done, &below_status);
  if (is_done == 0) {
    return Claim::kLater;
  }
  int was_cancelled = 0;
  below.Test_cancelled(&below_status, &was_cancelled);
  if (was_cancelled != 0) {
    return Claim::kMine;
  }
  is_below = is_matched = is_complete = true;
  return Claim::kTaken;
}

bool Request::is_over(Engine& engine) {
  const bool is_done =
      work == Work::kSend ? engine.is_complete(send) : is_receive_over(engine);
  if (!is_done || (also != nullptr && !also->is_over(engine))) {
    return false;
  }
  int is_sent = 1;
  if (also_below != MPI_REQUEST_NULL) {
    below.Test(&also_below, &is_sent, MPI_STATUS_IGNORE);
  }
  return is_sent != 0;
}

bool Request::is_receive_over(Engine& engine) {
  if (is_complete || twin == MPI_REQUEST_NULL) {
    return is_complete;
  }
  int is_done = 0;
  below_code = below.Test(&twin, &is_done, &below_status);
  int was_cancelled = 0;
  if (is_done != 0) {
    below.Test_cancelled(&below_status, &was_cancelled);
  }
  if (is_done != 0 && was_cancelled == 0) {
    engine.withdraw(*this);
    is_cancelled = false;
    is_below = is_matched = is_complete = true;
  } else if (is_done != 0 && is_cancelled) {
    is_complete = true;
  }
  return is_complete;
}

/// The results, for the status and the memory of the program.
int Requests::collect(Request& request, MPI_Status* status) {
  describe(request, status);
  if (request.work == Request::Work::kSend) {
    request.send.staging.reset();
    if (Block* given = std::exchange(request.gives, nullptr)) {
      g_buffers.give_back(*given);
    }
    return MPI_SUCCESS;
  }
  request.replaced.reset();
  if (request.also != nullptr) {
    finish(*request.also, MPI_STATUS_IGNORE);
    request.also = nullptr;
  }
  const bool has_data = !request.is_below && !request.is_cancelled;
  if (has_data && request.is_packed && request.received != 0) {
    unpack(request.buffer, request.received, request.data, request.type);
    request.staging.reset();
  }
  if (request.taken_into != nullptr) {
    deliver_buffer(request);
  }
  if (!has_data) {
    return request.is_below ? request.below_code : MPI_SUCCESS;
  }
  return request.received < request.envelope.size ? MPI_ERR_TRUNCATE
                                                  : MPI_SUCCESS;
}

/// OPI_Take is over: the program gets the buffer that came, or the one that the
/// data were written to.
void Requests::deliver_buffer(Request& request) {
  void* written = std::exchange(request.data, nullptr);
  void* result = written;
  if (request.given != nullptr || request.is_cancelled) {
    if (written != nullptr) {
      g_buffers.give_back(*g_host_memory.block_at(written));
    }
    result = std::exchange(request.given, nullptr);
  }
  *request.taken_into = result;
}

namespace {

/// Says more than the error handler, which knows the code alone. A program that
/// takes errors itself gets no line.
void explain(const Request& request, MPI_Comm handle, int code) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (code != MPI_ERR_TRUNCATE ||
      below.Comm_get_errhandler(handle, &handler) != MPI_SUCCESS) {
    return;
  }
  if (handler == MPI_ERRORS_ARE_FATAL) {
    log(ACPX_LOG_ERROR,
        "the message from rank " + std::to_string(request.envelope.source) +
            " with tag " + std::to_string(request.envelope.tag) + " has " +
            std::to_string(request.envelope.size) +
            " bytes, and its receive has room for " +
            std::to_string(request.received) + " (MPI_ERR_TRUNCATE)");
  }
  below.Errhandler_free(&handler);
}

}  // namespace

int Requests::finish_blocking(Request& request, MPI_Status* status) {
  const int code = collect(request, status);
  Comm& comm = *request.comm;
  const MPI_Comm handle = comm.is_freed ? MPI_COMM_SELF : comm.handle;
  job_.comms.release(comm);
  request.is_active = false;
  // The MPI below has called the handler for its own errors.
  if (code != MPI_SUCCESS && !request.is_below) {
    explain(request, handle, code);
    below.Comm_call_errhandler(handle, code);
  }
  return code;
}

int Requests::finish(Request& request, MPI_Status* status) {
  if (&request == complete_send_) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  const int code = finish_blocking(request, status);
  if (!request.is_persistent || request.is_freed) {
    release(request);
  }
  return code;
}

void Requests::describe(Request& request, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) {
    return;
  }
  if (request.work == Request::Work::kSend) {
    set_empty(status);
  } else if (request.is_below) {
    *status = request.below_status;
  } else if (request.is_cancelled) {
    set_empty(status);
    below.Status_set_cancelled(status, 1);
  } else {
    status->MPI_SOURCE = request.envelope.source;
    status->MPI_TAG = request.envelope.tag;
    set_bytes(status, request.received, false);
  }
}

/// A receive whose twin cannot be cancelled any more gets the message of the
/// MPI below.
void Requests::cancel(Request& request) {
  if (request.work != Request::Work::kReceive || !request.is_active ||
      request.is_complete) {
    return;
  }
  const bool is_all_below =
      request.is_matched && request.twin != MPI_REQUEST_NULL;
  if (!is_all_below && !job_.engine.withdraw(request)) {
    return;
  }
  request.is_matched = true;
  request.is_cancelled = true;
  if (request.twin == MPI_REQUEST_NULL) {
    request.is_complete = true;
  } else if (!request.is_twin_asked) {
    below.Cancel(&request.twin);
    request.is_twin_asked = true;
  }
}

void Requests::free(Request& request) {
  if (&request == complete_send_) {
    return;
  }
  if (request.is_active) {
    request.is_freed = true;
    freed_.push_back(&request);
  } else {
    release(request);
  }
}

void Requests::reap(std::size_t looks) {
  for (looks = std::min(looks, freed_.size()); looks != 0; --looks) {
    Request& request = *freed_.front();
    freed_.pop_front();
    if (request.is_over(job_.engine)) {
      finish(request, MPI_STATUS_IGNORE);
    } else {
      freed_.push_back(&request);
    }
  }
}

void Requests::progress_below() {
  int is_done = 0;
  below.Test(&never_, &is_done, MPI_STATUS_IGNORE);
}

void Requests::expect_duplicate(MPI_Request handle,
                                MPI_Comm* made,
                                std::uint64_t id) {
  duplicates_.push_back({handle, made, id});
}

void Requests::is_complete_below(MPI_Request handle) {
  for (std::size_t i = 0; i < duplicates_.size(); ++i) {
    if (duplicates_[i].handle == handle) {
      job_.comms.add(*duplicates_[i].made, duplicates_[i].id);
      duplicates_[i] = duplicates_.back();
      duplicates_.pop_back();
      return;
    }
  }
}

/// A handle that the MPI below takes for a message: an empty one to this
/// process itself, which is never received before the end.
MPI_Message Requests::hold(Arrived& message, Comm& comm) {
  if (free_messages_.empty()) {
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Message handle = MPI_MESSAGE_NULL;
    below.Isend(nullptr, 0, MPI_BYTE, 0, 0, own_, &sent);
    below.Mprobe(0, 0, own_, &handle, MPI_STATUS_IGNORE);
    empty_sends_.push_back(sent);
    free_messages_.push_back(handle);
  }
  const MPI_Message handle = free_messages_.back();
  free_messages_.pop_back();
  ++comm.pending;
  held_.emplace(key_of(handle), Held{&message, &comm});
  return handle;
}

Requests::Held Requests::release(MPI_Message handle) {
  const auto found = held_.find(key_of(handle));
  if (found == held_.end()) {
    return {};
  }
  const Held held = found->second;
  held_.erase(found);
  free_messages_.push_back(handle);
  return held;
}

}  // namespace hmpi
