// Requests: the Test and Wait functions over mixed arrays, cancelling, freeing
// of active requests, and looking at a request without completing it.
#include <algorithm>
#include <array>

#include "check.h"
#include "payload.h"

namespace {

using mpi_check::contents_of;
using mpi_check::Deadline;
using mpi_check::fill;
using mpi_check::GuardedBuffer;
using mpi_check::Peers;
using mpi_check::peers_of;
using mpi_check::seed_of;
using mpi_check::world_rank;
using mpi_check::world_size;

/// A status of a request that was null or inactive.
void check_empty(const MPI_Status& status) {
  CHECK_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
  CHECK_EQUAL(mpi_check::bytes_of(status), 0);
  int is_cancelled = 1;
  MPI_Test_cancelled(&status, &is_cancelled);
  CHECK_EQUAL(is_cancelled, 0);
}

/// An array with every kind of request. Places:
///   0 null                     4 a synchronous send of 100 bytes
///   1 an inactive receive      5 a non-blocking barrier
///   2 a receive, 300000 bytes  6 a send of 300000 bytes
///   3 a receive, 100 bytes     7 an active persistent receive, 8 bytes
///   8 an active persistent send, 8 bytes
class Mixture {
 public:
  static constexpr int kCount = 9;

  Mixture() : peers_(peers_of(1)) {
    fill(large_out_.data(), kLarge, seed_of({world_rank, 1}));
    fill(small_out_.data(), kSmall, seed_of({world_rank, 2}));
    fill(persistent_out_.data(), 8, seed_of({world_rank, 3}));
    MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 90, MPI_COMM_WORLD, &requests[1]);
    receive(large_in_, kLarge, 1, &requests[2]);
    receive(small_in_, kSmall, 2, &requests[3]);
    MPI_Issend(small_out_.data(), kSmall, MPI_BYTE, peers_.to, 2,
               MPI_COMM_WORLD, &requests[4]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[5]);
    MPI_Isend(large_out_.data(), kLarge, MPI_BYTE, peers_.to, 1, MPI_COMM_WORLD,
              &requests[6]);
    MPI_Recv_init(persistent_in_.data(), 8, MPI_BYTE, peers_.from, 3,
                  MPI_COMM_WORLD, &requests[7]);
    MPI_Send_init(persistent_out_.data(), 8, MPI_BYTE, peers_.to, 3,
                  MPI_COMM_WORLD, &requests[8]);
    MPI_Startall(2, &requests[7]);
  }

  /// Call once for each request that completed.
  void completed(int index, const MPI_Status& status) {
    CHECK(index >= 2 && index < kCount);
    CHECK_EQUAL(is_completed_[at(index)], false);
    is_completed_[at(index)] = true;
    if (index == 2) check(status, large_in_, kLarge, 1);
    if (index == 3) check(status, small_in_, kSmall, 2);
    if (index == 7) check(status, persistent_in_, 8, 3);
  }

  bool all_completed() const {
    return std::all_of(is_completed_.begin() + 2, is_completed_.end(),
                       [](bool is_completed) { return is_completed; });
  }

  /// Everything has completed: only the persistent requests are left.
  void end() {
    CHECK(all_completed());
    for (const int i : {0, 2, 3, 4, 5, 6}) {
      CHECK_EQUAL(requests[at(i)], MPI_REQUEST_NULL);
    }
    for (const int i : {1, 7, 8}) {
      CHECK(requests[at(i)] != MPI_REQUEST_NULL);
      MPI_Request_free(&requests[at(i)]);
    }
  }

  std::array<MPI_Request, kCount> requests{MPI_REQUEST_NULL};

 private:
  static constexpr int kLarge = 300000;
  static constexpr int kSmall = 100;

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void receive(GuardedBuffer& buffer, int size, int tag, MPI_Request* request) {
    MPI_Irecv(buffer.data(), size, MPI_BYTE, peers_.from, tag, MPI_COMM_WORLD,
              request);
  }

  void check(const MPI_Status& status,
             GuardedBuffer& buffer,
             int size,
             int tag) {
    CHECK_STATUS(status, peers_.from, tag, size);
    CHECK_CONTENTS(buffer, size, seed_of({peers_.from, tag}));
  }

  Peers peers_;
  std::array<bool, kCount> is_completed_{};
  GuardedBuffer large_in_{kLarge}, small_in_{kSmall}, persistent_in_{8};
  GuardedBuffer large_out_{kLarge}, small_out_{kSmall}, persistent_out_{8};
};

constexpr int kRounds = 20;

MPI_CASE("completion.wait-test") {
  for (int round = 0; round < kRounds; ++round) {
    Mixture all;
    const Deadline deadline;
    for (int i = 0; i < Mixture::kCount; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      MPI_Status status;
      if (round % 2 == 0) {
        MPI_Wait(&all.requests[at], &status);
      } else {
        int is_done = 0;
        while (is_done == 0 && deadline.waits("a request")) {
          MPI_Test(&all.requests[at], &is_done, &status);
        }
      }
      if (i < 2) {
        check_empty(status);
      } else {
        all.completed(i, status);
      }
    }
    all.end();
  }
}

MPI_CASE("completion.waitall-testall") {
  for (int round = 0; round < kRounds; ++round) {
    Mixture all;
    const Deadline deadline;
    std::array<MPI_Status, Mixture::kCount> statuses;
    if (round % 2 == 0) {
      MPI_Waitall(Mixture::kCount, all.requests.data(), statuses.data());
    } else {
      int are_done = 0;
      while (are_done == 0 && deadline.waits("all requests")) {
        MPI_Testall(Mixture::kCount, all.requests.data(), &are_done,
                    statuses.data());
      }
    }
    check_empty(statuses[0]);
    check_empty(statuses[1]);
    for (int i = 2; i < Mixture::kCount; ++i) {
      all.completed(i, statuses[static_cast<std::size_t>(i)]);
    }
    all.end();
  }
}

MPI_CASE("completion.waitany-testany") {
  for (int round = 0; round < kRounds; ++round) {
    Mixture all;
    const Deadline deadline;
    for (;;) {
      int index = -1;
      int is_done = 0;
      MPI_Status status;
      if (round % 2 == 0) {
        MPI_Waitany(Mixture::kCount, all.requests.data(), &index, &status);
      } else {
        while (is_done == 0 && deadline.waits("any request")) {
          MPI_Testany(Mixture::kCount, all.requests.data(), &index, &is_done,
                      &status);
        }
      }
      if (index == MPI_UNDEFINED) {
        // MPICH 4.0.2 leaves the status of MPI_Testany as it is if the array
        // has inactive requests beside null ones.
        if (round % 2 == 0 || mpi_check::trusts(mpi_check::kIsMpich)) {
          check_empty(status);
        }
        break;
      }
      all.completed(index, status);
    }
    all.end();
  }
}

MPI_CASE("completion.waitsome-testsome") {
  for (int round = 0; round < kRounds; ++round) {
    Mixture all;
    const Deadline deadline;
    for (;;) {
      int count = 0;
      std::array<int, Mixture::kCount> indices;
      std::array<MPI_Status, Mixture::kCount> statuses;
      if (round % 2 == 0) {
        MPI_Waitsome(Mixture::kCount, all.requests.data(), &count,
                     indices.data(), statuses.data());
        CHECK(count != 0);
      } else {
        while (count == 0 && deadline.waits("some requests")) {
          MPI_Testsome(Mixture::kCount, all.requests.data(), &count,
                       indices.data(), statuses.data());
        }
      }
      if (count == MPI_UNDEFINED) break;
      for (int i = 0; i < count; ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        all.completed(indices[at], statuses[at]);
      }
    }
    all.end();
  }
}

/// Arrays without an active request, and of no length.
MPI_CASE("completion.nothing-active") {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 91, MPI_COMM_WORLD, &requests[1]);
  MPI_Status status;
  for (const int length : {0, 1, 2}) {
    int index = 0;
    int flag = 0;
    int count = 0;
    int indices[2];
    MPI_Waitany(length, requests, &index, &status);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    check_empty(status);
    MPI_Testany(length, requests, &index, &flag, &status);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    CHECK_EQUAL(flag, 1);
    if (length < 2 || mpi_check::trusts(mpi_check::kIsMpich)) {
      check_empty(status);
    }
    MPI_Waitsome(length, requests, &count, indices, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Testsome(length, requests, &count, indices, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    flag = 0;
    MPI_Testall(length, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(flag, 1);
    MPI_Waitall(length, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[1]);
}

/// Waitany gives the request that is done, not the first one.
MPI_CASE("completion.waitany-finds-later") {
  const Peers peers = peers_of(1);
  for (const int size : {4, 100000}) {
    const auto data = contents_of(static_cast<std::size_t>(size), 5);
    GuardedBuffer first(static_cast<std::size_t>(size));
    GuardedBuffer second(static_cast<std::size_t>(size));
    MPI_Request requests[3];
    MPI_Irecv(first.data(), size, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Irecv(second.data(), size, MPI_BYTE, peers.from, 2, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 2, MPI_COMM_WORLD,
              &requests[2]);
    int index = -1;
    MPI_Status status;
    MPI_Waitany(2, requests, &index, &status);
    CHECK_EQUAL(index, 1);
    CHECK_STATUS(status, peers.from, 2, size);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    int are_done = 1;
    MPI_Testall(2, requests, &are_done, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(are_done, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
              &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK_CONTENTS(first, size, 5);
    CHECK_CONTENTS(second, size, 5);
  }
}

MPI_CASE("completion.get-status") {
  const Peers peers = peers_of(1);
  const Deadline deadline;
  for (const int size : {0, 100, 100000}) {
    const auto data = contents_of(static_cast<std::size_t>(size), 6);
    GuardedBuffer buffer(static_cast<std::size_t>(size));
    MPI_Request requests[2];
    MPI_Irecv(buffer.data(), size, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
              &requests[0]);
    int is_done = 1;
    MPI_Request_get_status(requests[0], &is_done, MPI_STATUS_IGNORE);
    CHECK_EQUAL(is_done, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Status status;
    while (is_done == 0 && deadline.waits("a request's status")) {
      MPI_Request_get_status(requests[0], &is_done, &status);
    }
    CHECK_STATUS(status, peers.from, 1, size);
    CHECK(requests[0] != MPI_REQUEST_NULL);
    MPI_Request_get_status(requests[0], &is_done, &status);
    CHECK_EQUAL(is_done, 1);
    MPI_Status again;
    MPI_Wait(&requests[0], &again);
    CHECK_STATUS(again, peers.from, 1, size);
    CHECK_CONTENTS(buffer, size, 6);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Request_get_status(MPI_REQUEST_NULL, &is_done, &status);
    CHECK_EQUAL(is_done, 1);
    check_empty(status);
  }
}

int is_cancelled(const MPI_Status& status) {
  int flag = -1;
  MPI_Test_cancelled(&status, &flag);
  return flag;
}

/// A receive without a message is cancelled by each way of completion.
MPI_CASE("cancel.receive") {
  for (const int source : {MPI_ANY_SOURCE, 0, world_size - 1}) {
    for (int way = 0; way < 4; ++way) {
      GuardedBuffer buffer(50000);
      MPI_Request request;
      MPI_Irecv(buffer.data(), 50000, MPI_BYTE, source, 55, MPI_COMM_WORLD,
                &request);
      MPI_Cancel(&request);
      CHECK(request != MPI_REQUEST_NULL);
      MPI_Status status;
      int index = -1;
      int flag = 0;
      const Deadline deadline;
      if (way == 0) MPI_Wait(&request, &status);
      if (way == 1) MPI_Waitall(1, &request, &status);
      if (way == 2) MPI_Waitany(1, &request, &index, &status);
      while (way == 3 && flag == 0 && deadline.waits("a cancelled request")) {
        MPI_Test(&request, &flag, &status);
      }
      CHECK_EQUAL(request, MPI_REQUEST_NULL);
      CHECK_EQUAL(is_cancelled(status), 1);
      CHECK_CONTENTS(buffer, 0, 0);
    }
  }
}

/// A persistent receive may be cancelled, and works when started again.
MPI_CASE("cancel.persistent") {
  const Peers peers = peers_of(1);
  GuardedBuffer buffer(1000);
  const auto data = contents_of(1000, 8);
  MPI_Request request;
  MPI_Recv_init(buffer.data(), 1000, MPI_BYTE, peers.from, 56, MPI_COMM_WORLD,
                &request);
  for (int round = 0; round < 3; ++round) {
    MPI_Status status;
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    CHECK_EQUAL(is_cancelled(status), 1);
    CHECK(request != MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&request);
    MPI_Send(data.data(), 1000, MPI_BYTE, peers.to, 56, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK_EQUAL(is_cancelled(status), 0);
    CHECK_STATUS(status, peers.from, 56, 1000);
    CHECK_CONTENTS(buffer, 1000, 8);
    buffer.clear();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&request);
}

/// The message that a cancelled receive would have had goes to the next one.
MPI_CASE("cancel.message-goes-on") {
  const Peers peers = peers_of(1);
  for (const int size : {4, 70000}) {
    const auto data = contents_of(static_cast<std::size_t>(size), 9);
    GuardedBuffer cancelled(static_cast<std::size_t>(size));
    GuardedBuffer taken(static_cast<std::size_t>(size));
    MPI_Request receives[2];
    GuardedBuffer* buffers[] = {&cancelled, &taken};
    for (int i = 0; i < 2; ++i) {
      MPI_Irecv(buffers[i]->data(), size, MPI_BYTE, MPI_ANY_SOURCE, 57,
                MPI_COMM_WORLD, &receives[i]);
    }
    MPI_Cancel(&receives[0]);
    MPI_Status statuses[2];
    MPI_Wait(&receives[0], &statuses[0]);
    CHECK_EQUAL(is_cancelled(statuses[0]), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(data.data(), size, MPI_BYTE, peers.to, 57, MPI_COMM_WORLD);
    MPI_Wait(&receives[1], &statuses[1]);
    CHECK_EQUAL(is_cancelled(statuses[1]), 0);
    CHECK_STATUS(statuses[1], peers.from, 57, size);
    CHECK_CONTENTS(taken, size, 9);
    CHECK_CONTENTS(cancelled, 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// A receive that has its message is not cancelled.
MPI_CASE("cancel.too-late") {
  const Peers peers = peers_of(1);
  const Deadline deadline;
  const auto data = contents_of(200, 10);
  GuardedBuffer buffer(200);
  MPI_Request request;
  MPI_Irecv(buffer.data(), 200, MPI_BYTE, peers.from, 58, MPI_COMM_WORLD,
            &request);
  MPI_Send(data.data(), 200, MPI_BYTE, peers.to, 58, MPI_COMM_WORLD);
  int is_done = 0;
  while (is_done == 0 && deadline.waits("a message")) {
    MPI_Request_get_status(request, &is_done, MPI_STATUS_IGNORE);
  }
  MPI_Cancel(&request);
  MPI_Status status;
  MPI_Wait(&request, &status);
  CHECK_EQUAL(is_cancelled(status), 0);
  CHECK_STATUS(status, peers.from, 58, 200);
  CHECK_CONTENTS(buffer, 200, 10);
}

/// A race of a message and a cancel: the message arrives once, either way.
MPI_CASE("cancel.race") {
  const Peers peers = peers_of(1);
  for (int round = 0; round < 300; ++round) {
    const int size = round % 3 == 0 ? 30000 : 40;
    const auto data =
        contents_of(static_cast<std::size_t>(size), seed_of({round}));
    GuardedBuffer buffer(30000);
    MPI_Request requests[2];
    MPI_Irecv(buffer.data(), 30000, MPI_BYTE, peers.from, 59, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 59, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Cancel(&requests[0]);
    MPI_Status status;
    MPI_Wait(&requests[0], &status);
    if (is_cancelled(status) != 0) {
      CHECK_CONTENTS(buffer, 0, 0);
      MPI_Recv(buffer.data(), 30000, MPI_BYTE, peers.from, 59, MPI_COMM_WORLD,
               &status);
    }
    CHECK_STATUS(status, peers.from, 59, size);
    CHECK_CONTENTS(buffer, size, seed_of({round}));
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
}

/// Sends that are freed at once arrive. The ranks tell by a barrier when the
/// buffers may go.
MPI_CASE("free.active-send") {
  // In MPICH 4.0.2, a rank's freed sends to itself do not arrive.
  if (world_size == 1 && !mpi_check::trusts(mpi_check::kIsMpich)) return;
  const Peers peers = peers_of(1);
  for (const int size : {0, 256, 8192, 300000}) {
    const auto data = contents_of(static_cast<std::size_t>(size), 12);
    MPI_Request request;
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
              &request);
    MPI_Request_free(&request);
    CHECK_EQUAL(request, MPI_REQUEST_NULL);
    MPI_Issend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
               &request);
    MPI_Request_free(&request);
    MPI_Send_init(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
                  &request);
    MPI_Start(&request);
    MPI_Request_free(&request);
    for (int i = 0; i < 3; ++i) {
      GuardedBuffer buffer(static_cast<std::size_t>(size));
      MPI_Status status;
      MPI_Recv(buffer.data(), size, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
               &status);
      CHECK_STATUS(status, peers.from, 1, size);
      CHECK_CONTENTS(buffer, size, 12);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Freed sends end without a call that completes requests.
MPI_CASE("free.many-sends") {
  if (world_size == 1 && !mpi_check::trusts(mpi_check::kIsMpich)) return;
  constexpr int kBytes = 100'000;
  const Peers peers = peers_of(1);
  const auto data = contents_of(kBytes, 13);
  for (int i = 0; i < 1000; ++i) {
    MPI_Request request;
    MPI_Isend(data.data(), kBytes, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
              &request);
    MPI_Request_free(&request);
    std::vector<std::byte> in(kBytes);
    MPI_Recv(in.data(), kBytes, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(in == data);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Receives that are freed at once get their data. The last byte is not zero,
/// and the first 8 are not the guard's, so the receiver sees them come.
MPI_CASE("free.active-receive") {
  const Peers peers = peers_of(1);
  for (const int size : {16, 8192, 300000}) {
    const std::size_t bytes = static_cast<std::size_t>(size);
    const auto data = contents_of(bytes, 13);
    GuardedBuffer buffer(bytes);
    MPI_Request request;
    MPI_Irecv(buffer.data(), size, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
              &request);
    MPI_Request_free(&request);
    MPI_Isend(data.data(), size, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD,
              &request);
    const Deadline deadline;
    while (mpi_check::first_difference(buffer.data(), bytes, 13) != bytes &&
           deadline.waits("data of a freed receive")) {
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    CHECK_CONTENTS(buffer, size, 13);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace
