// Four threads of each rank send and receive at once (MPI_THREAD_MULTIPLE).
#include <algorithm>
#include <functional>
#include <thread>

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

constexpr int kThreads = 4;

void on_all_threads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back(body, i);
  for (std::thread& thread : threads)
    thread.join();
}

/// Fewer messages of each thread with more ranks: with 2 CPUs, an MPI library
/// whose waits spin needs a time slice for each message.
int rounds() {
  return std::max(120 / world_size, 10);
}

int size_of_message(int i) {
  return i % 20 == 19 ? 100000 : i * 131 % 9000;
}

/// Messages of one thread to the thread with this number in another rank.
void talk(MPI_Comm comm, int thread, int tag, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const Peers peers = peers_of(i % world_size);
    const int size = size_of_message(i);
    const auto data = contents_of(static_cast<std::size_t>(size),
                                  seed_of({world_rank, thread, i}));
    GuardedBuffer in(static_cast<std::size_t>(size));
    MPI_Request requests[2];
    MPI_Irecv(in.data(), size, MPI_BYTE, peers.from, tag, comm, &requests[0]);
    if (i % 3 == 0) {
      MPI_Issend(data.data(), size, MPI_BYTE, peers.to, tag, comm,
                 &requests[1]);
    } else {
      MPI_Isend(data.data(), size, MPI_BYTE, peers.to, tag, comm, &requests[1]);
    }
    MPI_Status statuses[2];
    if (i % 2 == 0) {
      MPI_Waitall(2, requests, statuses);
    } else {
      MPI_Wait(&requests[1], &statuses[1]);
      MPI_Wait(&requests[0], &statuses[0]);
    }
    CHECK_STATUS(statuses[0], peers.from, tag, size);
    CHECK_CONTENTS(in, size, seed_of({peers.from, thread, i}));
  }
}

MPI_THREADS_CASE("threads.tag-of-each") {
  on_all_threads(
      [](int thread) { talk(MPI_COMM_WORLD, thread, thread, rounds()); });
}

MPI_THREADS_CASE("threads.communicator-of-each") {
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& comm : comms)
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  on_all_threads([&](int thread) {
    talk(comms[static_cast<std::size_t>(thread)], thread, 1, rounds());
  });
  for (MPI_Comm& comm : comms)
    MPI_Comm_free(&comm);
}

/// All threads send with one tag, and all take by wildcards: each message is
/// taken once. Contents follow from a number in the first bytes.
void take_anything(bool is_matched_probe) {
  const int messages = rounds();
  std::atomic<long> sum{0};
  const Peers peers = peers_of(1);
  on_all_threads([&](int thread) {
    for (int i = 0; i < messages; ++i) {
      const int number = thread * messages + i;
      const int ints = i % 50 == 0 ? 30000 : 1 + i % 7;
      const std::vector<int> data(static_cast<std::size_t>(ints), number);
      MPI_Request send;
      MPI_Isend(data.data(), ints, MPI_INT, peers.to, 1, MPI_COMM_WORLD, &send);
      std::vector<int> in(30000, -1);
      MPI_Status status;
      if (is_matched_probe) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(in.data(), 30000, MPI_INT, &message, &status);
      } else {
        MPI_Recv(in.data(), 30000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
      }
      int count = 0;
      MPI_Get_count(&status, MPI_INT, &count);
      const int taken = in[0] % messages;
      CHECK_EQUAL(count, taken % 50 == 0 ? 30000 : 1 + taken % 7);
      for (int k = 0; k < count; ++k) {
        if (in[static_cast<std::size_t>(k)] != in[0]) CHECK_EQUAL(k, count);
      }
      sum.fetch_add(in[0], std::memory_order_relaxed);
      MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
  });
  const long all = kThreads * messages;
  CHECK_EQUAL(sum.load(std::memory_order_relaxed), all * (all - 1) / 2);
}

MPI_THREADS_CASE("threads.wildcards") {
  take_anything(false);
}

MPI_THREADS_CASE("threads.matched-probes") {
  take_anything(true);
}

/// One thread sends in order, while others of its rank use other tags.
MPI_THREADS_CASE("threads.order") {
  // In MPICH 4.0.2, threads that send to their own rank wait for receives, and
  // keep the receiving threads from the lock for minutes.
  if (world_size == 1 && !mpi_check::trusts(mpi_check::kIsMpich)) return;
  const Peers peers = peers_of(1);
  constexpr int kMessages = 2000;
  on_all_threads([&](int thread) {
    if (thread % 2 == 0) {
      for (int i = 0; i < kMessages; ++i) {
        MPI_Send(&i, 1, MPI_INT, peers.to, thread, MPI_COMM_WORLD);
      }
    } else {
      for (int i = 0; i < kMessages; ++i) {
        int value = -1;
        MPI_Recv(&value, 1, MPI_INT, peers.from, thread - 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK_EQUAL(value, i);
      }
    }
  });
}

/// Some threads are in a barrier while others send what its last rank needs.
MPI_THREADS_CASE("threads.collective-beside-messages") {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  on_all_threads([&](int thread) {
    if (thread == 0) {
      for (int i = 0; i < 10; ++i)
        MPI_Barrier(comm);
    } else {
      talk(MPI_COMM_WORLD, thread, thread, rounds());
    }
  });
  MPI_Comm_free(&comm);
}

}  // namespace
