// The doorbell loses no wake-up: sleepers and wakers over 100,000 rounds and
// more.
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "gmm/doorbell.h"
#include "support/host_memory.h"
#include "support/verdict.h"

namespace acp::gmm {

namespace {

/// Far more than a round takes: a thread that sleeps so long was forgotten.
constexpr Duration kForgotten = std::chrono::seconds(20);

/// Sleeps like a waiting caller of the library (runtime/progress.cc): counts
/// itself asleep, reads the doorbell, looks again, then sleeps on the futex.
template <typename IsDone>
void sleep_once(protocol::SliceHeader& slice, const IsDone& is_done) {
  slice.asleep.fetch_add(protocol::kWaiterOne, std::memory_order_seq_cst);
  const std::uint32_t doorbell = slice.doorbell.load(std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_done()) {
    futex_wait(slice.doorbell, doorbell, kForgotten);
  }
  slice.asleep.fetch_sub(protocol::kWaiterOne, std::memory_order_seq_cst);
}

/// Spins, then sleeps until `is_done`. False when it slept for kForgotten.
template <typename IsDone>
bool wait_asleep(protocol::SliceHeader& slice,
                 const IsDone& is_done,
                 std::uint32_t spins) {
  for (std::uint32_t i = 0; i < spins; ++i) {
    if (is_done()) {
      return true;
    }
  }
  const TimePoint start = SteadyClock().now();
  while (!is_done()) {
    if (SteadyClock().now() - start >= kForgotten) {
      return false;
    }
    sleep_once(slice, is_done);
  }
  return SteadyClock().now() - start < kForgotten;
}

using Store = void (*)(std::atomic<std::uint64_t>&,
                       std::uint64_t,
                       protocol::SliceHeader&,
                       ThreadWaker&);

/// The three ways in which the library stores a word that a thread waits for.
constexpr std::pair<const char*, Store> kStores[] = {
    {"barrier",
     [](std::atomic<std::uint64_t>& word,
        std::uint64_t value,
        protocol::SliceHeader& slice,
        ThreadWaker&) {
       word.store(value, std::memory_order_seq_cst);
       wake_waiters(slice);
     }},
    {"completion",
     [](std::atomic<std::uint64_t>& word,
        std::uint64_t value,
        protocol::SliceHeader& slice,
        ThreadWaker&) {
       word.store(value, std::memory_order_release);
       std::atomic_thread_fence(std::memory_order_seq_cst);
       wake_waiters(slice);
     }},
    {"signal",
     [](std::atomic<std::uint64_t>& word,
        std::uint64_t value,
        protocol::SliceHeader& slice,
        ThreadWaker& waker) {
       word.exchange(value, std::memory_order_seq_cst);
       ring_signal(slice, waker);
     }},
};

}  // namespace

TEST_CASE("doorbell: no wake-up is lost between two ranks",
          "[gmm][doorbell][wake]") {
  constexpr std::uint64_t kRounds = 40'000;
  for (const auto& [name, store] : kStores) {
    const test::HostMemory host(2);
    std::array<std::atomic<std::uint64_t>, 2> words{};
    test::Verdict verdict;
    const auto play = [&, store = store](std::uint32_t me) {
      std::mt19937 random(me + 1);
      test::CountingWaker waker;
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        // Sometimes the waker is late, sometimes the sleeper.
        if (me == 0) {
          store(words[0], round, host.segment().slice_header(1), waker);
        }
        const bool is_in_time = wait_asleep(
            host.segment().slice_header(me),
            [&] {
              return words[1 - me].load(std::memory_order_acquire) >= round;
            },
            random() % 64);
        if (!verdict.expect(is_in_time, "a wake-up was lost")) {
          return;
        }
        if (me == 1) {
          store(words[1], round, host.segment().slice_header(0), waker);
        }
      }
    };
    std::thread other([&] { play(1); });
    play(0);
    other.join();
    INFO(name);
    CHECK(verdict.failure() == std::string());
    CHECK(host.segment().slice_header(0).asleep == 0);
    CHECK(host.segment().slice_header(1).asleep == 0);
  }
}

// Each thread falls asleep at another moment of a round, by a random spin. All
// have to see every round.
TEST_CASE("doorbell: no wake-up is lost with several threads asleep",
          "[gmm][doorbell][wake]") {
  constexpr std::uint64_t kRounds = 20'000;
  constexpr std::uint32_t kSleepers = 3;
  const test::HostMemory host(1);
  protocol::SliceHeader& slice = host.segment().slice_header(0);
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> seen{0};
  test::Verdict verdict;
  std::vector<std::thread> sleepers;
  for (std::uint32_t i = 0; i < kSleepers; ++i) {
    sleepers.emplace_back([&, i] {
      std::mt19937 random(i);
      for (std::uint64_t next = 1; next <= kRounds; ++next) {
        if (!verdict.expect(wait_asleep(
                                slice,
                                [&] {
                                  return round.load(
                                             std::memory_order_acquire) >= next;
                                },
                                random() % 32),
                            "a wake-up was lost")) {
          return;
        }
        seen.fetch_add(1, std::memory_order_release);
      }
    });
  }
  for (std::uint64_t next = 1; next <= kRounds && verdict.is_good(); ++next) {
    round.store(next, std::memory_order_seq_cst);
    wake_waiters(slice);
    while (seen.load(std::memory_order_acquire) < next * kSleepers &&
           verdict.is_good()) {
      std::this_thread::yield();
    }
  }
  for (std::thread& sleeper : sleepers) {
    sleeper.join();
  }
  CHECK(verdict.failure() == std::string());
  CHECK(slice.asleep == 0);
}

}  // namespace acp::gmm
