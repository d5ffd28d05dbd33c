// Every form of a send and of a receive, between all pairs of ranks, in all
// sizes. Contents, statuses and the bytes behind each buffer are checked.
#include <functional>
#include <memory>

#include "check.h"
#include "payload.h"

namespace {

using mpi_check::bytes_of;
using mpi_check::contents_of;
using mpi_check::error_class;
using mpi_check::GuardedBuffer;
using mpi_check::Peers;
using mpi_check::peers_of;
using mpi_check::seed_of;
using mpi_check::sizes_of;
using mpi_check::world_rank;
using mpi_check::world_size;

constexpr int kReadyTag = 500;

/// The messages of one step: one of each size, whose tag is its index.
class Step {
 public:
  explicit Step(int step) : peers(peers_of(step)), sizes(sizes_of(step)) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      outgoing.push_back(contents_of(static_cast<std::size_t>(sizes[i]),
                                     seed_to(static_cast<int>(i))));
      incoming.emplace_back(static_cast<std::size_t>(sizes[i]) + 8);
    }
  }

  std::uint64_t seed_to(int i) const {
    return seed_of({world_rank, peers.to, i});
  }

  std::uint64_t seed_from(int i) const {
    return seed_of({peers.from, world_rank, i});
  }

  int count() const { return static_cast<int>(sizes.size()); }

  int capacity(int i) { return static_cast<int>(incoming[index(i)].size()); }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  void check(int i, const MPI_Status& status) {
    CHECK_STATUS(status, peers.from, i, sizes[index(i)]);
    CHECK_CONTENTS(incoming[index(i)], sizes[index(i)], seed_from(i));
    incoming[index(i)].clear();
  }

  const Peers peers;
  const std::vector<int> sizes;
  std::vector<std::vector<std::byte>> outgoing;
  std::vector<GuardedBuffer> incoming;
};

/// The receiver tells its sender that its receives are posted: only then may
/// the sender use ready mode.
void tell_posted(const Peers& peers) {
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, peers.from, kReadyTag, nullptr, 0,
               MPI_BYTE, peers.to, kReadyTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/// Bytes for MPI_Buffer_attach that all messages of a step fit into.
std::size_t buffer_bytes(const Step& step) {
  std::size_t bytes = 0;
  for (const int size : step.sizes) {
    bytes += static_cast<std::size_t>(size) + MPI_BSEND_OVERHEAD + 64;
  }
  return bytes;
}

/// While it lives, a buffer for the messages of the step is attached.
class AttachedBuffer {
 public:
  explicit AttachedBuffer(const Step& step) : memory_(buffer_bytes(step)) {
    MPI_Buffer_attach(memory_.data(), static_cast<int>(memory_.size()));
  }

  ~AttachedBuffer() {
    void* memory = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(static_cast<void*>(&memory), &bytes);
    CHECK_EQUAL(memory, static_cast<void*>(memory_.data()));
    CHECK_EQUAL(bytes, static_cast<int>(memory_.size()));
  }

  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;

 private:
  std::vector<std::byte> memory_;
};

using Sender = std::function<void(Step&)>;

/// Posts all receives, sends in the way that is given, and checks.
void send_everywhere(const Sender& send, bool is_buffered = false) {
  for (int number = 0; number < world_size; ++number) {
    Step step(number);
    std::unique_ptr<AttachedBuffer> attached;
    if (is_buffered) attached = std::make_unique<AttachedBuffer>(step);
    std::vector<MPI_Request> requests(step.sizes.size());
    for (int i = 0; i < step.count(); ++i) {
      MPI_Irecv(step.incoming[Step::index(i)].data(), step.capacity(i),
                MPI_BYTE, step.peers.from, i, MPI_COMM_WORLD,
                &requests[Step::index(i)]);
    }
    tell_posted(step.peers);
    send(step);
    for (int i = 0; i < step.count(); ++i) {
      MPI_Status status;
      MPI_Wait(&requests[Step::index(i)], &status);
      CHECK_EQUAL(requests[Step::index(i)], MPI_REQUEST_NULL);
      step.check(i, status);
    }
  }
}

template <class Send>
Sender blocking(Send send) {
  return [send](Step& step) {
    for (int i = 0; i < step.count(); ++i) {
      CHECK_EQUAL(
          send(step.outgoing[Step::index(i)].data(), step.sizes[Step::index(i)],
               MPI_BYTE, step.peers.to, i, MPI_COMM_WORLD),
          MPI_SUCCESS);
    }
  };
}

template <class Send>
Sender nonblocking(Send send) {
  return [send](Step& step) {
    std::vector<MPI_Request> requests(step.sizes.size(), MPI_REQUEST_NULL);
    for (int i = 0; i < step.count(); ++i) {
      CHECK_EQUAL(send(step.outgoing[Step::index(i)].data(),
                       step.sizes[Step::index(i)], MPI_BYTE, step.peers.to, i,
                       MPI_COMM_WORLD, &requests[Step::index(i)]),
                  MPI_SUCCESS);
    }
    MPI_Waitall(step.count(), requests.data(), MPI_STATUSES_IGNORE);
    for (const MPI_Request request : requests) {
      CHECK_EQUAL(request, MPI_REQUEST_NULL);
    }
  };
}

// MPI_Send and its kind differ between MPI versions in exception
// specifications and macros. A lambda of each takes these out of the types.
#define FORM(function)             \
  [](auto... arguments) {          \
    return function(arguments...); \
  }

MPI_CASE("modes.send") {
  send_everywhere(blocking(FORM(MPI_Send)));
}

MPI_CASE("modes.ssend") {
  send_everywhere(blocking(FORM(MPI_Ssend)));
}

MPI_CASE("modes.rsend") {
  send_everywhere(blocking(FORM(MPI_Rsend)));
}

MPI_CASE("modes.bsend") {
  send_everywhere(blocking(FORM(MPI_Bsend)), true);
}

MPI_CASE("modes.isend") {
  send_everywhere(nonblocking(FORM(MPI_Isend)));
}

MPI_CASE("modes.issend") {
  send_everywhere(nonblocking(FORM(MPI_Issend)));
}

MPI_CASE("modes.irsend") {
  send_everywhere(nonblocking(FORM(MPI_Irsend)));
}

MPI_CASE("modes.ibsend") {
  send_everywhere(nonblocking(FORM(MPI_Ibsend)), true);
}

#if MPI_VERSION >= 4
MPI_CASE("modes.large-count") {
  send_everywhere(blocking(FORM(MPI_Send_c)));
  send_everywhere(blocking(FORM(MPI_Ssend_c)));
  send_everywhere(blocking(FORM(MPI_Rsend_c)));
  send_everywhere(blocking(FORM(MPI_Bsend_c)), true);
  send_everywhere(nonblocking(FORM(MPI_Isend_c)));
  send_everywhere(nonblocking(FORM(MPI_Issend_c)));
  send_everywhere(nonblocking(FORM(MPI_Irsend_c)));
  send_everywhere(nonblocking(FORM(MPI_Ibsend_c)), true);
}
#endif

/// How the receives of a persistent exchange are started.
enum class StartBy { kStart, kStartall };

void start(std::vector<MPI_Request>& requests, StartBy by) {
  if (by == StartBy::kStartall) {
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
    return;
  }
  for (MPI_Request& request : requests)
    MPI_Start(&request);
}

/// How often a persistent request is started.
int starts_of(bool is_buffered) {
  // Open MPI 4.1.4 sends no data when an MPI_Bsend_init request of about 1000
  // bytes and more is started for the second time.
  return is_buffered && !mpi_check::trusts(mpi_check::kIsOpenMpi) ? 1 : 3;
}

/// Uses the same persistent requests several times in each step.
template <class SendInit, class RecvInit>
void persist_everywhere(SendInit send_init,
                        RecvInit recv_init,
                        bool is_buffered = false) {
  for (int number = 0; number < world_size; ++number) {
    Step step(number);
    std::unique_ptr<AttachedBuffer> attached;
    if (is_buffered) attached = std::make_unique<AttachedBuffer>(step);
    std::vector<MPI_Request> sends(step.sizes.size());
    std::vector<MPI_Request> receives(step.sizes.size());
    for (int i = 0; i < step.count(); ++i) {
      const std::size_t at = Step::index(i);
      recv_init(step.incoming[at].data(), step.capacity(i), MPI_BYTE,
                step.peers.from, i, MPI_COMM_WORLD, &receives[at]);
      send_init(step.outgoing[at].data(), step.sizes[at], MPI_BYTE,
                step.peers.to, i, MPI_COMM_WORLD, &sends[at]);
    }
    for (int round = 0; round < starts_of(is_buffered); ++round) {
      const StartBy by = round == 1 ? StartBy::kStart : StartBy::kStartall;
      start(receives, by);
      tell_posted(step.peers);
      start(sends, by);
      std::vector<MPI_Status> statuses(receives.size());
      MPI_Waitall(step.count(), receives.data(), statuses.data());
      for (int i = 0; i < step.count(); ++i) {
        step.check(i, statuses[Step::index(i)]);
        CHECK(receives[Step::index(i)] != MPI_REQUEST_NULL);
      }
      MPI_Waitall(step.count(), sends.data(), MPI_STATUSES_IGNORE);
      // The buffered messages of this round must have left before the next.
      if (is_buffered) {
        attached.reset();
        attached = std::make_unique<AttachedBuffer>(step);
      }
    }
    for (int i = 0; i < step.count(); ++i) {
      MPI_Request_free(&sends[Step::index(i)]);
      MPI_Request_free(&receives[Step::index(i)]);
      CHECK_EQUAL(sends[Step::index(i)], MPI_REQUEST_NULL);
    }
  }
}

MPI_CASE("modes.send-init") {
  persist_everywhere(FORM(MPI_Send_init), FORM(MPI_Recv_init));
}

MPI_CASE("modes.ssend-init") {
  persist_everywhere(FORM(MPI_Ssend_init), FORM(MPI_Recv_init));
}

MPI_CASE("modes.rsend-init") {
  persist_everywhere(FORM(MPI_Rsend_init), FORM(MPI_Recv_init));
}

MPI_CASE("modes.bsend-init") {
  persist_everywhere(FORM(MPI_Bsend_init), FORM(MPI_Recv_init), true);
}

#if MPI_VERSION >= 4
MPI_CASE("modes.large-count-init") {
  persist_everywhere(FORM(MPI_Send_init_c), FORM(MPI_Recv_init_c));
  persist_everywhere(FORM(MPI_Ssend_init_c), FORM(MPI_Recv_init_c));
  persist_everywhere(FORM(MPI_Rsend_init_c), FORM(MPI_Recv_init_c));
  persist_everywhere(FORM(MPI_Bsend_init_c), FORM(MPI_Recv_init_c), true);
}
#endif

/// Sends first and receives by blocking calls, in order or in reverse: every
/// message but one is then unexpected.
template <class Recv>
void receive_everywhere(Recv receive, bool is_reversed) {
  for (int number = 0; number < world_size; ++number) {
    Step step(number);
    std::vector<MPI_Request> sends(step.sizes.size());
    for (int i = 0; i < step.count(); ++i) {
      MPI_Isend(step.outgoing[Step::index(i)].data(),
                step.sizes[Step::index(i)], MPI_BYTE, step.peers.to, i,
                MPI_COMM_WORLD, &sends[Step::index(i)]);
    }
    for (int k = 0; k < step.count(); ++k) {
      const int i = is_reversed ? step.count() - 1 - k : k;
      MPI_Status status;
      CHECK_EQUAL(
          receive(step.incoming[Step::index(i)].data(), step.capacity(i),
                  MPI_BYTE, step.peers.from, i, MPI_COMM_WORLD, &status),
          MPI_SUCCESS);
      step.check(i, status);
    }
    MPI_Waitall(step.count(), sends.data(), MPI_STATUSES_IGNORE);
  }
}

MPI_CASE("modes.recv") {
  receive_everywhere(FORM(MPI_Recv), false);
}

MPI_CASE("modes.recv-reversed") {
  receive_everywhere(FORM(MPI_Recv), true);
}

#if MPI_VERSION >= 4
MPI_CASE("modes.recv-large-count") {
  receive_everywhere(FORM(MPI_Recv_c), false);
  receive_everywhere(
      [](void* data, int count, MPI_Datatype type, int source, int tag,
         MPI_Comm comm, MPI_Status* status) {
        MPI_Request request;
        MPI_Irecv_c(data, count, type, source, tag, comm, &request);
        return MPI_Wait(&request, status);
      },
      true);
}
#endif

/// A synchronous send must not complete before its receive is posted.
MPI_CASE("modes.synchronous-waits") {
  for (const int size : {0, 4, 256, 5000, 100000}) {
    const Peers peers = peers_of(1);
    const auto data = contents_of(static_cast<std::size_t>(size), 7);
    MPI_Request send;
    MPI_Issend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD, &send);
    for (int i = 0; i < 200; ++i) {
      int is_done = 0;
      MPI_Test(&send, &is_done, MPI_STATUS_IGNORE);
      CHECK_EQUAL(is_done, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    GuardedBuffer buffer(static_cast<std::size_t>(size));
    MPI_Status status;
    MPI_Recv(buffer.data(), size, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
             &status);
    CHECK_STATUS(status, peers.from, 1, size);
    CHECK_CONTENTS(buffer, size, 7);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
}

/// A buffered send completes without the receiver, whatever its size.
MPI_CASE("modes.buffered-alone") {
  const Peers peers = peers_of(1);
  const Step step(1);
  const AttachedBuffer attached(step);
  for (int i = 0; i < step.count(); ++i) {
    MPI_Bsend(step.outgoing[Step::index(i)].data(), step.sizes[Step::index(i)],
              MPI_BYTE, peers.to, i, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = step.count() - 1; i >= 0; --i) {
    GuardedBuffer buffer(static_cast<std::size_t>(step.sizes[Step::index(i)]));
    MPI_Recv(buffer.data(), step.sizes[Step::index(i)], MPI_BYTE, peers.from, i,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_CONTENTS(buffer, step.sizes[Step::index(i)], step.seed_from(i));
  }
}

/// Buffered sends wait for nobody, also when many short ones are on the way.
/// When they find no memory they fail, and those before them arrive.
MPI_CASE("modes.buffered-until-it-fails") {
  const Peers peers = peers_of(1);
  constexpr std::size_t kAttachedBytes = std::size_t{40} << 20;
  constexpr int kShorts = 4000;
  std::vector<std::byte> attached(kAttachedBytes);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(attached.data(), static_cast<int>(kAttachedBytes));
  const auto data = contents_of(std::size_t{1} << 20, 43);
  for (int i = 0; i < kShorts; ++i) {
    CHECK_EQUAL(MPI_Bsend(data.data(), 1000, MPI_BYTE, peers.to, i, comm),
                MPI_SUCCESS);
  }
  // Open MPI 4.1.4 delivers nothing behind a buffered send that has failed.
  const int larger = mpi_check::trusts(mpi_check::kIsOpenMpi) ? 1000 : 10;
  std::vector<int> sizes;
  int code = MPI_SUCCESS;
  while (static_cast<int>(sizes.size()) < larger && code == MPI_SUCCESS) {
    sizes.push_back(20'000 * (1 + static_cast<int>(sizes.size()) % 50));
    code =
        MPI_Bsend(data.data(), sizes.back(), MPI_BYTE, peers.to, kShorts, comm);
  }
  if (larger == 1000) {
    CHECK_EQUAL(error_class(code), MPI_ERR_BUFFER);
    sizes.pop_back();
  }
  int expected = static_cast<int>(sizes.size());
  MPI_Sendrecv_replace(&expected, 1, MPI_INT, peers.to, kShorts + 1, peers.from,
                       kShorts + 1, comm, MPI_STATUS_IGNORE);
  GuardedBuffer in(data.size());
  for (int i = 0; i < kShorts; ++i) {
    MPI_Recv(in.data(), 1000, MPI_BYTE, peers.from, i, comm, MPI_STATUS_IGNORE);
  }
  CHECK_CONTENTS(in, 1000, 43);
  for (int i = 0; i < expected; ++i) {
    in.clear();
    const int size = 20'000 * (1 + i % 50);
    MPI_Status status;
    MPI_Recv(in.data(), static_cast<int>(data.size()), MPI_BYTE, peers.from,
             kShorts, comm, &status);
    CHECK_STATUS(status, peers.from, kShorts, size);
    CHECK_CONTENTS(in, size, 43);
  }
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &bytes);
  MPI_Comm_free(&comm);
}

}  // namespace
