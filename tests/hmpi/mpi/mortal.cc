// mortal: rank 1 dies, stops, or begins other programs in a chosen state of its
// messages. Scripts start it over HMPI, and look at how the job ends.
//
//   mortal STATE HOW FILE
//
// STATE is in the table of main(). HOW is the end of the victim: kill, exit0
// (status 0, without MPI_Finalize), exit3, abort, or stop (it goes on when it
// is continued, and the job ends well). FILE gets the process id of the victim
// just before. The other ranks wait for the victim in MPI until the job ends.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "check.h"

namespace {

using mpi_check::world_rank;
using mpi_check::world_size;

constexpr int kVictim = 1;
constexpr int kTag = 1;
/// A receiver needs some 10 ms for it, and looks at its first byte meanwhile.
constexpr int kLarge = 64 << 20;

std::string how;
std::string file;

/// Writes the victim's number, in one step, for the script.
void tell(pid_t victim) {
  const std::string text = std::to_string(victim) + "\n";
  const std::string draft = file + ".new";
  std::FILE* out = std::fopen(draft.c_str(), "w");
  CHECK(out != nullptr);
  std::fputs(text.c_str(), out);
  std::fclose(out);
  std::rename(draft.c_str(), file.c_str());
}

/// The end of this process, or its stop.
void end() {
  tell(getpid());
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "exit0") std::exit(0);
  if (how == "exit3") _exit(3);
  if (how == "abort") MPI_Abort(MPI_COMM_WORLD, 5);
  if (how == "stop") kill(getpid(), SIGSTOP);
}

/// By a signal, from another process or thread.
void end(pid_t victim) {
  tell(victim);
  kill(victim, how == "stop" ? SIGSTOP : SIGKILL);
}

std::vector<char> filled(int size) {
  return std::vector<char>(static_cast<std::size_t>(size), 'x');
}

void send(const std::vector<char>& data, int to) {
  MPI_Send(data.data(), static_cast<int>(data.size()), MPI_CHAR, to, kTag,
           MPI_COMM_WORLD);
}

void receive(std::vector<char>& data, int from) {
  MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_CHAR, from, kTag,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQUAL(data.front(), 'x');
  CHECK_EQUAL(data.back(), 'x');
}

/// The victim has more messages under way than a ring has room for.
void in_full_ring(int size) {
  constexpr int kMessages = 3000;
  auto data = filled(size);
  if (world_rank == kVictim) {
    for (int i = 0; i < kMessages; ++i)
      send(data, 0);
    end();
  } else if (world_rank == 0) {
    MPI_Recv(nullptr, 0, MPI_CHAR, kVictim, kTag + 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  if (world_rank == kVictim) {
    MPI_Send(nullptr, 0, MPI_CHAR, 0, kTag + 1, MPI_COMM_WORLD);
  } else if (world_rank == 0) {
    for (int i = 0; i < kMessages; ++i)
      receive(data, kVictim);
  }
}

/// The messages in the ring are those of rank 0, which then waits for the
/// victim.
void before_receives(int size, int messages) {
  auto data = filled(size);
  if (world_rank == 0) {
    MPI_Send(nullptr, 0, MPI_CHAR, kVictim, kTag + 1, MPI_COMM_WORLD);
    for (int i = 0; i < messages; ++i)
      send(data, kVictim);
    MPI_Recv(nullptr, 0, MPI_CHAR, kVictim, kTag + 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  } else if (world_rank == kVictim) {
    MPI_Recv(nullptr, 0, MPI_CHAR, 0, kTag + 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    end();
    for (int i = 0; i < messages; ++i)
      receive(data, 0);
    MPI_Send(nullptr, 0, MPI_CHAR, 0, kTag + 1, MPI_COMM_WORLD);
  }
}

/// One end of a large copy ends when its first byte has come.
void in_copy(int sender) {
  const int receiver = 1 - sender;
  if (world_rank > 1) return;
  int victim = getpid();
  if (world_rank == sender) {
    MPI_Send(&victim, 1, MPI_INT, receiver, kTag + 1, MPI_COMM_WORLD);
    send(filled(kLarge), receiver);
    return;
  }
  int other = 0;
  MPI_Recv(&other, 1, MPI_INT, sender, kTag + 1, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  victim = sender == kVictim ? other : getpid();
  std::vector<char> data(static_cast<std::size_t>(kLarge));
  const volatile char* first = data.data();
  std::thread watch([&] {
    while (*first == 0) {
    }
    end(victim);
  });
  receive(data, sender);
  watch.join();
}

/// All but the victim are in a collective of the MPI library.
void in_collective() {
  if (world_rank == kVictim) end();
}

/// The others look for a message again and again.
void in_tests() {
  if (world_rank == kVictim) {
    end();
    for (int to = 0; to < world_size; ++to) {
      if (to != kVictim)
        MPI_Send(nullptr, 0, MPI_CHAR, to, kTag, MPI_COMM_WORLD);
    }
    return;
  }
  MPI_Request request;
  MPI_Irecv(nullptr, 0, MPI_CHAR, kVictim, kTag, MPI_COMM_WORLD, &request);
  for (int is_done = 0; is_done == 0;)
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
}

/// Children of a rank end in each way, and the rank's messages go on.
void with_children() {
  for (const char* child : {"_exit", "exit", "exec"}) {
    auto data = filled(100'000);
    const int to = (world_rank + 1) % world_size;
    const int from = (world_rank + world_size - 1) % world_size;
    MPI_Request request;
    std::vector<char> in(data.size());
    MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_CHAR, from, kTag,
              MPI_COMM_WORLD, &request);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      if (std::strcmp(child, "_exit") == 0) _exit(0);
      if (std::strcmp(child, "exit") == 0) std::exit(0);
      execl("/bin/true", "true", static_cast<char*>(nullptr));
      _exit(1);
    }
    send(data, to);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int status = -1;
    CHECK_EQUAL(waitpid(pid, &status, 0), pid);
    CHECK_EQUAL(status, 0);
    CHECK_EQUAL(in.back(), 'x');
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string_view state = argv[1];
  how = argv[2];
  file = argv[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  mpi_check::running_case = argv[1];
  if (state == "kept") in_full_ring(8);
  if (state == "copies") in_full_ring(4000);
  if (state == "kept_for_it") before_receives(8, 3000);
  if (state == "copies_for_it") before_receives(4000, 1000);
  if (state == "waiting") before_receives(1 << 20, 1);
  if (state == "receiver_copies") in_copy(0);
  if (state == "sender_copies") in_copy(1);
  if (state == "collective") in_collective();
  if (state == "tests") in_tests();
  if (state == "children") with_children();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) std::printf("passed: %s\n", argv[1]);
  MPI_Finalize();
  return 0;
}
