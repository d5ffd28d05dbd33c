// Ownership passing between ranks: what is given arrives, whole and once,
// whichever call it meets.
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>

#include "ownership.h"

using namespace mpi_check;

namespace {

/// A linked structure in given memory.
struct Link {
  Link* next;
  int number;
};

}  // namespace

MPI_CASE("pass.ring-of-sizes") {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{8}, std::size_t{4096}, std::size_t{65536},
        std::size_t{1} << 20, (std::size_t{8} << 20) + 5}) {
    const Peers peers = peers_of(1);
    void* mine = allocate(size);
    fill(mine, size, world_rank);
    const auto address = reinterpret_cast<std::uint64_t>(mine);
    void* given = mine;
    MPI_Request requests[2];
    void* taken = &requests;
    OPI_Take(&taken, static_cast<int>(size), MPI_BYTE, peers.from, 3,
             MPI_COMM_WORLD, &requests[0]);
    CHECK(taken == nullptr);
    OPI_Give(&given, static_cast<int>(size), MPI_BYTE, peers.to, 3,
             MPI_COMM_WORLD, &requests[1]);
    CHECK(given == nullptr);
    std::array<MPI_Status, 2> statuses{};
    MPI_Waitall(2, requests, statuses.data());
    int count = 0;
    MPI_Get_count(&statuses[0], MPI_BYTE, &count);
    CHECK_EQUAL(count, static_cast<int>(size));
    CHECK_EQUAL(statuses[0].MPI_SOURCE, peers.from);
    CHECK_EQUAL(statuses[0].MPI_TAG, 3);
    CHECK(is_filled(taken, size, peers.from));
    // The address is the giver's.
    std::uint64_t theirs = 0;
    MPI_Sendrecv(&address, 1, MPI_UINT64_T, peers.to, 4, &theirs, 1,
                 MPI_UINT64_T, peers.from, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (all_on_one_host()) {
      CHECK_EQUAL(theirs, reinterpret_cast<std::uint64_t>(taken));
    }
    std::memset(taken, 0x77, size);
    CHECK_EQUAL(OPI_Free(&taken), MPI_SUCCESS);
    CHECK(taken == nullptr);
  }
}

MPI_CASE("pass.blocking-forms-in-order") {
  constexpr int kMessages = 200;
  if (world_rank == 0) {
    for (int to = 1; to < world_size; ++to) {
      for (int i = 0; i < kMessages; ++i) {
        const std::size_t size = 1 + static_cast<std::size_t>(i) * 97;
        void* buffer = allocate(size);
        fill(buffer, size, i);
        OPI_Give(&buffer, static_cast<int>(size), MPI_BYTE, to, 5,
                 MPI_COMM_WORLD);
        CHECK(buffer == nullptr);
      }
    }
    return;
  }
  for (int i = 0; i < kMessages; ++i) {
    void* buffer = nullptr;
    MPI_Status status;
    OPI_Take(&buffer, 1 << 20, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, 1 + i * 97);
    CHECK(is_filled(buffer, static_cast<std::size_t>(count), i));
    OPI_Free(&buffer);
  }
}

MPI_CASE("pass.give-meets-receive") {
  for (const int size : {8, 3000, 70'000, 2'000'000}) {
    const Peers peers = peers_of(1);
    void* buffer = allocate(static_cast<std::size_t>(size));
    fill(buffer, static_cast<std::size_t>(size), world_rank);
    MPI_Request request;
    OPI_Igive(&buffer, size, MPI_BYTE, peers.to, 6, MPI_COMM_WORLD, &request);
    std::vector<char> got(static_cast<std::size_t>(size) + 1, 'x');
    MPI_Recv(got.data(), size, MPI_BYTE, peers.from, 6, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_filled(got.data(), static_cast<std::size_t>(size), peers.from));
    CHECK_EQUAL(got.back(), 'x');
  }
}

MPI_CASE("pass.send-meets-take") {
  for (const int size : {0, 8, 3000, 70'000, 2'000'000}) {
    const Peers peers = peers_of(1);
    std::vector<char> mine(static_cast<std::size_t>(size));
    fill(mine.data(), mine.size(), world_rank);
    void* taken = nullptr;
    MPI_Request request;
    OPI_Itake(&taken, size, MPI_BYTE, peers.from, 7, MPI_COMM_WORLD, &request);
    MPI_Send(mine.data(), size, MPI_BYTE, peers.to, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(taken != nullptr);
    CHECK(is_filled(taken, mine.size(), peers.from));
    OPI_Free(&taken);
  }
}

MPI_CASE("pass.take-from-any-source") {
  constexpr int kRounds = 50;
  if (world_rank == 0) {
    std::vector<int> from(static_cast<std::size_t>(world_size), 0);
    for (int i = 0; i < kRounds * (world_size - 1); ++i) {
      void* buffer = nullptr;
      MPI_Status status;
      OPI_Take(&buffer, 1000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
      const int* words = static_cast<int*>(buffer);
      CHECK_EQUAL(words[0], status.MPI_SOURCE);
      CHECK_EQUAL(words[999], status.MPI_TAG);
      CHECK_EQUAL(from[static_cast<std::size_t>(status.MPI_SOURCE)]++,
                  status.MPI_TAG);
      OPI_Free(&buffer);
    }
    return;
  }
  for (int i = 0; i < kRounds; ++i) {
    void* buffer = allocate(4000);
    static_cast<int*>(buffer)[0] = world_rank;
    static_cast<int*>(buffer)[999] = i;
    OPI_Give(&buffer, 1000, MPI_INT, 0, i, MPI_COMM_WORLD);
  }
}

MPI_CASE("pass.links-inside-mean-the-same") {
  const Peers peers = peers_of(1);
  void* buffer = allocate(100 * sizeof(Link));
  Link* links = static_cast<Link*>(buffer);
  for (int i = 0; i < 100; ++i) {
    links[i] = {i == 0 ? nullptr : &links[i - 1], i + world_rank};
  }
  void* taken = nullptr;
  MPI_Request request;
  OPI_Itake(&taken, 100 * sizeof(Link), MPI_BYTE, peers.from, 8, MPI_COMM_WORLD,
            &request);
  OPI_Give(&buffer, 100 * sizeof(Link), MPI_BYTE, peers.to, 8, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (all_on_one_host()) {
    int number = 99;
    for (Link* at = static_cast<Link*>(taken) + 99; at != nullptr;
         at = at->next) {
      CHECK_EQUAL(at->number, number-- + peers.from);
    }
    CHECK_EQUAL(number, -1);
  }
  OPI_Free(&taken);
}

MPI_CASE("pass.parts-of-malloc") {
  constexpr std::size_t kPart = 40'000;
  const Peers peers = peers_of(1);
  std::vector<char> whole(4 * kPart);
  for (std::size_t i = 0; i < 4; ++i) {
    fill(whole.data() + i * kPart, kPart, world_rank + static_cast<int>(i));
  }
  std::array<void*, 4> taken{};
  std::array<MPI_Request, 8> requests{};
  for (std::size_t i = 0; i < 4; ++i) {
    void* part = whole.data() + i * kPart;
    OPI_Take(&taken[i], kPart, MPI_BYTE, peers.from, 10 + static_cast<int>(i),
             MPI_COMM_WORLD, &requests[2 * i]);
    OPI_Give(&part, kPart, MPI_BYTE, peers.to, 10 + static_cast<int>(i),
             MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(is_filled(taken[i], kPart, peers.from + static_cast<int>(i)));
  }
  MPI_Barrier(MPI_COMM_WORLD);  // Then `whole` may go.
}

MPI_CASE("pass.private-memory-arrives-as-a-copy") {
  const Peers peers = peers_of(1);
  std::array<int, 100> mine{};
  fill(mine.data(), sizeof mine, world_rank);
  void* given = mine.data();
  void* taken = nullptr;
  MPI_Request request;
  OPI_Itake(&taken, 100, MPI_INT, peers.from, 9, MPI_COMM_WORLD, &request);
  OPI_Give(&given, 100, MPI_INT, peers.to, 9, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(is_filled(taken, sizeof mine, peers.from));
  OPI_Free(&taken);
}

MPI_CASE("pass.types-with-gaps") {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(100, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  const Peers peers = peers_of(1);
  void* buffer = allocate(300 * sizeof(int));
  for (int i = 0; i < 300; ++i) {
    static_cast<int*>(buffer)[i] = 1000 * world_rank + i;
  }
  void* taken = nullptr;
  MPI_Request requests[2];
  OPI_Take(&taken, 1, column, peers.from, 12, MPI_COMM_WORLD, &requests[0]);
  OPI_Give(&buffer, 1, column, peers.to, 12, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 300; i += 3) {
    CHECK_EQUAL(static_cast<int*>(taken)[i], 1000 * peers.from + i);
  }
  OPI_Free(&taken);
  MPI_Type_free(&column);
}

MPI_CASE("pass.nobody-and-itself") {
  void* buffer = allocate(5000);
  MPI_Request request;
  OPI_Give(&buffer, 5000, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  void* taken = &request;
  OPI_Take(&taken, 5000, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Status status;
  MPI_Wait(&request, &status);
  CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
  OPI_Free(&taken);
  buffer = allocate(5000);
  fill(buffer, 5000, 3);
  void* const before = buffer;
  OPI_Take(&taken, 5000, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
  OPI_Give(&buffer, 5000, MPI_BYTE, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(taken == before);
  CHECK(is_filled(taken, 5000, 3));
  OPI_Free(&taken);
}

MPI_CASE("pass.truncation-and-cancel") {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Peers peers = peers_of(1);
  void* buffer = allocate(1000);
  void* taken = nullptr;
  MPI_Request request;
  OPI_Take(&taken, 500, MPI_BYTE, peers.from, 13, MPI_COMM_WORLD, &request);
  OPI_Give(&buffer, 1000, MPI_BYTE, peers.to, 13, MPI_COMM_WORLD);
  MPI_Status status;
  CHECK_EQUAL(error_class(MPI_Wait(&request, &status)), MPI_ERR_TRUNCATE);
  OPI_Free(&taken);
  OPI_Take(&taken, 500, MPI_BYTE, peers.from, 14, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  int was_cancelled = 0;
  MPI_Test_cancelled(&status, &was_cancelled);
  CHECK_EQUAL(was_cancelled, 1);
  CHECK(taken == nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// 400 MiB are given in one direction. Buffers have to come back where
// HMPI_HEAP_SIZE is smaller, as in the tests with a setting.
MPI_CASE("pass.buffers-come-back") {
  constexpr std::size_t kSize = std::size_t{1} << 20;
  constexpr int kRounds = 400;
  constexpr int kAtOnce = 8;
  const bool gives = world_rank % 2 == 0 && world_rank + 1 < world_size;
  for (int i = 0; i < kRounds; i += kAtOnce) {
    for (int k = 0; k < kAtOnce; ++k) {
      if (gives) {
        void* buffer = allocate(kSize);
        static_cast<int*>(buffer)[0] = i + k;
        OPI_Give(&buffer, kSize, MPI_BYTE, world_rank + 1, 15, MPI_COMM_WORLD);
      } else if (world_rank % 2 == 1) {
        void* buffer = nullptr;
        OPI_Take(&buffer, kSize, MPI_BYTE, world_rank - 1, 15, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK_EQUAL(static_cast<int*>(buffer)[0], i + k);
        OPI_Free(&buffer);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Buffers wander at random, and each carries what its last owner has written.
MPI_CASE("pass.random-walk") {
  struct Cargo {
    std::uint64_t size;
    std::uint64_t salt;
  };

  constexpr int kSteps = 3000;
  std::mt19937 random(42);  // Equal on all ranks: all know all moves.
  std::deque<void*> mine;
  std::vector<int> counts(static_cast<std::size_t>(world_size), 0);
  for (int step = 0; step < kSteps; ++step) {
    const int from = static_cast<int>(random() % unsigned(world_size));
    const int to = static_cast<int>(random() % unsigned(world_size));
    const std::uint64_t size =
        sizeof(Cargo) + random() % (std::size_t{1} << (random() % 18));
    const unsigned kind = random() % 10;
    const bool is_new = counts[static_cast<std::size_t>(from)] == 0 || kind < 3;
    counts[static_cast<std::size_t>(from)] += is_new ? 1 : 0;
    if (from == world_rank && is_new) {
      void* made = allocate(size);
      const Cargo cargo{size, static_cast<unsigned>(step)};
      std::memcpy(made, &cargo, sizeof cargo);
      fill(static_cast<char*>(made) + sizeof cargo, size - sizeof cargo,
           static_cast<int>(cargo.salt));
      mine.push_back(made);
    }
    // The oldest buffer goes.
    --counts[static_cast<std::size_t>(from)];
    ++counts[static_cast<std::size_t>(to)];
    MPI_Request request = MPI_REQUEST_NULL;
    if (from == world_rank) {
      void* given = mine.front();
      mine.pop_front();
      Cargo cargo{};
      std::memcpy(&cargo, given, sizeof cargo);
      OPI_Igive(&given, static_cast<int>(cargo.size), MPI_BYTE, to, 16,
                MPI_COMM_WORLD, &request);
    }
    if (to == world_rank) {
      void* taken = nullptr;
      OPI_Take(&taken, 1 << 20, MPI_BYTE, from, 16, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      Cargo cargo{};
      std::memcpy(&cargo, taken, sizeof cargo);
      CHECK(is_filled(static_cast<char*>(taken) + sizeof cargo,
                      cargo.size - sizeof cargo, static_cast<int>(cargo.salt)));
      mine.push_back(taken);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (void* each : mine) {
    OPI_Free(&each);
  }
}
