// DoorbellSocket: wakes a process that sleeps in epoll. Strangers on the host
// may neither block it nor take its name.
#include "transport/shm/doorbell_socket.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/thread.h"
#include "support/host_memory.h"

namespace acp::shm {

namespace {

bool has_rung(const DoorbellSocket& doorbell) {
  pollfd entry{doorbell.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

/// The name to which a socket is bound, as bytes. Any user can see it.
std::string name_of(int socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) ==
          0);
  return {address.sun_path, size - offsetof(sockaddr_un, sun_path)};
}

/// A socket of a process outside of the job.
class Stranger {
 public:
  explicit Stranger(const std::string& name = {})
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const auto [address, size] = address_of(name);
    REQUIRE((name.empty() ||
             ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                    size) == 0));
  }

  /// Sends until the receiver's queue is full.
  void flood(const std::string& name) const {
    const auto [address, size] = address_of(name);
    const std::string text(100, 'x');
    while (::sendto(socket_.get(), text.data(), text.size(), 0,
                    reinterpret_cast<const sockaddr*>(&address), size) > 0) {
    }
  }

 private:
  static std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                            name.size())};
  }

  UniqueFd socket_;
};

}  // namespace

TEST_CASE("doorbell socket: wakes the rank whose slice it is",
          "[shm][doorbell]") {
  const test::HostMemory host(3);
  auto zero = DoorbellSocket::open(host.segment(), 0);
  auto two = DoorbellSocket::open(host.segment(), 2);
  REQUIRE((zero.ok() && two.ok()));
  CHECK_FALSE(has_rung(**two));
  (*zero)->wake_thread(host.segment().slice_header(2));
  CHECK(has_rung(**two));
  CHECK_FALSE(has_rung(**zero));
  (*two)->drain();
  CHECK_FALSE(has_rung(**two));
  (*two)->wake_own();
  CHECK(has_rung(**two));
  (*zero)->wake_thread(host.segment().slice_header(0));
  CHECK(has_rung(**zero));
}

TEST_CASE("doorbell socket: ringing never blocks, and drain takes all",
          "[shm][doorbell]") {
  const test::HostMemory host(2);
  auto mine = DoorbellSocket::open(host.segment(), 0);
  REQUIRE(mine.ok());
  for (int i = 0; i < 10'000; ++i) {
    (*mine)->wake_own();
  }
  // The rank that owned the doorbell socket has ended.
  REQUIRE(DoorbellSocket::open(host.segment(), 1).ok());
  (*mine)->wake_thread(host.segment().slice_header(1));
  CHECK(has_rung(**mine));
  (*mine)->drain();
  CHECK_FALSE(has_rung(**mine));
  (*mine)->wake_own();
  CHECK(has_rung(**mine));
}

TEST_CASE("doorbell socket: a rank without one is not rung",
          "[shm][doorbell]") {
  const test::HostMemory host(2);
  auto mine = DoorbellSocket::open(host.segment(), 0);
  REQUIRE(mine.ok());
  (*mine)->wake_thread(host.segment().slice_header(1));
  auto late = DoorbellSocket::open(host.segment(), 1);
  REQUIRE(late.ok());
  CHECK_FALSE(has_rung(**late));
  (*mine)->wake_thread(host.segment().slice_header(1));
  CHECK(has_rung(**late));
}

TEST_CASE("doorbell socket: jobs do not meet, names end with their owner",
          "[shm][doorbell]") {
  const test::HostMemory one(1);
  const test::HostMemory other(1);
  auto mine = DoorbellSocket::open(one.segment(), 0);
  auto theirs = DoorbellSocket::open(other.segment(), 0);
  REQUIRE((mine.ok() && theirs.ok()));
  (*mine)->wake_own();
  CHECK_FALSE(has_rung(**theirs));
  const std::string name = name_of((*mine)->descriptor());
  mine->reset();
  const Stranger next(name);  // bound: the name was free
}

TEST_CASE("doorbell socket: nobody can take a name before its rank does",
          "[shm][doorbell]") {
  const test::HostMemory host(3);
  auto first = DoorbellSocket::open(host.segment(), 0);
  REQUIRE(first.ok());
  // Strangers see the name of the first rank. They must not be able to derive
  // the names of its peers from it, by another number at its end.
  std::string seen = name_of((*first)->descriptor());
  const char last = seen.back();
  seen.pop_back();
  const Stranger one(seen + (last == '1' ? '3' : '1'));
  const Stranger two(seen + (last == '2' ? '3' : '2'));
  for (const std::uint32_t slot : {1U, 2U}) {
    auto doorbell = DoorbellSocket::open(host.segment(), slot);
    REQUIRE(doorbell.ok());
    CHECK(name_of((*doorbell)->descriptor()).substr(0, seen.size()) != seen);
  }
}

TEST_CASE("doorbell socket: a queue full of strangers' datagrams wakes",
          "[shm][doorbell]") {
  const test::HostMemory host(2);
  auto mine = DoorbellSocket::open(host.segment(), 0);
  auto peer = DoorbellSocket::open(host.segment(), 1);
  REQUIRE((mine.ok() && peer.ok()));
  Stranger().flood(name_of((*mine)->descriptor()));
  CHECK(has_rung(**mine));
  (*peer)->wake_thread(host.segment().slice_header(0));
  (*mine)->drain();
  CHECK_FALSE(has_rung(**mine));
  (*peer)->wake_thread(host.segment().slice_header(0));
  CHECK(has_rung(**mine));
}

namespace {

/// Raises the limit of descriptors of this process while it lives.
class MoreDescriptors {
 public:
  explicit MoreDescriptors(rlim_t count) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit now = before_;
    now.rlim_cur = std::max(before_.rlim_cur, std::min(count, now.rlim_max));
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }

  MoreDescriptors(const MoreDescriptors&) = delete;
  MoreDescriptors& operator=(const MoreDescriptors&) = delete;

  ~MoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

/// Prevents this process from getting a further descriptor while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    // The kernel gives the lowest free descriptor, so a limit at the next free
    // number refuses all.
    const UniqueFd next(::dup(0));
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next.get());
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }

  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("doorbell socket: one rank wakes all others of a large host",
          "[shm][doorbell]") {
  const bool has_descriptors = GENERATE(true, false);
  // The datagrams exceed the buffer of a socket: none of the ranks runs, so
  // none takes its datagram.
  constexpr std::uint32_t kRanks = 700;
  const MoreDescriptors more(4 * kRanks);
  const test::HostMemory host(kRanks);
  std::vector<std::unique_ptr<DoorbellSocket>> doorbells;
  for (std::uint32_t slot = 0; slot < kRanks; ++slot) {
    auto doorbell = DoorbellSocket::open(host.segment(), slot);
    REQUIRE(doorbell.ok());
    doorbells.push_back(std::move(*doorbell));
  }
  std::optional<NoDescriptors> none;
  if (!has_descriptors) {
    none.emplace();
    REQUIRE(::dup(0) < 0);
  }
  std::uint32_t rung = 0;
  for (std::uint32_t slot = 1; slot < kRanks; ++slot) {
    doorbells[0]->wake_thread(host.segment().slice_header(slot));
    rung += has_rung(*doorbells[slot]) ? 1 : 0;
  }
  CHECK(rung == kRanks - 1);
}

TEST_CASE(
    "doorbell socket: a thread that takes every free descriptor gets none",
    "[shm][doorbell]") {
  constexpr std::uint32_t kRanks = 700;
  const MoreDescriptors more(4 * kRanks);
  const test::HostMemory host(kRanks);
  std::vector<std::unique_ptr<DoorbellSocket>> doorbells;
  for (std::uint32_t slot = 0; slot < kRanks; ++slot) {
    auto doorbell = DoorbellSocket::open(host.segment(), slot);
    REQUIRE(doorbell.ok());
    doorbells.push_back(std::move(*doorbell));
  }
  const NoDescriptors none;
  std::atomic<int> tries{0};
  std::atomic<bool> is_over{false};
  std::vector<UniqueFd> taken;
  auto program = start_thread("the program", [&] {
    while (!is_over) {
      if (UniqueFd next(::dup(0)); next) {
        taken.push_back(std::move(next));
      }
      ++tries;
    }
  });
  REQUIRE(program.has_value());
  std::uint32_t rung = 0;
  for (std::uint32_t slot = 1; slot < kRanks; ++slot) {
    const int before = tries;
    while (tries == before) {  // the other thread runs beside each wake-up
    }
    doorbells[0]->wake_thread(host.segment().slice_header(slot));
    rung += has_rung(*doorbells[slot]) ? 1 : 0;
  }
  is_over = true;
  program->join();
  CHECK(rung == kRanks - 1);
  CHECK(taken.empty());
}

}  // namespace acp::shm
