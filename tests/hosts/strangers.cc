// A job under the launcher of an MPI library, and a stranger that connects to
// it. strangers.sh starts both.
//
//   strangers rank HERE GO [exhaust]   a rank of two hosts. Rank 0 makes the
//       file HERE.PID. The other rank begins acp_init when the file GO exists.
//       Then rank 0 opens files. With `exhaust` it leaves none to open before
//       acp_finalize.
//   strangers connect ADDRESS PORT COUNT DONE   makes so many connections, says
//       nothing, makes the file DONE, and stays until it is killed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "acp.h"

namespace {

using namespace std::chrono_literals;

/// Files that a program has open at once.
constexpr int kFiles = 150;

bool exists(const char* file) {
  return ::access(file, F_OK) == 0;
}

int connect_all(const char* address,
                const char* port,
                int count,
                const char* done) {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::strtol(port, nullptr, 10)));
  (void)::inet_pton(AF_INET, address, &to.sin_addr);
  for (int i = 0; i < count; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      std::perror("the stranger's connection");
      return 1;
    }
  }
  std::ofstream(done) << count << '\n';
  ::pause();
  return 0;
}

/// How many files the program can open, up to `most`. They stay open.
int open_files(int most) {
  int count = 0;
  while (count < most && ::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    ++count;
  }
  return count;
}

/// The descriptors by which this process takes TCP connections.
std::set<int> listeners() {
  std::set<int> found;
  for (int fd = 0; fd < 4096; ++fd) {
    int is_listener = 0;
    int domain = 0;
    socklen_t size = sizeof is_listener;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listener, &size) == 0 &&
        ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
        is_listener != 0 && domain != AF_UNIX) {
      found.insert(fd);
    }
  }
  return found;
}

/// Looks at a condition of which no event tells, until it is true. False: it is
/// not within the time.
template <typename Condition>
bool eventually(std::chrono::seconds time, Condition is_true) {
  const auto limit = std::chrono::steady_clock::now() + time;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > limit) {
      return false;
    }
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

int run_rank(const std::string& here, const char* go, bool exhausts) {
  const std::set<int> inherited = listeners();
  // Both launchers number the ranks in one of these.
  const char* rank = std::getenv("PMI_RANK");
  rank = rank == nullptr ? std::getenv("OMPI_COMM_WORLD_RANK") : rank;
  if (rank != nullptr && std::string_view(rank) == "0") {
    std::ofstream(here + "." + std::to_string(::getpid())) << '\n';
  } else if (!eventually(80s, [go] { return exists(go); })) {
    std::printf("the file %s has not come\n", go);
    return 1;
  }
  if (acp_init(nullptr, nullptr) != 0 || acp_sync() != 0) {
    return 1;
  }
  int files = kFiles;
  if (acp_rank() == 0) {
    // Only the listeners stay that the launcher has left to this process.
    const bool is_over =
        eventually(20s, [&] { return listeners() == inherited; });
    std::printf("rank 0 %s\n", is_over ? "listens no more" : "still listens");
    files = open_files(exhausts ? 1 << 20 : kFiles);
    std::printf("rank 0 has opened %d files\n", files);
  }
  const int result = acp_finalize();
  std::printf("acp_finalize of rank %s: %d\n", rank, result);
  return files >= kFiles ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "connect" && argc == 6) {
    return connect_all(argv[2], argv[3], std::stoi(argv[4]), argv[5]);
  }
  if (mode == "rank" && argc >= 4) {
    return run_rank(argv[2], argv[3], argc > 4);
  }
  return 2;
}
