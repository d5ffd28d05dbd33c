// Tests the door of a host's leader with processes that are no ranks of the
// job.
#include "runtime/bootstrap_door.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"

using namespace std::chrono_literals;

namespace acp::runtime {

namespace {

/// A connection to the door that has said nothing.
UniqueFd connect_silently(const std::string& door) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, door.data(), door.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + door.size());
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   size) == 0
             ? std::move(socket)
             : UniqueFd();
}

WaitLimit limit_after(Duration time) {
  return {SteadyClock().now() + time, -1, POLLIN};
}

/// Whether the door has closed the connection.
bool is_closed(const UniqueFd& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

}  // namespace

TEST_CASE("door: silent processes keep no rank out, and few stay") {
  const spmd::StderrCapture capture;  // A line for each that is turned away.
  auto door = Door::open();
  REQUIRE(door.ok());
  constexpr std::size_t kSilent = 60;
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < kSilent; ++i) {
    silent.push_back(connect_silently(door->name()));
    REQUIRE(silent.back());
  }
  const std::array<std::uint32_t, 1> ranks{1};
  std::vector<HostPeer> peers;
  std::thread leader([&] {
    auto gathered = door->gather(ranks, limit_after(60s));
    if (gathered.ok()) peers = std::move(*gathered);
  });
  // One rank is missing, so 17 connections may be open.
  const auto limit = SteadyClock().now() + 20s;
  const auto closed = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(silent, is_closed));
  };
  while (closed() < kSilent - 17 && SteadyClock().now() < limit) {
    std::this_thread::yield();
  }
  CHECK(closed() == kSilent - 17);
  std::thread rank([name = door->name()] {
    HostRecord host;
    host.door = name;
    (void)enter_door(host, 0, 1, limit_after(60s));
  });
  leader.join();
  REQUIRE(peers.size() == 1);
  CHECK(peers.front().rank == 1);
  const UniqueFd memory(::memfd_create("door", MFD_CLOEXEC));
  CHECK(welcome(peers.front(), memory.get()) == Status::kOk);
  rank.join();
}

TEST_CASE("door: processes that connect again and again end no time limit") {
  const spmd::StderrCapture capture;
  auto door = Door::open();
  REQUIRE(door.ok());
  std::atomic<bool> is_over{false};
  std::thread stranger([&is_over, name = door->name()] {
    while (!is_over.load(std::memory_order_relaxed)) {
      (void)connect_silently(name);
    }
  });
  const std::array<std::uint32_t, 1> ranks{1};
  const auto start = SteadyClock().now();
  CHECK(door->gather(ranks, limit_after(200ms)).status() == Status::kTimedOut);
  CHECK(SteadyClock().now() - start < 20s);
  is_over.store(true, std::memory_order_relaxed);
  // The stranger may wait in connect() for a place in the queue.
  { const Door closed = std::move(*door); }
  stranger.join();
}

}  // namespace acp::runtime
