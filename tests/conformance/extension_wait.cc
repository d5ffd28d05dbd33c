// Tests of acpx_complete_timeout, acpx_wait_word, acpx_wait_until and signals.
#include <atomic>
#include <chrono>
#include <thread>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;
using Clock = std::chrono::steady_clock;

namespace {

std::int64_t milliseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                               start)
      .count();
}

int always(void*) {
  return 1;
}

int never(void* calls) {
  ++*static_cast<std::uint64_t*>(calls);
  return 0;
}

/// A condition: the word at `arg` is not 0.
int word_is_set(void* arg) {
  return std::atomic_ref(*static_cast<std::uint64_t*>(arg)).load() != 0;
}

}  // namespace

// A value that differs is returned at once with any limit. A time-out leaves
// both the value and acp_errno alone.
SPMD_CASE(acpx_wait_word_answers,
          "acpx_wait_word: differs already, time-out, poll, no value wanted") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 64);
    block.word(1).store(5);
    std::uint64_t value = 77;
    EXPECT_EQ(acpx_wait_word(block.mine(8), 4, -1, &value), 0);
    EXPECT_EQ(value, 5U);
    EXPECT_EQ(acpx_wait_word(block.mine(8), 4, 0, nullptr), 0);
    value = 77;
    acp_errno = 0;
    EXPECT_EQ(acpx_wait_word(block.mine(8), 5, 0, &value), 1);
    const Clock::time_point start = Clock::now();
    EXPECT_EQ(acpx_wait_word(block.mine(8), 5, 50, &value), 1);
    EXPECT(milliseconds_since(start) >= 49);
    EXPECT(milliseconds_since(start) < 20'000);
    EXPECT_EQ(value, 77U);
    EXPECT_EQ(acp_errno, 0);
  }
}

SPMD_CASE(acpx_wait_word_bad,
          "acpx_wait_word: a word that is no word of mine fails") {
  const Block block(Memory::kRegistered, 64);
  std::uint64_t value = 77;
  EXPECT_FAILS(acpx_wait_word(block.mine(4), 0, 0, &value), -1,
               ACPX_MISALIGNED);
  EXPECT_FAILS(acpx_wait_word(ACP_GA_NULL, 0, 0, &value), -1, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acpx_wait_word(block.mine(64), 0, 0, &value), -1,
               ACPX_BAD_ADDRESS);
  if (acp_procs() > 1) {
    EXPECT_FAILS(
        acpx_wait_word(block.at(spmd::right_of(acp_rank())), 0, 0, &value), -1,
        ACPX_BAD_RANK);
  }
  EXPECT_EQ(value, 77U);
}

// No signal comes with the put. The waiter has to notice the word by its own
// looks, in each of many rounds.
SPMD_CASE(acpx_wait_word_plain_store,
          "acpx_wait_word: a plain put, which wakes nobody, is noticed") {
  SPMD_NEEDS_RANKS(2);
  for (const Memory memory : kMemories) {
    const Block block(memory, 128);
    const int right = spmd::right_of(acp_rank());
    const std::size_t rounds = spmd::scaled(500, 30);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      block.word(8).store(round);
      EXPECT(acp_copy(block.at(right), block.mine(64), 8, ACP_HANDLE_NULL) !=
             ACP_HANDLE_NULL);
      std::uint64_t seen = 0;
      EXPECT_EQ(acpx_wait_word(block.mine(), round - 1, spmd::kPatience, &seen),
                0);
      EXPECT_EQ(seen, round);
      acp_complete(ACP_HANDLE_ALL);
      EXPECT_EQ(acp_sync(), 0);
    }
  }
}

SPMD_CASE(acpx_wait_until_answers,
          "acpx_wait_until: done, time-out, poll once, no function") {
  EXPECT_EQ(acpx_wait_until(always, nullptr, -1), 0);
  EXPECT_EQ(acpx_wait_until(always, nullptr, 0), 0);
  std::uint64_t calls = 0;
  acp_errno = 0;
  EXPECT_EQ(acpx_wait_until(never, &calls, 0), 1);
  EXPECT(calls >= 1);
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(acpx_wait_until(never, &calls, 50), 1);
  EXPECT(milliseconds_since(start) >= 49);
  EXPECT_EQ(acp_errno, 0);
  EXPECT_FAILS(acpx_wait_until(nullptr, nullptr, 0), -1, ACPX_INVALID_ARGUMENT);
}

SPMD_CASE(acpx_wait_until_a_word,
          "acpx_wait_until: a condition on own memory, set from outside") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 128);
    const int right = spmd::right_of(acp_rank());
    block.word(8).store(1);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT(acp_copy(block.at(right), block.mine(64), 8, ACP_HANDLE_NULL) !=
           ACP_HANDLE_NULL);
    EXPECT_EQ(acpx_wait_until(word_is_set, block.data(), spmd::kPatience), 0);
  }
}

// The copy is large, so that it may still be under way at the first question.
// How often 1 comes is open, so only the last answer is fixed.
SPMD_CASE(acpx_complete_timeout_answers,
          "acpx_complete_timeout: 0 when complete, 1 only while it is not") {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  for (const Memory memory : kMemories) {
    const Block block(memory, 2 * kBytes);
    const int right = spmd::right_of(acp_rank());
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_NULL, 0), 0);
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, 0), 0);
    const acp_handle_t handle = acp_copy(block.at(right, kBytes), block.mine(),
                                         kBytes, ACP_HANDLE_NULL);
    EXPECT(handle != ACP_HANDLE_NULL);
    acp_errno = 0;
    int answer = acpx_complete_timeout(handle, 0);
    while (answer == 1) {
      answer = acpx_complete_timeout(handle, 1);
    }
    EXPECT_EQ(answer, 0);
    EXPECT_EQ(acp_errno, 0);
    EXPECT_EQ(acp_inquire(handle), 0);
  }
}

SPMD_CASE(ping_pong_by_signals,
          "acpx_put_signal: no wake-up is lost in 20,000 rounds") {
  SPMD_NEEDS_RANKS(2);
  // Neighbours are pairs. A rank without a partner only watches.
  const int partner = acp_rank() ^ 1;
  const Block block(Memory::kLibrary, 192);
  if (partner < acp_procs()) {
    const std::size_t rounds = spmd::scaled(20'000, 500);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      block.word(8).store(round * 3);
      const auto signal = [&] {
        EXPECT(acpx_put_signal(block.at(partner, 128), block.mine(64), 8,
                               block.at(partner), 1,
                               ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
      };
      const auto wait = [&] {
        std::uint64_t seen = 0;
        EXPECT_EQ(
            acpx_wait_word(block.mine(), round - 1, spmd::kPatience, &seen), 0);
        EXPECT_EQ(seen, round);
        EXPECT_EQ(block.word(16).load(), round * 3);
      };
      if (acp_rank() < partner) {
        signal();
        wait();
      } else {
        wait();
        signal();
      }
      acp_complete(ACP_HANDLE_ALL);
    }
  }
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(
    signals_of_nothing,
    "acpx_put_signal: no bytes, from and to anywhere; after its order, and "
    "no wake-up is lost in 20,000 rounds") {
  SPMD_NEEDS_RANKS(2);
  const acp_ga_t anywhere = ~acp_ga_t{0} - 4095;  // the memory of no rank
  const int partner = acp_rank() ^ 1;
  for (const Memory memory : kMemories) {
    const Block block(memory, 192);
    const std::size_t rounds =
        partner < acp_procs() ? spmd::scaled(20'000, 50) : 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const auto signal = [&] {
        block.word(8).store(round * 3);
        const acp_handle_t copied = acp_copy(
            block.at(partner, 128), block.mine(64), 8, ACP_HANDLE_NULL);
        EXPECT(acpx_put_signal(anywhere, anywhere, 0, block.at(partner), 1,
                               copied) != ACP_HANDLE_NULL);
      };
      if (acp_rank() < partner) {
        signal();
      }
      std::uint64_t seen = 0;
      EXPECT_EQ(acpx_wait_word(block.mine(), round - 1, spmd::kPatience, &seen),
                0);
      EXPECT_EQ(seen, round);
      EXPECT_EQ(block.word(16).load(), round * 3);
      if (acp_rank() > partner) {
        signal();
      }
      acp_complete(ACP_HANDLE_ALL);
    }
    EXPECT_FAILS(acpx_put_signal(anywhere, anywhere, 0, block.mine(4), 1,
                                 ACP_HANDLE_NULL),
                 ACP_HANDLE_NULL, ACPX_MISALIGNED);
    EXPECT_FAILS(
        acpx_put_signal(anywhere, anywhere, 0, ACP_GA_NULL, 1, ACP_HANDLE_NULL),
        ACP_HANDLE_NULL, ACPX_BAD_ADDRESS);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(block.word(0).load(), std::uint64_t{rounds});
  }
}

// The signal is ordered behind the put in each of three ways. When the sleeper
// wakes, the put has to be complete.
SPMD_CASE(signals_to_myself,
          "acpx_put_signal: no bytes, on an own word that another thread waits "
          "for, after a put to a neighbour") {
  constexpr std::size_t kBytes = 50'000;
  const int right = spmd::right_of(acp_rank());
  const std::size_t rounds = spmd::scaled(1'000, 60);
  for (const Memory memory : kMemories) {
    const Block block(memory, 64 + 2 * kBytes);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      std::atomic<acp_handle_t> copied{ACP_HANDLE_NULL};
      std::thread sleeper([&] {
        std::uint64_t seen = 0;
        EXPECT_EQ(
            acpx_wait_word(block.mine(), round - 1, spmd::kPatience, &seen), 0);
        EXPECT_EQ(seen, round);
        EXPECT_EQ(acp_inquire(copied.load()), 0);
      });
      copied.store(acp_copy(block.at(right, 64 + kBytes), block.mine(64),
                            kBytes, ACP_HANDLE_NULL));
      const acp_handle_t orders[] = {copied.load(), ACP_HANDLE_ALL,
                                     ACP_HANDLE_CONT};
      EXPECT(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, block.mine(), 1,
                             orders[round % 3]) != ACP_HANDLE_NULL);
      sleeper.join();
    }
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_sync(), 0);
  }
}

// Each signal adds 1, so the sleeper may see several at once. The sum tells
// whether one was lost.
SPMD_CASE(signals_from_all,
          "acpx_put_signal: all ranks signal one sleeper, none is lost") {
  const Block block(Memory::kLibrary, 192);
  const std::size_t rounds = spmd::scaled(5'000, 200);
  const std::uint64_t total =
      rounds * static_cast<std::uint64_t>(acp_procs() - 1);
  if (acp_rank() == 0) {
    std::uint64_t seen = 0;
    while (seen < total) {
      std::uint64_t next = seen;
      EXPECT_EQ(acpx_wait_word(block.mine(), seen, spmd::kPatience, &next), 0);
      EXPECT(next > seen);
      seen = next;
    }
    EXPECT_EQ(seen, total);
  } else {
    for (std::size_t i = 0; i < rounds; ++i) {
      EXPECT(acpx_put_signal(block.at(0, 128), block.mine(64), 8, block.at(0),
                             1, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
      if (i % 64 == 63) acp_complete(ACP_HANDLE_ALL);
    }
    acp_complete(ACP_HANDLE_ALL);
  }
}

// The signal may come before, between or after the two threads fall asleep.
// Both have to see it in each round.
SPMD_CASE(two_threads_wait,
          "acpx_wait_word: two threads sleep on one word, both wake") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  const int right = spmd::right_of(acp_rank());
  const std::size_t rounds = spmd::scaled(1'000, 50);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::uint64_t seen_by_other = 0;
    std::thread other([&] {
      EXPECT_EQ(acpx_wait_word(block.mine(), round - 1, spmd::kPatience,
                               &seen_by_other),
                0);
    });
    EXPECT(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, block.at(right), 1,
                           ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    std::uint64_t seen = 0;
    EXPECT_EQ(acpx_wait_word(block.mine(), round - 1, spmd::kPatience, &seen),
              0);
    other.join();
    EXPECT_EQ(seen, round);
    EXPECT_EQ(seen_by_other, round);
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_sync(), 0);
  }
}
