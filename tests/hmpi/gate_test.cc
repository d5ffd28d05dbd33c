// The gate of HMPI: never two inside, in both of its forms, and the fences by
// which a side without one meets a side that has the kernel help it.
#include "hmpi/gate.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "hmpi/fence.h"

namespace hmpi {

namespace {

constexpr std::uint64_t kCalls = 300'000;

/// Two words that whoever is inside changes together. Plain memory, so that a
/// sanitizer sees two at a time as well.
struct Guarded {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t broken = 0;

  void change() {
    broken += first == second ? 0 : 1;
    ++first;
    ++second;
  }
};

/// One visitor, which stays until the calls are over.
std::uint64_t visit_until(Gate& gate,
                          Guarded& guarded,
                          const std::atomic<bool>& is_over) {
  std::uint64_t visits = 0;
  while (!is_over.load()) {
    if (gate.try_visit()) {
      guarded.change();
      gate.end_visit();
      ++visits;
    }
  }
  return visits;
}

}  // namespace

TEST_CASE("hmpi gate: a call and a visitor are never inside together",
          "[hmpi][gate]") {
  Gate gate;
  if (GENERATE(false, true)) {
    gate.favor_calls();
  }
  Guarded guarded;
  std::atomic<bool> is_over = false;
  std::uint64_t visits = 0;
  std::thread visitor([&] { visits = visit_until(gate, guarded, is_over); });
  for (std::uint64_t call = 0; call < kCalls; ++call) {
    gate.enter();
    guarded.change();
    gate.leave();
  }
  is_over.store(true);
  visitor.join();
  CHECK(guarded.broken == 0);
  CHECK(guarded.first == kCalls + visits);
}

TEST_CASE("hmpi gate: several threads call one after another", "[hmpi][gate]") {
  Gate gate;
  Guarded guarded;
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t call = 0; call < kCalls / kThreads; ++call) {
        const Inside inside(gate);
        guarded.change();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(guarded.broken == 0);
  CHECK(guarded.first == kCalls);
}

/// Each side stores its word of a round, and then reads the other one. Without
/// a fence between the two both may miss the other side's store.
TEST_CASE("hmpi fences: one side at least sees the other", "[hmpi][gate]") {
  // A container may refuse the kernel's fences.
  const bool has_kernel = Fences::register_process();
  Fences fences;
  if (GENERATE(false, true) && has_kernel) {
    fences.rely_on_kernel();
  }
  constexpr std::uint32_t kRounds = 20'000;

  struct alignas(64) Word {
    std::atomic<std::uint32_t> value = 0;
  };

  std::array<Word, 2> stored;
  std::array<Word, 2> finished;
  std::array<std::vector<bool>, 2> has_seen{std::vector<bool>(kRounds + 1),
                                            std::vector<bool>(kRounds + 1)};
  const auto side = [&](std::size_t me) {
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      stored[me].value.store(round, std::memory_order_relaxed);
      if (me == 0) {
        fences.often();
      } else {
        fences.seldom();
      }
      has_seen[me][round] =
          stored[1 - me].value.load(std::memory_order_relaxed) >= round;
      finished[me].value.store(round);
      while (finished[1 - me].value.load() < round) {
        ::sched_yield();
      }
    }
  };
  std::thread other(side, 1);
  side(0);
  other.join();
  std::uint32_t missed = 0;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    missed += has_seen[0][round] || has_seen[1][round] ? 0 : 1;
  }
  CHECK(missed == 0);
}

}  // namespace hmpi
