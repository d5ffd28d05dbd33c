#include "transport/shm/doorbell_socket.h"

#include <poll.h>

#include <catch2/catch.hpp>

#include "support/host_memory.h"

namespace acp::shm {

namespace {

bool has_rung(const DoorbellSocket& doorbell) {
  pollfd entry{doorbell.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

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
  // Nobody lives there.
  (*mine)->wake_thread(host.segment().slice_header(1));
  CHECK(has_rung(**mine));
  (*mine)->drain();
  CHECK_FALSE(has_rung(**mine));
  (*mine)->wake_own();
  CHECK(has_rung(**mine));
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
  CHECK(DoorbellSocket::open(one.segment(), 0).status() == Status::kSystem);
  mine->reset();
  CHECK(DoorbellSocket::open(one.segment(), 0).ok());
}

}  // namespace acp::shm
