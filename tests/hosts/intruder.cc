// A second user on the host of a job: `intruder PACKETS PROCESS...`. It tries
// to read the processes and to bind their UDP ports. It sends forged datagrams
// and bytes to the UDP and doorbell sockets of its network namespace. It exits
// with 1 when an attempt succeeds that must fail. neighbors.sh starts it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

bool g_has_failed = false;

/// Prints an attempt that the kernel has not refused.
void check(bool is_refused, const std::string& what) {
  if (!is_refused) {
    std::printf("the second user could %s\n", what.c_str());
    g_has_failed = true;
  }
}

/// The secret is in the memory of the process and in the memory file that its
/// descriptors name. The kernel has to refuse each way to them.
void try_process(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  check(::kill(process, 0) != 0 && errno == EPERM, "signal " + folder);
  for (const char* file : {"environ", "mem", "maps", "auxv"}) {
    const int fd = ::open((folder + "/" + file).c_str(), O_RDONLY | O_CLOEXEC);
    char byte = 0;
    check(fd < 0 || ::read(fd, &byte, 1) < 0, "read " + folder + "/" + file);
    ::close(fd);
  }
  for (const char* file : {"fd", "map_files"}) {
    const int fd = ::open((folder + "/" + file).c_str(),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(fd < 0, "list " + folder + "/" + file);
    ::close(fd);
  }
  check(::ptrace(PTRACE_SEIZE, process, nullptr, nullptr) != 0,
        "trace " + folder);
  std::array<char, 8> bytes{};
  const iovec here{bytes.data(), bytes.size()};
  const iovec there{reinterpret_cast<void*>(0x10000), bytes.size()};
  check(
      ::process_vm_readv(process, &here, 1, &there, 1, 0) < 0 && errno == EPERM,
      "read the memory of " + folder);
  const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  for (int number = 0; pidfd >= 0 && number < 32; ++number) {
    check(::syscall(SYS_pidfd_getfd, pidfd, number, 0) < 0,
          "take a descriptor of " + folder);
  }
  ::close(pidfd);
}

/// Reads the IPv4 addresses of the UDP sockets that belong to other users.
std::vector<sockaddr_in> udp_sockets() {
  std::vector<sockaddr_in> found;
  std::ifstream table("/proc/net/udp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string skipped;
    std::string local;  // address:port, in hexadecimal digits
    uid_t user = 0;
    fields >> skipped >> local;
    for (int i = 0; i < 5; ++i) {
      fields >> skipped;
    }
    fields >> user;
    if (fields && local.size() == 13 && user != ::geteuid()) {
      sockaddr_in one{};
      one.sin_family = AF_INET;
      one.sin_addr.s_addr = static_cast<in_addr_t>(
          std::strtoul(local.substr(0, 8).c_str(), nullptr, 16));
      one.sin_port = htons(static_cast<std::uint16_t>(
          std::strtoul(local.substr(9).c_str(), nullptr, 16)));
      found.push_back(one);
    }
  }
  return found;
}

/// Ranks share one of their ports among sockets of their own (SO_REUSEPORT).
void try_port(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  check(::bind(fd, reinterpret_cast<const sockaddr*>(&address),
               sizeof address) != 0,
        "bind UDP port " + std::to_string(ntohs(address.sin_port)));
  ::close(fd);
}

constexpr std::size_t kHeaderBytes = 56;

/// One of 32 datagrams is the largest that UDP carries, and one has not even a
/// whole header.
std::size_t draw_size(std::mt19937_64& random) {
  switch (random() % 32) {
    case 0: return 65'507;
    case 1: return random() % kHeaderBytes;
    default: return kHeaderBytes + random() % 1'000;
  }
}

/// Half of the datagrams are noise. The other half has a header with a correct
/// version, type, length and pair of ranks. This user knows neither epoch nor
/// key.
std::vector<std::uint8_t> forge(std::mt19937_64& random, bool is_noise) {
  std::vector<std::uint8_t> bytes(draw_size(random));
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 1'000); ++i) {
    bytes[i] = static_cast<std::uint8_t>(random());
  }
  if (!is_noise && bytes.size() >= kHeaderBytes) {
    const std::size_t payload = bytes.size() - kHeaderBytes;
    bytes[0] = 0x21;  // version 2, data
    bytes[1] = 0;
    bytes[2] = static_cast<std::uint8_t>(payload);
    bytes[3] = static_cast<std::uint8_t>(payload >> 8);
    for (const std::size_t at : {std::size_t{8}, std::size_t{12}}) {
      bytes[at] = static_cast<std::uint8_t>(random() % 8);
      bytes[at + 1] = bytes[at + 2] = bytes[at + 3] = 0;
    }
  }
  return bytes;
}

/// Sends to the sockets in turn. Returns the number of datagrams that the
/// kernel took.
std::uint64_t flood(const std::vector<sockaddr_in>& targets,
                    std::uint64_t packets) {
  std::mt19937_64 random(7);
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < packets; ++i) {
    const sockaddr_in& to = targets[i % targets.size()];
    const auto bytes = forge(random, random() % 2 == 0);
    taken += ::sendto(fd, bytes.data(), bytes.size(), 0,
                      reinterpret_cast<const sockaddr*>(&to), sizeof to) >= 0
                 ? 1
                 : 0;
  }
  ::close(fd);
  return taken;
}

/// The doorbell of a rank takes bytes from every user, and they only wake the
/// rank. Returns the number of doorbells.
std::size_t ring_doorbells() {
  std::ifstream table("/proc/net/unix");
  std::string line;
  std::size_t count = 0;
  while (std::getline(table, line)) {
    const std::size_t at = line.find("@acp-");
    if (at == std::string::npos) {
      continue;
    }
    ++count;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const std::string name = line.substr(at + 1);
    std::memcpy(&to.sun_path[1], name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                             1 + name.size());
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const std::array<char, 4096> noise{};
    for (int i = 0; i < 1'000; ++i) {
      (void)::sendto(fd, noise.data(), noise.size(), MSG_DONTWAIT,
                     reinterpret_cast<const sockaddr*>(&to), size);
    }
    ::close(fd);
  }
  return count;
}

}  // namespace

/// The sockets must be there, or the attempts show nothing.
int main(int argc, char** argv) {
  if (argc < 3 || ::geteuid() == 0) {
    return 1;
  }
  for (int i = 2; i < argc; ++i) {
    try_process(static_cast<pid_t>(std::strtol(argv[i], nullptr, 10)));
  }
  const std::vector<sockaddr_in> sockets = udp_sockets();
  for (const sockaddr_in& address : sockets) {
    try_port(address);
  }
  const std::uint64_t packets = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t taken = sockets.empty() ? 0 : flood(sockets, packets);
  const std::size_t doorbells = ring_doorbells();
  std::printf("%d processes, %zu UDP sockets, %zu doorbells; sent %llu\n",
              argc - 2, sockets.size(), doorbells,
              static_cast<unsigned long long>(taken));
  const bool was_there = taken > 0 && doorbells > 0;
  return was_there && !g_has_failed ? 0 : 1;
}
