// MPI_Sendrecv and MPI_Sendrecv_replace, probes of all kinds, and messages that
// are received by their handle.
#include "check.h"
#include "payload.h"

namespace {

using mpi_check::contents_of;
using mpi_check::Deadline;
using mpi_check::GuardedBuffer;
using mpi_check::Peers;
using mpi_check::peers_of;
using mpi_check::seed_of;
using mpi_check::sizes_of;
using mpi_check::world_rank;
using mpi_check::world_size;

MPI_CASE("sendrecv.pairs") {
  for (int step = 0; step < world_size; ++step) {
    const Peers peers = peers_of(step);
    for (const int size : sizes_of(step)) {
      const auto data = contents_of(static_cast<std::size_t>(size),
                                    seed_of({world_rank, peers.to, size}));
      GuardedBuffer buffer(static_cast<std::size_t>(size) + 5);
      MPI_Status status;
      MPI_Sendrecv(data.data(), size, MPI_BYTE, peers.to, 3, buffer.data(),
                   size + 5, MPI_BYTE, peers.from, 3, MPI_COMM_WORLD, &status);
      CHECK_STATUS(status, peers.from, 3, size);
      CHECK_CONTENTS(buffer, size, seed_of({peers.from, world_rank, size}));
    }
  }
}

MPI_CASE("sendrecv.replace") {
  for (int step = 0; step < world_size; ++step) {
    const Peers peers = peers_of(step);
    for (const int size : sizes_of(step)) {
      GuardedBuffer buffer(static_cast<std::size_t>(size));
      mpi_check::fill(buffer.data(), static_cast<std::size_t>(size),
                      seed_of({world_rank, peers.to, size}));
      MPI_Status status;
      MPI_Sendrecv_replace(buffer.data(), size, MPI_BYTE, peers.to, 4,
                           peers.from, 4, MPI_COMM_WORLD, &status);
      CHECK_STATUS(status, peers.from, 4, size);
      CHECK_CONTENTS(buffer, size, seed_of({peers.from, world_rank, size}));
    }
  }
}

#if MPI_VERSION >= 4
MPI_CASE("sendrecv.large-count") {
  const Peers peers = peers_of(1);
  for (const int size : sizes_of(1)) {
    GuardedBuffer one(static_cast<std::size_t>(size));
    GuardedBuffer other(static_cast<std::size_t>(size));
    mpi_check::fill(one.data(), one.size(), seed_of({world_rank, size}));
    MPI_Status status;
    MPI_Sendrecv_c(one.data(), size, MPI_BYTE, peers.to, 5, other.data(), size,
                   MPI_BYTE, peers.from, 5, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, peers.from, 5, size);
    CHECK_CONTENTS(other, size, seed_of({peers.from, size}));
    MPI_Sendrecv_replace_c(one.data(), size, MPI_BYTE, peers.to, 6, peers.from,
                           6, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, peers.from, 6, size);
    CHECK_CONTENTS(one, size, seed_of({peers.from, size}));
    MPI_Count count = -1;
    MPI_Get_count_c(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, size);
  }
}
#endif

/// Different sizes go in the two directions, from and to different ranks.
MPI_CASE("sendrecv.uneven") {
  const int to = (world_rank + 1) % world_size;
  const int from = (world_rank + world_size - 1) % world_size;
  const int mine = world_rank % 2 == 0 ? 200000 : 3;
  const int theirs = from % 2 == 0 ? 200000 : 3;
  const auto data = contents_of(static_cast<std::size_t>(mine), 11);
  GuardedBuffer buffer(200000);
  MPI_Status status;
  MPI_Sendrecv(data.data(), mine, MPI_BYTE, to, world_rank, buffer.data(),
               200000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
               &status);
  CHECK_STATUS(status, from, from, theirs);
  CHECK_CONTENTS(buffer, theirs, 11);
}

enum class Look { kProbe, kIprobe, kMprobe, kImprobe };

/// The result of a probe. `message` is set by the matched probes only.
struct Found {
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
};

Found look(Look how, int source, int tag) {
  Found found;
  const Deadline deadline;
  int is_there = 0;
  switch (how) {
    case Look::kProbe:
      MPI_Probe(source, tag, MPI_COMM_WORLD, &found.status);
      break;
    case Look::kIprobe:
      while (is_there == 0 && deadline.waits("a probe")) {
        MPI_Iprobe(source, tag, MPI_COMM_WORLD, &is_there, &found.status);
      }
      break;
    case Look::kMprobe:
      MPI_Mprobe(source, tag, MPI_COMM_WORLD, &found.message, &found.status);
      break;
    case Look::kImprobe:
      while (is_there == 0 && deadline.waits("a probe")) {
        MPI_Improbe(source, tag, MPI_COMM_WORLD, &is_there, &found.message,
                    &found.status);
      }
      break;
  }
  return found;
}

/// Receives what was found, by the call that fits. Every second matched message
/// goes through MPI_Imrecv.
void take(Found found, GuardedBuffer& buffer, int capacity, bool is_second) {
  MPI_Status status;
  const int source = found.status.MPI_SOURCE;
  const int tag = found.status.MPI_TAG;
  if (found.message == MPI_MESSAGE_NULL) {
    MPI_Recv(buffer.data(), capacity, MPI_BYTE, source, tag, MPI_COMM_WORLD,
             &status);
  } else if (is_second) {
    MPI_Request request;
    MPI_Imrecv(buffer.data(), capacity, MPI_BYTE, &found.message, &request);
    CHECK_EQUAL(found.message, MPI_MESSAGE_NULL);
    MPI_Wait(&request, &status);
  } else {
    MPI_Mrecv(buffer.data(), capacity, MPI_BYTE, &found.message, &status);
    CHECK_EQUAL(found.message, MPI_MESSAGE_NULL);
  }
  CHECK_STATUS(status, source, tag, mpi_check::bytes_of(found.status));
}

void probe_everywhere(Look how) {
  for (int step = 0; step < world_size; ++step) {
    const Peers peers = peers_of(step);
    const auto sizes = sizes_of(step);
    std::vector<std::vector<std::byte>> data;
    std::vector<MPI_Request> sends(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      data.push_back(contents_of(static_cast<std::size_t>(sizes[i]),
                                 seed_of({world_rank, peers.to, sizes[i]})));
      MPI_Isend(data.back().data(), sizes[i], MPI_BYTE, peers.to,
                static_cast<int>(i), MPI_COMM_WORLD, &sends[i]);
    }
    // Else some tag would come twice, and another one never.
    CHECK(sizes.size() % 5 != 0);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const int tag = static_cast<int>((k * 5) % sizes.size());
      const int size = sizes[static_cast<std::size_t>(tag)];
      const Found found = look(how, peers.from, tag);
      CHECK_STATUS(found.status, peers.from, tag, size);
      GuardedBuffer buffer(static_cast<std::size_t>(size));
      take(found, buffer, size, k % 4 < 2);
      CHECK_CONTENTS(buffer, size, seed_of({peers.from, world_rank, size}));
    }
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(),
                MPI_STATUSES_IGNORE);
  }
}

MPI_CASE("probe.probe") {
  probe_everywhere(Look::kProbe);
}

MPI_CASE("probe.iprobe") {
  probe_everywhere(Look::kIprobe);
}

MPI_CASE("probe.mprobe") {
  probe_everywhere(Look::kMprobe);
}

MPI_CASE("probe.improbe") {
  probe_everywhere(Look::kImprobe);
}

/// Several senders, found by wildcards. The messages of each come in order.
MPI_CASE("probe.wildcards") {
  constexpr int kMessages = 20;
  const Look kinds[] = {Look::kProbe, Look::kIprobe, Look::kMprobe,
                        Look::kImprobe};
  for (const Look how : kinds) {
    if (world_rank != 0) {
      for (int i = 0; i < kMessages; ++i) {
        const int size = i * 97;
        const auto data = contents_of(static_cast<std::size_t>(size),
                                      seed_of({world_rank, i}));
        MPI_Send(data.data(), size, MPI_BYTE, 0, i, MPI_COMM_WORLD);
      }
    } else {
      std::vector<int> next(static_cast<std::size_t>(world_size), 0);
      for (int n = 0; n < kMessages * (world_size - 1); ++n) {
        const Found found = look(how, MPI_ANY_SOURCE, MPI_ANY_TAG);
        const int source = found.status.MPI_SOURCE;
        const int i = next[static_cast<std::size_t>(source)]++;
        CHECK_STATUS(found.status, source, i, i * 97);
        GuardedBuffer buffer(static_cast<std::size_t>(i * 97));
        take(found, buffer, i * 97, n % 2 == 0);
        CHECK_CONTENTS(buffer, i * 97, seed_of({source, i}));
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// A matched message is out of the way: later receives get later messages, and
/// several handles may be open and are received in any order.
MPI_CASE("probe.matched-out-of-order") {
  const Peers peers = peers_of(1);
  const int sizes[] = {10, 70000, 0, 300};
  std::vector<std::vector<std::byte>> data;
  MPI_Request sends[4];
  for (int i = 0; i < 4; ++i) {
    data.push_back(contents_of(static_cast<std::size_t>(sizes[i]),
                               seed_of({world_rank, i})));
    MPI_Isend(data.back().data(), sizes[i], MPI_BYTE, peers.to, 9,
              MPI_COMM_WORLD, &sends[i]);
  }
  MPI_Message messages[3];
  for (int i = 0; i < 3; ++i) {
    MPI_Status status;
    MPI_Mprobe(peers.from, 9, MPI_COMM_WORLD, &messages[i], &status);
    CHECK_STATUS(status, peers.from, 9, sizes[i]);
  }
  GuardedBuffer last(300);
  MPI_Recv(last.data(), 300, MPI_BYTE, peers.from, 9, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  CHECK_CONTENTS(last, 300, seed_of({peers.from, 3}));
  for (const int i : {2, 0, 1}) {
    GuardedBuffer buffer(static_cast<std::size_t>(sizes[i]));
    MPI_Mrecv(buffer.data(), sizes[i], MPI_BYTE, &messages[i],
              MPI_STATUS_IGNORE);
    CHECK_CONTENTS(buffer, sizes[i], seed_of({peers.from, i}));
  }
  MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
}

/// Without a message, the probes that do not wait find nothing.
MPI_CASE("probe.nothing") {
  int is_there = 1;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
  CHECK_EQUAL(is_there, 0);
  is_there = 1;
  MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &is_there, &message,
              MPI_STATUS_IGNORE);
  CHECK_EQUAL(is_there, 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

#if MPI_VERSION >= 4
MPI_CASE("probe.large-count") {
  const Peers peers = peers_of(1);
  for (const int size : {4, 100000}) {
    const auto data = contents_of(static_cast<std::size_t>(size), 21);
    MPI_Request sends[2];
    for (MPI_Request& send : sends) {
      MPI_Isend_c(data.data(), size, MPI_BYTE, peers.to, 2, MPI_COMM_WORLD,
                  &send);
    }
    for (const bool is_waiting : {true, false}) {
      MPI_Message message;
      MPI_Mprobe(peers.from, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      GuardedBuffer buffer(static_cast<std::size_t>(size));
      MPI_Status status;
      if (is_waiting) {
        MPI_Mrecv_c(buffer.data(), size, MPI_BYTE, &message, &status);
      } else {
        MPI_Request request;
        MPI_Imrecv_c(buffer.data(), size, MPI_BYTE, &message, &request);
        MPI_Wait(&request, &status);
      }
      CHECK_STATUS(status, peers.from, 2, size);
      CHECK_CONTENTS(buffer, size, 21);
    }
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  }
}
#endif

}  // namespace
