// PollerRole: one thread of a process at a time sleeps in epoll.
#include "runtime/poller_role.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::runtime {

TEST_CASE("poller role: one at a time", "[runtime][poller]") {
  PollerRole role;
  int rousings = 0;
  const auto rouse = [&rousings] {
    ++rousings;
  };
  CHECK(role.take(rouse));
  CHECK(role.is_callers());
  CHECK_FALSE(role.take(rouse));
  CHECK_FALSE(role.take_for_thread());
  role.leave();
  CHECK_FALSE(role.is_callers());
  CHECK(role.take_for_thread());
  CHECK_FALSE(role.is_promised());
  role.leave_for_thread();
  CHECK(role.take(rouse));
  CHECK(rousings == 0);
}

TEST_CASE("poller role: a caller takes it from the thread, others do not wait",
          "[runtime][poller]") {
  PollerRole role;
  std::atomic<bool> is_roused{false};
  REQUIRE(role.take_for_thread());
  std::thread caller([&] {
    CHECK(role.take([&] {
      is_roused.store(true);
      is_roused.notify_one();
    }));
  });
  is_roused.wait(false);
  CHECK(role.is_promised());
  CHECK_FALSE(role.take([] { FAIL("there is nobody to rouse"); }));
  role.leave_for_thread();
  caller.join();
  CHECK(role.is_callers());
  CHECK_FALSE(role.take_for_thread());
}

TEST_CASE("poller role: two callers and the thread, 100,000 times",
          "[runtime][poller]") {
  constexpr int kTurns = 50'000;
  PollerRole role;
  int holders = 0;  // Only the role guards it; tsan reports a race otherwise.
  std::atomic<std::uint32_t> doorbell{0};
  std::atomic<bool> is_over{false};
  const auto hold = [&holders] {
    ++holders;
    if (holders != 1) {
      FAIL("two hold the role");
    }
    --holders;
  };
  std::thread thread([&] {
    while (!is_over.load()) {
      const std::uint32_t before = doorbell.load();
      if (!role.take_for_thread()) {
        std::this_thread::yield();
        continue;
      }
      hold();
      if (!role.is_promised() && !is_over.load()) {
        doorbell.wait(before);
      }
      role.leave_for_thread();
    }
  });
  const auto rouse = [&doorbell] {
    doorbell.fetch_add(1);
    doorbell.notify_one();
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      for (int turn = 0; turn < kTurns;) {
        if (role.take(rouse)) {
          hold();
          role.leave();
          ++turn;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  is_over.store(true);
  rouse();
  thread.join();
}

}  // namespace acp::runtime
