// Progress: messages while ranks are in collectives, floods of short messages,
// and sends by both sides before any receive.
#include <algorithm>
#include <array>
#include <memory>

#include "check.h"
#include "payload.h"

namespace {

using mpi_check::contents_of;
using mpi_check::GuardedBuffer;
using mpi_check::Peers;
using mpi_check::peers_of;
using mpi_check::seed_of;
using mpi_check::world_rank;
using mpi_check::world_size;

enum class Collective { kBarrier, kBcast, kAllreduce };

void call(Collective which) {
  int value = 5;
  int sum = 0;
  switch (which) {
    case Collective::kBarrier: MPI_Barrier(MPI_COMM_WORLD); break;
    case Collective::kBcast:
      // The root is the sender, so all others wait for it in the broadcast.
      MPI_Bcast(&value, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD);
      CHECK_EQUAL(value, 5);
      break;
    case Collective::kAllreduce:
      MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK_EQUAL(sum, 5 * world_size);
      break;
  }
}

/// The last rank sends before it joins a collective that all others are in
/// already. Their receives are posted, so the send must end.
void send_into(Collective which) {
  const int sender = world_size - 1;
  for (const int size : {8, 1 << 20, 5 << 20}) {
    GuardedBuffer in(static_cast<std::size_t>(size));
    const auto data = contents_of(static_cast<std::size_t>(size), 51);
    MPI_Request request = MPI_REQUEST_NULL;
    if (world_rank != sender || world_size == 1) {
      MPI_Irecv(in.data(), size, MPI_BYTE, sender, 1, MPI_COMM_WORLD, &request);
    }
    if (world_rank == sender) {
      for (int to = 0; to < std::max(world_size - 1, 1); ++to) {
        MPI_Send(data.data(), size, MPI_BYTE, to, 1, MPI_COMM_WORLD);
      }
    }
    call(which);
    if (request != MPI_REQUEST_NULL) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK_CONTENTS(in, size, 51);
    }
  }
}

MPI_CASE("progress.barrier") {
  send_into(Collective::kBarrier);
}

MPI_CASE("progress.bcast") {
  send_into(Collective::kBcast);
}

MPI_CASE("progress.allreduce") {
  send_into(Collective::kAllreduce);
}

/// Every rank sends to every other by MPI_Ssend before it joins the barrier.
MPI_CASE("progress.all-synchronous") {
  constexpr int kSize = 100000;
  std::vector<GuardedBuffer> in(static_cast<std::size_t>(world_size),
                                GuardedBuffer(kSize));
  std::vector<MPI_Request> requests(in.size());
  for (int from = 0; from < world_size; ++from) {
    MPI_Irecv(in[static_cast<std::size_t>(from)].data(), kSize, MPI_BYTE, from,
              1, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(from)]);
  }
  const auto data = contents_of(kSize, seed_of({world_rank}));
  for (int step = 0; step < world_size; ++step) {
    MPI_Ssend(data.data(), kSize, MPI_BYTE, peers_of(step).to, 1,
              MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(world_size, requests.data(), MPI_STATUSES_IGNORE);
  for (int from = 0; from < world_size; ++from) {
    CHECK_CONTENTS(in[static_cast<std::size_t>(from)], kSize, seed_of({from}));
  }
}

/// A large message that was sent without waiting arrives while its sender is
/// in a collective that the receiver joins later.
MPI_CASE("progress.receive-from-a-rank-in-a-barrier") {
  const Peers peers = peers_of(1);
  constexpr int kSize = 1 << 20;
  const auto data = contents_of(kSize, 52);
  GuardedBuffer in(kSize);
  MPI_Request send;
  MPI_Isend(data.data(), kSize, MPI_BYTE, peers.to, 1, MPI_COMM_WORLD, &send);
  // Rank 0 receives before the barrier. Its sender may be in it.
  const auto receive = [&] {
    MPI_Recv(in.data(), kSize, MPI_BYTE, peers.from, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  };
  if (world_rank == 0) receive();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank != 0) receive();
  CHECK_CONTENTS(in, kSize, 52);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/// Pairs of ranks send to each other before either receives. MPI does not
/// promise that this ends; programs rely on it for short messages.
MPI_CASE("progress.short-sends-first") {
  const int partner = world_rank ^ 1;
  if (partner >= world_size) return;
  constexpr int kMessages = 1000;
  for (const int size : {4, 64, 256}) {
    for (int i = 0; i < kMessages; ++i) {
      std::array<std::byte, 256> data;
      mpi_check::fill(data.data(), static_cast<std::size_t>(size),
                      seed_of({size, i}));
      MPI_Send(data.data(), size, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    }
    for (int i = 0; i < kMessages; ++i) {
      GuardedBuffer in(256);
      MPI_Status status;
      MPI_Recv(in.data(), 256, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &status);
      CHECK_STATUS(status, partner, 1, size);
      CHECK_CONTENTS(in, size, seed_of({size, i}));
    }
  }
}

/// Rank 0 sends to rank 1; others wait.
bool is_sender() {
  return world_rank == 0 && world_size > 1;
}

bool is_receiver() {
  return world_rank == 1;
}

/// 20,000 messages arrive before any receive of theirs, and are then taken tag
/// by tag, the last tag first.
MPI_CASE("progress.unexpected") {
  constexpr int kMessages = 20000;
  constexpr int kTags = 10;
  constexpr int kLastTag = 100;
  if (is_sender()) {
    for (int i = 0; i < kMessages; ++i) {
      MPI_Send(&i, 1, MPI_INT, 1, i % kTags, MPI_COMM_WORLD);
    }
    MPI_Send(nullptr, 0, MPI_INT, 1, kLastTag, MPI_COMM_WORLD);
  }
  if (is_receiver()) {
    MPI_Recv(nullptr, 0, MPI_INT, 0, kLastTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (int tag = kTags - 1; tag >= 0; --tag) {
      for (int i = tag; i < kMessages; i += kTags) {
        int value = -1;
        MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQUAL(value, i);
      }
    }
  }
}

/// A stream of short messages to a rank that computes for a while and only
/// then receives. The sender may have to wait, and nothing is lost.
MPI_CASE("progress.stream") {
  constexpr int kMessages = 100000;
  if (is_sender()) {
    for (int i = 0; i < kMessages; ++i) {
      MPI_Send(&i, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    }
  }
  if (is_receiver()) {
    const double end = MPI_Wtime() + 0.5;
    while (MPI_Wtime() < end) {
    }
    for (int i = 0; i < kMessages; ++i) {
      int value = -1;
      MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQUAL(value, i);
    }
  }
}

/// Pairs exchange 20,000 messages, one at a time. More pairs than CPUs need a
/// time slice for each, and exchange fewer.
MPI_CASE("progress.ping-pong") {
  const int partner = world_rank ^ 1;
  if (partner >= world_size) return;
  const int messages = world_size == 2 ? 20000 : 500;
  for (int i = 0; i < messages; ++i) {
    const int mine = i * 2 + world_rank % 2;
    MPI_Request request;
    MPI_Isend(&mine, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &request);
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(value, i * 2 + partner % 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// Many large sends to one receiver at once, which takes them in reverse.
MPI_CASE("progress.many-large-pending") {
  constexpr int kSize = 200000;
  constexpr int kEach = 6;
  std::vector<std::vector<std::byte>> data;
  MPI_Request sends[kEach];
  for (int i = 0; i < kEach; ++i) {
    data.push_back(contents_of(kSize, seed_of({world_rank, i})));
    MPI_Isend(data.back().data(), kSize, MPI_BYTE, 0, i, MPI_COMM_WORLD,
              &sends[i]);
  }
  if (world_rank == 0) {
    for (int from = world_size - 1; from >= 0; --from) {
      for (int i = kEach - 1; i >= 0; --i) {
        GuardedBuffer in(kSize);
        MPI_Recv(in.data(), kSize, MPI_BYTE, from, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK_CONTENTS(in, kSize, seed_of({from, i}));
      }
    }
  }
  MPI_Waitall(kEach, sends, MPI_STATUSES_IGNORE);
}

/// Rank 0 waits for a message that another rank sends behind a collective. The
/// collective takes rounds that need rank 0, which has begun it.
MPI_CASE("progress.collective-beside-receive") {
  constexpr int kCount = 100'000;
  const std::vector<int> ones(kCount, 1);
  for (const int sender : {1, world_size - 1}) {
    if (sender <= 0 || sender >= world_size) return;
    std::vector<int> sums(kCount);
    MPI_Request requests[2];
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(ones.data(), sums.data(), kCount, MPI_INT, MPI_SUM,
                   MPI_COMM_WORLD, &requests[1]);
    int value = 7;
    if (world_rank == 0) {
      value = 0;
      MPI_Recv(&value, 1, MPI_INT, sender, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (world_rank == sender) {
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    CHECK_EQUAL(value, 7);
    CHECK_EQUAL(sums[0], world_size);
    CHECK_EQUAL(sums[kCount - 1], world_size);
  }
}

/// Rank 0 receives from any source, and is in a collective when a rank sends
/// synchronously, which joins the collective afterwards.
MPI_CASE("progress.any-source-beside-a-collective") {
  constexpr int kLarge = 1 << 20;
  std::vector<std::byte> data(kLarge, std::byte{9});
  for (int sender = 1; sender < world_size; ++sender) {
    for (const int size : {4, kLarge}) {
      MPI_Request request = MPI_REQUEST_NULL;
      GuardedBuffer in(static_cast<std::size_t>(size));
      if (world_rank == 0) {
        MPI_Irecv(in.data(), size, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
                  &request);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      if (world_rank == sender) {
        MPI_Ssend(data.data(), size, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Status status{};
      MPI_Wait(&request, &status);
      if (world_rank == 0) {
        CHECK_STATUS(status, sender, 3, size);
      }
    }
  }
}

/// Rank 0 is in an exchange instead. Its partner joins the exchange behind a
/// message of the sender.
MPI_CASE("progress.any-source-beside-an-exchange") {
  if (world_size < 3) return;
  const int partner = world_size - 1;
  int value = 5;
  int got = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (world_rank == 0) {
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
    MPI_Sendrecv(&value, 1, MPI_INT, partner, 4, &value, 1, MPI_INT, partner, 4,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, 5);
  } else if (world_rank == 1) {
    MPI_Ssend(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, partner, 5, MPI_COMM_WORLD);
  } else if (world_rank == partner) {
    MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 4, &value, 1, MPI_INT, 0, 4,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A rank that tests wakes the one that has to receive, which is in a barrier.
/// Without that, each message takes a second.
MPI_CASE("progress.tests-wake-a-receiver") {
  constexpr int kBytes = 1 << 20;
  const Peers peers = peers_of(1);
  const std::vector<std::byte> data(kBytes, std::byte{3});
  std::vector<std::byte> in(kBytes);
  const mpi_check::Deadline deadline;
  for (int i = 0; i < 150; ++i) {
    MPI_Request received = MPI_REQUEST_NULL;
    MPI_Request sent = MPI_REQUEST_NULL;
    if (world_rank % 2 == 0) {
      MPI_Irecv(in.data(), kBytes, MPI_BYTE, peers.from, 3, MPI_COMM_WORLD,
                &received);
    }
    if (peers.to % 2 == 0) {
      MPI_Issend(data.data(), kBytes, MPI_BYTE, peers.to, 3, MPI_COMM_WORLD,
                 &sent);
    }
    int is_sent = 0;
    while (world_rank % 2 == 1 && is_sent == 0 && deadline.waits("a send")) {
      MPI_Test(&sent, &is_sent, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
  }
}

/// Words of data that look like the counter in a ring, behind messages of all
/// lengths.
MPI_CASE("progress.numbers-of-passes") {
  constexpr int kWords = 200;
  const Peers peers = peers_of(1);
  for (int round = 0; round < 4000; ++round) {
    const std::vector<int> data(kWords, round % 20);
    std::vector<int> in(kWords, -1);
    const int words = round % 3 == 0 ? 1 : round * 7 % kWords;
    MPI_Sendrecv(data.data(), words, MPI_INT, peers.to, 1, in.data(), words,
                 MPI_INT, peers.from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (words > 0) {
      CHECK_EQUAL(in[0], round % 20);
      CHECK_EQUAL(in[static_cast<std::size_t>(words) - 1], round % 20);
    }
  }
}

/// The program may fill the memory that HMPI shares; messages go on.
MPI_CASE("progress.full-memory") {
  constexpr std::size_t kBlock = 65'536;
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  for (int i = 0; i < 400; ++i) {
    blocks.emplace_back(new std::byte[kBlock]);
    blocks.back()[0] = std::byte{1};
  }
  for (int step = 0; step < mpi_check::world_size; ++step) {
    const mpi_check::Peers peers = mpi_check::peers_of(step);
    for (const std::size_t size : {0, 100, 6000, 100'000, 3'000'000}) {
      const auto out = mpi_check::contents_of(size, 44);
      mpi_check::GuardedBuffer in(size);
      MPI_Sendrecv(out.data(), static_cast<int>(size), MPI_BYTE, peers.to, 3,
                   in.data(), static_cast<int>(size), MPI_BYTE, peers.from, 3,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_CONTENTS(in, size, 44);
    }
  }
}

}  // namespace
