// HostBarrier: ranks of a host meet, spinning or asleep, and no wake-up is
// lost.
#include "runtime/host_barrier.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "gmm/doorbell.h"
#include "support/host_memory.h"
#include "support/verdict.h"

namespace acp::runtime {

namespace {

/// Sleeps on the futex of the slice, like a caller in the progress engine.
class SleepingHost final : public gma::WaitHost {
 public:
  SleepingHost(const protocol::HostSegment& segment,
               std::uint32_t slot,
               const gma::WaitPolicy& policy)
      : segment_(segment),
        slice_(segment.slice_header(slot)),
        policy_(policy) {}

  bool make_progress() override {
    ++passes;
    return false;
  }

  Status health() override {
    return segment_.header().job_state.load() == 0 ? Status::kOk
                                                   : Status::kAborted;
  }

  void sleep(const std::function<bool()>& is_done, Duration limit) override {
    slice_.asleep.fetch_add(protocol::kWaiterOne, std::memory_order_seq_cst);
    const std::uint32_t doorbell =
        slice_.doorbell.load(std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!is_done()) {
      futex_wait(slice_.doorbell, doorbell, limit);
    }
    slice_.asleep.fetch_sub(protocol::kWaiterOne, std::memory_order_seq_cst);
  }

  void sleep_on(const gma::SleepWord& place, Duration limit) override {
    const TimePoint start = SteadyClock().now();
    gma::sleep_on_word(place, std::max(limit, least_limit));
    longest = std::max(longest, SteadyClock().now() - start);
  }

  void enter_wait(protocol::WaitKind, std::uint32_t) override {}

  void leave_wait() override {}

  const gma::WaitPolicy& policy() const noexcept override { return policy_; }

  /// Least time limit of a sleep. The library's own limit would end a sleep
  /// whose wake-up was lost, and so hide the loss.
  Duration least_limit{0};
  Duration longest{0};
  std::atomic<int> passes{0};

 private:
  const protocol::HostSegment& segment_;
  protocol::SliceHeader& slice_;
  gma::WaitPolicy policy_;
};

const gma::WaitPolicy kPolicies[] = {
    {std::chrono::microseconds(50), true},
    {std::chrono::microseconds(50), false},
    {Duration(0), false},
};

constexpr gma::WaitPolicy kSleeps{Duration(0), false};

}  // namespace

TEST_CASE("host barrier: nobody leaves before all have come",
          "[runtime][barrier]") {
  constexpr std::uint64_t kRounds = 3000;
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U}) {
    for (const gma::WaitPolicy& policy : kPolicies) {
      const test::HostMemory host(ranks);
      std::vector<std::atomic<std::uint64_t>> rounds(ranks);
      test::Verdict verdict;
      std::vector<std::thread> threads;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
          SleepingHost wait_host(host.segment(), rank, policy);
          HostBarrier barrier(host.segment(), rank, wait_host);
          for (std::uint64_t round = 1; round <= kRounds; ++round) {
            // Relaxed, since the barrier itself has to order this access.
            rounds[rank].store(round, std::memory_order_relaxed);
            verdict.expect(barrier.wait(TimePoint::max()) == Status::kOk,
                           "status");
            for (const auto& other : rounds) {
              const auto seen = other.load(std::memory_order_relaxed);
              verdict.expect(seen == round || seen == round + 1, "round");
            }
          }
        });
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
      INFO("ranks " << ranks);
      CHECK(verdict.failure() == std::string());
      CHECK(host.segment().header().barrier.sleepers == 0);
    }
  }
}

TEST_CASE("host barrier: no wake-up is lost", "[runtime][barrier][wake]") {
  constexpr int kRounds = 20'000;
  constexpr Duration kForgotten = std::chrono::seconds(20);
  for (const std::uint32_t ranks : {2U, 3U}) {
    const test::HostMemory host(ranks);
    test::Verdict verdict;
    const auto play = [&](std::uint32_t rank) {
      std::mt19937 random(rank);
      SleepingHost wait_host(host.segment(), rank, kSleeps);
      wait_host.least_limit = kForgotten;
      HostBarrier barrier(host.segment(), rank, wait_host);
      for (int round = 0; round < kRounds && verdict.is_good(); ++round) {
        // Sometimes the last rank arrives late, sometimes the sleeper.
        for (std::uint32_t i = random() % 64; i > 0; --i) {
          std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        verdict.expect(barrier.wait(TimePoint::max()) == Status::kOk, "status");
        verdict.expect(wait_host.longest < kForgotten, "a wake-up was lost");
      }
    };
    std::vector<std::thread> others;
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
      others.emplace_back(play, rank);
    }
    play(0);
    for (std::thread& other : others) {
      other.join();
    }
    INFO("ranks " << ranks);
    CHECK(verdict.failure() == std::string());
  }
}

// The first rank comes early and spins. Its passes have to go on meanwhile,
// since peers wait for them, and it must not sleep.
TEST_CASE("host barrier: a rank with a core of its own serves peers first",
          "[runtime][barrier]") {
  for (const std::uint32_t ranks : {2U, 3U}) {
    const test::HostMemory host(ranks);
    const gma::WaitPolicy spins{std::chrono::minutes(1), false};
    SleepingHost first(host.segment(), 0, spins);
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      (void)HostBarrier(host.segment(), 0, first).wait(TimePoint::max());
    });
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        (void)test::comes_true([&] { return first.passes > 100; });
        SleepingHost other(host.segment(), rank, spins);
        (void)HostBarrier(host.segment(), rank, other).wait(TimePoint::max());
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(first.passes > 100);
    CHECK(first.longest == Duration::zero());
  }
}

// The ranks sleep in the barrier before the signal comes. Two ranks and three
// use different words to sleep on.
TEST_CASE("host barrier: a signal wakes nobody in it", "[runtime][barrier]") {
  for (const std::uint32_t ranks : {2U, 3U}) {
    const test::HostMemory host(ranks);
    const protocol::HostSegment& segment = host.segment();
    std::vector<std::thread> threads;
    const auto come = [&segment](std::uint32_t rank) {
      SleepingHost wait_host(segment, rank, kSleeps);
      HostBarrier barrier(segment, rank, wait_host);
      (void)barrier.wait(TimePoint::max());
    };
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
      threads.emplace_back(come, rank);
    }
    const auto& sleepers = ranks == 2 ? segment.slice_header(0).pair.sleepers
                                      : segment.header().barrier.sleepers;
    CHECK(test::comes_true([&] { return sleepers == ranks - 1; }));
    test::CountingWaker waker;
    for (std::uint32_t rank = 1; rank < ranks; ++rank) {
      gmm::ring_signal(segment.slice_header(rank), waker);
      CHECK(segment.slice_header(rank).doorbell == 0);
    }
    CHECK(waker.calls == 0);
    come(0);
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

TEST_CASE("host barrier: the end of the job ends it", "[runtime][barrier]") {
  for (const std::uint32_t ranks : {2U, 3U}) {
    for (const gma::WaitPolicy& policy : kPolicies) {
      const test::HostMemory host(ranks);
      SleepingHost wait_host(host.segment(), 0, policy);
      HostBarrier barrier(host.segment(), 0, wait_host);
      std::thread ender([&] { host.segment().header().job_state.store(1); });
      const Status status = barrier.wait(TimePoint::max());
      ender.join();
      CHECK(status == Status::kAborted);
    }
  }
}

}  // namespace acp::runtime
