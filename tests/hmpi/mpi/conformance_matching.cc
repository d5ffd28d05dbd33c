// Matching: wildcards, order, messages to MPI_PROC_NULL, ignored statuses, and
// messages that are longer than their receive.
#include <algorithm>

#include "check.h"
#include "payload.h"

namespace {

using mpi_check::contents_of;
using mpi_check::error_class;
using mpi_check::GuardedBuffer;
using mpi_check::kSizes;
using mpi_check::Peers;
using mpi_check::peers_of;
using mpi_check::seed_of;
using mpi_check::world_rank;
using mpi_check::world_size;

int size_of_message(int i) {
  return i % 10 == 9 ? 70000 : i * 37 % 1500;
}

/// All ranks send to one, which takes all by wildcards.
MPI_CASE("matching.any-source-any-tag") {
  constexpr int kMessages = 50;
  for (int root = 0; root < std::min(world_size, 4); ++root) {
    std::vector<std::vector<std::byte>> data;
    std::vector<MPI_Request> sends(kMessages);
    for (int i = 0; i < kMessages; ++i) {
      data.push_back(contents_of(static_cast<std::size_t>(size_of_message(i)),
                                 seed_of({world_rank, i})));
      MPI_Isend(data.back().data(), size_of_message(i), MPI_BYTE, root, i,
                MPI_COMM_WORLD, &sends[static_cast<std::size_t>(i)]);
    }
    std::vector<int> next(static_cast<std::size_t>(world_size), 0);
    const int expected = world_rank == root ? kMessages * world_size : 0;
    for (int n = 0; n < expected; ++n) {
      GuardedBuffer buffer(70000);
      MPI_Status status;
      MPI_Recv(buffer.data(), 70000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
      const int i = next[static_cast<std::size_t>(status.MPI_SOURCE)]++;
      CHECK_STATUS(status, status.MPI_SOURCE, i, size_of_message(i));
      CHECK_CONTENTS(buffer, size_of_message(i),
                     seed_of({status.MPI_SOURCE, i}));
    }
    MPI_Waitall(kMessages, sends.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Receives of all kinds of wildcards are posted, then all ranks send. Each
/// tag has as many messages as receives.
MPI_CASE("matching.posted-wildcards") {
  const int all = world_size;
  std::vector<GuardedBuffer> buffers(static_cast<std::size_t>(3 * all),
                                     GuardedBuffer(5000));
  std::vector<MPI_Request> receives(buffers.size());
  std::vector<MPI_Status> statuses(buffers.size());
  // Tags 1 and 2 by any source; the receives with any tag are the last.
  for (int i = 0; i < 3 * all; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    MPI_Irecv(buffers[at].data(), 5000, MPI_BYTE,
              i < 2 * all ? MPI_ANY_SOURCE : i - 2 * all,
              i < all       ? 1
              : i < 2 * all ? 2
                            : MPI_ANY_TAG,
              MPI_COMM_WORLD, &receives[at]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int to = 0; to < all; ++to) {
    for (const int tag : {2, 1}) {
      const auto data = contents_of(2500, seed_of({world_rank, to, tag}));
      MPI_Send(data.data(), 2500, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    }
  }
  // The messages with tag 3 leave when all others are matched.
  MPI_Waitall(2 * all, receives.data(), statuses.data());
  MPI_Barrier(MPI_COMM_WORLD);
  for (int to = 0; to < all; ++to) {
    const auto data = contents_of(2500, seed_of({world_rank, to, 3}));
    MPI_Send(data.data(), 2500, MPI_BYTE, to, 3, MPI_COMM_WORLD);
  }
  MPI_Waitall(all, &receives[static_cast<std::size_t>(2 * all)],
              &statuses[static_cast<std::size_t>(2 * all)]);
  std::vector<int> seen(static_cast<std::size_t>(all), 0);
  for (int i = 0; i < 3 * all; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const int source = statuses[at].MPI_SOURCE;
    CHECK_STATUS(statuses[at], source, i / all + 1, 2500);
    CHECK_CONTENTS(buffers[at], 2500,
                   seed_of({source, world_rank, i / all + 1}));
    ++seen[static_cast<std::size_t>(source)];
  }
  for (const int count : seen)
    CHECK_EQUAL(count, 3);
}

/// The receive that was posted first gets the message, whichever of the two
/// has a wildcard.
MPI_CASE("matching.posted-first") {
  const Peers peers = peers_of(1);

  struct Pattern {
    int source, tag;
  };

  const Pattern patterns[] = {{peers.from, 1},
                              {MPI_ANY_SOURCE, 1},
                              {peers.from, MPI_ANY_TAG},
                              {MPI_ANY_SOURCE, MPI_ANY_TAG}};
  for (const Pattern& first : patterns) {
    for (const Pattern& second : patterns) {
      for (const int size : {8, 20000}) {
        int order[2] = {1, 2};
        std::vector<GuardedBuffer> buffers(2, GuardedBuffer(20000));
        MPI_Request receives[2];
        const Pattern* posted[] = {&first, &second};
        for (const std::size_t i : {0U, 1U}) {
          MPI_Irecv(buffers[i].data(), 20000, MPI_BYTE, posted[i]->source,
                    posted[i]->tag, MPI_COMM_WORLD, &receives[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (const int number : order) {
          const auto data = contents_of(static_cast<std::size_t>(size),
                                        seed_of({number, world_rank}));
          MPI_Send(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD);
        }
        MPI_Status statuses[2];
        MPI_Waitall(2, receives, statuses);
        for (const std::size_t i : {0U, 1U}) {
          CHECK_STATUS(statuses[i], peers.from, 1, size);
          CHECK_CONTENTS(buffers[i], size, seed_of({order[i], peers.from}));
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
}

/// Messages of all sizes with one tag: a short one never overtakes a long one.
MPI_CASE("matching.no-overtaking") {
  const Peers peers = peers_of(1);
  constexpr int kMessages = 120;
  const auto size_of = [](int i) {
    return kSizes[static_cast<std::size_t>(i * 7 % 16)];
  };
  // First all messages are unexpected, then all are expected.
  for (const bool is_expected : {false, true}) {
    std::vector<std::vector<std::byte>> data;
    std::vector<GuardedBuffer> buffers;
    std::vector<MPI_Request> requests(2 * kMessages);
    std::vector<MPI_Status> statuses(2 * kMessages);
    for (int i = 0; i < kMessages; ++i) {
      data.push_back(contents_of(static_cast<std::size_t>(size_of(i)),
                                 seed_of({world_rank, i})));
      buffers.emplace_back(static_cast<std::size_t>(size_of(i)));
    }
    const auto send = [&](int i) {
      MPI_Isend(data[static_cast<std::size_t>(i)].data(), size_of(i), MPI_BYTE,
                peers.to, 1, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(kMessages + i)]);
    };
    const auto receive = [&](int i) {
      MPI_Irecv(buffers[static_cast<std::size_t>(i)].data(), size_of(i),
                MPI_BYTE, i % 3 == 0 ? MPI_ANY_SOURCE : peers.from, 1,
                MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
    };
    for (int i = 0; i < kMessages; ++i)
      is_expected ? receive(i) : send(i);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kMessages; ++i)
      is_expected ? send(i) : receive(i);
    MPI_Waitall(2 * kMessages, requests.data(), statuses.data());
    for (int i = 0; i < kMessages; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      CHECK_STATUS(statuses[at], peers.from, 1, size_of(i));
      CHECK_CONTENTS(buffers[at], size_of(i), seed_of({peers.from, i}));
    }
  }
}

/// Tags are matched exactly, up to the largest one.
MPI_CASE("matching.tags") {
  const Peers peers = peers_of(1);
  void* bound = nullptr;
  int has_bound = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound),
                    &has_bound);
  CHECK_EQUAL(has_bound, 1);
  const int largest = *static_cast<int*>(bound);
  CHECK(largest >= 32767);
  const int tags[] = {0, 1, 255, 256, 32767, largest - 1, largest};
  constexpr int kTags = 7;
  int sent[kTags];
  MPI_Request sends[kTags];
  for (int i = 0; i < kTags; ++i) {
    sent[i] = i;
    MPI_Isend(&sent[i], 1, MPI_INT, peers.to, tags[i], MPI_COMM_WORLD,
              &sends[i]);
  }
  for (int i = kTags - 1; i >= 0; --i) {
    int value = -1;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, peers.from, tags[i], MPI_COMM_WORLD, &status);
    CHECK_EQUAL(value, i);
    CHECK_STATUS(status, peers.from, tags[i], sizeof(int));
  }
  MPI_Waitall(kTags, sends, MPI_STATUSES_IGNORE);
}

void check_null_status(const MPI_Status& status) {
  CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

MPI_CASE("matching.proc-null") {
  const MPI_Comm world = MPI_COMM_WORLD;
  constexpr int kNull = MPI_PROC_NULL;
  GuardedBuffer buffer(100);
  std::byte* const data = buffer.data();
  MPI_Status status;
  MPI_Send(data, 100, MPI_BYTE, kNull, 1, world);
  MPI_Ssend(data, 100, MPI_BYTE, kNull, 1, world);
  MPI_Rsend(data, 100, MPI_BYTE, kNull, 1, world);
  MPI_Bsend(data, 100, MPI_BYTE, kNull, 1, world);
  MPI_Recv(data, 100, MPI_BYTE, kNull, 1, world, &status);
  check_null_status(status);
  MPI_Request requests[10];
  MPI_Isend(data, 100, MPI_BYTE, kNull, 1, world, &requests[0]);
  MPI_Issend(data, 100, MPI_BYTE, kNull, 1, world, &requests[1]);
  MPI_Irsend(data, 100, MPI_BYTE, kNull, 1, world, &requests[2]);
  MPI_Ibsend(data, 100, MPI_BYTE, kNull, 1, world, &requests[3]);
  MPI_Irecv(data, 100, MPI_BYTE, kNull, MPI_ANY_TAG, world, &requests[4]);
  MPI_Send_init(data, 100, MPI_BYTE, kNull, 1, world, &requests[5]);
  MPI_Ssend_init(data, 100, MPI_BYTE, kNull, 1, world, &requests[6]);
  MPI_Rsend_init(data, 100, MPI_BYTE, kNull, 1, world, &requests[7]);
  MPI_Bsend_init(data, 100, MPI_BYTE, kNull, 1, world, &requests[8]);
  MPI_Recv_init(data, 100, MPI_BYTE, kNull, 1, world, &requests[9]);
  for (int round = 0; round < 2; ++round) {
    MPI_Status statuses[10];
    MPI_Startall(5, &requests[5]);
    MPI_Waitall(10, requests, statuses);
    // MPICH 4.0.2 gives other statuses to receives from MPI_PROC_NULL that have
    // a request. HMPI passes them through.
    if (!mpi_check::kIsMpich) {
      if (round == 0) check_null_status(statuses[4]);
      check_null_status(statuses[9]);
    }
  }
  for (int i = 5; i < 10; ++i)
    MPI_Request_free(&requests[i]);
  CHECK_CONTENTS(buffer, 0, 0);
}

MPI_CASE("matching.proc-null-probe") {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Probe(MPI_PROC_NULL, 1, world, &status);
  check_null_status(status);
  int flag = 0;
  MPI_Iprobe(MPI_PROC_NULL, 1, world, &flag, &status);
  CHECK_EQUAL(flag, 1);
  check_null_status(status);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(MPI_PROC_NULL, 1, world, &message, &status);
  CHECK_EQUAL(message, MPI_MESSAGE_NO_PROC);
  check_null_status(status);
  MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, &status);
  CHECK_EQUAL(message, MPI_MESSAGE_NULL);
  check_null_status(status);
  flag = 0;
  MPI_Improbe(MPI_PROC_NULL, 1, world, &flag, &message, &status);
  CHECK_EQUAL(flag, 1);
  CHECK_EQUAL(message, MPI_MESSAGE_NO_PROC);
  MPI_Request request;
  MPI_Imrecv(nullptr, 0, MPI_BYTE, &message, &request);
  MPI_Wait(&request, &status);
  check_null_status(status);
}

/// A chain: the first rank receives from, and the last one sends to, nobody.
MPI_CASE("matching.proc-null-sendrecv") {
  const int to = world_rank + 1 < world_size ? world_rank + 1 : MPI_PROC_NULL;
  const int from = world_rank > 0 ? world_rank - 1 : MPI_PROC_NULL;
  int value = -1;
  MPI_Status status;
  MPI_Sendrecv(&world_rank, 1, MPI_INT, to, 1, &value, 1, MPI_INT, from, 1,
               MPI_COMM_WORLD, &status);
  CHECK_EQUAL(value, world_rank - 1);
  CHECK_EQUAL(status.MPI_SOURCE, from);
  int replaced = world_rank;
  MPI_Sendrecv_replace(&replaced, 1, MPI_INT, to, 1, from, 1, MPI_COMM_WORLD,
                       &status);
  CHECK_EQUAL(replaced, world_rank > 0 ? world_rank - 1 : world_rank);
  CHECK_EQUAL(status.MPI_SOURCE, from);
}

MPI_CASE("matching.status-ignore") {
  const Peers peers = peers_of(1);
  for (const int size : {0, 100, 100000}) {
    const auto data = contents_of(static_cast<std::size_t>(size), 3);
    std::vector<GuardedBuffer> in(
        6, GuardedBuffer(static_cast<std::size_t>(size)));
    MPI_Request requests[10];
    for (int i = 0; i < 5; ++i) {
      MPI_Irecv(in[static_cast<std::size_t>(i)].data(), size, MPI_BYTE,
                peers.from, 1, MPI_COMM_WORLD, &requests[i]);
      MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
                &requests[5 + i]);
    }
    int index = 0;
    int flag = 0;
    int count = 0;
    int indices[10];
    const mpi_check::Deadline deadline;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    while (flag == 0 && deadline.waits("a request")) {
      MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    }
    MPI_Waitany(10, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(10, requests, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Testsome(10, requests, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Testany(10, requests, &index, &flag, MPI_STATUS_IGNORE);
    MPI_Testall(10, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(data.data(), size, MPI_BYTE, peers.to, 2, in[5].data(), size,
                 MPI_BYTE, peers.from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (GuardedBuffer& buffer : in)
      CHECK_CONTENTS(buffer, size, 3);
  }
}

/// A copy of the world whose errors come back. Errors of the world come back
/// too: MPICH 4.0.2 gives those of MPI_Wait to the world's handler.
class ReturningComm {
 public:
  ReturningComm() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }

  ~ReturningComm() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm_);
  }

  ReturningComm(const ReturningComm&) = delete;
  ReturningComm& operator=(const ReturningComm&) = delete;

  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Messages of every size to a receive that is shorter. `take` receives up to
/// `capacity` bytes with tag 1 and returns the error.
template <class Take>
void truncate_everywhere(Take take) {
  const ReturningComm comm;
  const Peers peers = peers_of(1);
  for (const int size : kSizes) {
    if (size == 0) continue;
    for (const int capacity : {0, size / 2, size - 1}) {
      // The second message has 4 bytes.
      const auto data =
          contents_of(static_cast<std::size_t>(std::max(size, 4)), 4);
      MPI_Request sends[2];
      for (const int i : {0, 1}) {
        MPI_Isend(data.data(), i == 0 ? size : 4, MPI_BYTE, peers.to,
                  i == 0 ? 1 : 2, comm.get(), &sends[i]);
      }
      // The buffer is longer than the receive, so that a library that writes
      // too much does no harm before it is found.
      GuardedBuffer buffer(static_cast<std::size_t>(size));
      CHECK_EQUAL(error_class(take(buffer, capacity, peers.from, comm.get())),
                  MPI_ERR_TRUNCATE);
      // Open MPI 4.1.4 writes the whole message over the end of the buffer if
      // the message is longer than its limit for eager messages.
      if (size < 1000 || mpi_check::trusts(mpi_check::kIsOpenMpi)) {
        CHECK(buffer.is_untouched_from(static_cast<std::size_t>(capacity)));
      }
      // The next message is not disturbed, and the sender knows of nothing.
      int next = 0;
      int expected = 0;
      std::memcpy(&expected, data.data(), 4);
      CHECK_EQUAL(MPI_Recv(&next, 4, MPI_BYTE, peers.from, 2, comm.get(),
                           MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
      CHECK_EQUAL(next, expected);
      CHECK_EQUAL(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
  }
}

MPI_CASE("truncation.recv") {
  truncate_everywhere(
      [](GuardedBuffer& buffer, int capacity, int source, MPI_Comm comm) {
        return MPI_Recv(buffer.data(), capacity, MPI_BYTE, source, 1, comm,
                        MPI_STATUS_IGNORE);
      });
}

MPI_CASE("truncation.irecv") {
  truncate_everywhere([](GuardedBuffer& buffer, int capacity, int source,
                         MPI_Comm comm) {
    MPI_Request request;
    const int posted =
        MPI_Irecv(buffer.data(), capacity, MPI_BYTE, source, 1, comm, &request);
    // MPI may tell the error at once if the message is there already.
    if (posted != MPI_SUCCESS) return posted;
    MPI_Status status;
    const int error = MPI_Wait(&request, &status);
    CHECK_EQUAL(status.MPI_SOURCE, source);
    CHECK_EQUAL(status.MPI_TAG, 1);
    return error;
  });
}

MPI_CASE("truncation.mrecv") {
  truncate_everywhere(
      [](GuardedBuffer& buffer, int capacity, int source, MPI_Comm comm) {
        MPI_Message message;
        MPI_Status status;
        MPI_Mprobe(source, 1, comm, &message, &status);
        return MPI_Mrecv(buffer.data(), capacity, MPI_BYTE, &message, &status);
      });
}

MPI_CASE("truncation.waitall") {
  // With threads, MPI_Waitall of Open MPI 4.1.4 may wait forever if a request
  // ends with an error.
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE &&
      !mpi_check::trusts(mpi_check::kIsOpenMpi)) {
    return;
  }
  truncate_everywhere([](GuardedBuffer& buffer, int capacity, int source,
                         MPI_Comm comm) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Irecv(buffer.data(), capacity, MPI_BYTE, source, 1, comm, &requests[1]);
    CHECK_EQUAL(error_class(MPI_Waitall(2, requests, statuses)),
                MPI_ERR_IN_STATUS);
    // MPICH 4.0.2 leaves MPI_ERROR of a null request as it is.
    if (mpi_check::trusts(mpi_check::kIsMpich)) {
      CHECK_EQUAL(statuses[0].MPI_ERROR, MPI_SUCCESS);
    }
    return statuses[1].MPI_ERROR;
  });
}

MPI_CASE("truncation.any-source") {
  truncate_everywhere(
      [](GuardedBuffer& buffer, int capacity, int, MPI_Comm comm) {
        return MPI_Recv(buffer.data(), capacity, MPI_BYTE, MPI_ANY_SOURCE, 1,
                        comm, MPI_STATUS_IGNORE);
      });
}

}  // namespace
