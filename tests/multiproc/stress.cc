// Cases with many ranks and threads at once. All ranks put to all, each rank
// has four threads, or ranks compute and do not call the library.
#include <chrono>
#include <thread>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kThreads = 4;

/// The work of one thread: puts and gets in a stripe of its own, and atomics on
/// a word that all threads share.
void thread_work(const Block& block, std::size_t thread, std::size_t rounds) {
  const int right = spmd::right_of(acp_rank());
  // Each thread has 64 bytes to send from, 64 to receive at, 64 for results.
  const std::size_t base = 64 + thread * 192;
  const std::size_t index = base / 8;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    block.word(index).store(round * kThreads + thread);
    const acp_handle_t put = acp_copy(block.at(right, base + 64),
                                      block.mine(base), 8, ACP_HANDLE_NULL);
    EXPECT(put != ACP_HANDLE_NULL);
    const acp_handle_t get =
        acp_copy(block.mine(base + 128), block.at(right, base + 64), 8, put);
    EXPECT(get != ACP_HANDLE_NULL);
    EXPECT(acp_add8(block.mine(base + 136), block.at(0), 1, ACP_HANDLE_NULL) !=
           ACP_HANDLE_NULL);
    acp_complete(get);
    EXPECT_EQ(block.word(index + 16).load(), round * kThreads + thread);
    EXPECT_EQ(acp_inquire(get), 0);
    if (round % 50 == 0) {
      EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    }
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Registers memory, copies to it and unregisters it, in one thread of several.
void registration_work(std::size_t rounds) {
  std::vector<std::uint64_t> words(16);
  const acp_ga_t starter = acp_query_starter_ga(acp_rank());
  for (std::size_t round = 0; round < rounds; ++round) {
    const acp_atkey_t key = acp_register_memory(words.data(), 128, 0);
    EXPECT(key != ACP_ATKEY_NULL);
    const acp_ga_t ga = acp_query_ga(key, &words[3]);
    EXPECT_EQ(acp_query_address(ga), &words[3]);
    words[3] = 0;
    EXPECT_DONE(acp_copy(ga, starter, 8, ACP_HANDLE_NULL));
    EXPECT_EQ(acp_unregister_memory(key), 0);
  }
}

/// Registers memory that the rank to the left uses, and unregisters it. A life
/// of the memory has three parts: registered, used, not used any more. Between
/// them is a barrier of the program's threads, which the caller gives.
class Lender {
 public:
  explicit Lender(std::size_t thread) : word_(kFirstWord + thread) {}

  void lend(std::uint64_t round) {
    words_.assign(words_.size(), round);
    key_ = acp_register_memory(words_.data(), kBytes, 0);
    EXPECT(key_ != ACP_ATKEY_NULL);
    starter()[word_] = acp_query_ga(key_, words_.data());
  }

  /// Reads the memory of the rank to the right twice, and adds to it. A network
  /// may answer the first read by a message, and tell the key meanwhile.
  void use_right(std::uint64_t round) {
    const int right = spmd::right_of(acp_rank());
    const acp_ga_t mine = acp_query_starter_ga(acp_rank()) + word_ * 8;
    EXPECT_DONE(acp_copy(mine + kCopies,
                         acp_query_starter_ga(right) + word_ * 8, 8,
                         ACP_HANDLE_NULL));
    const acp_ga_t there = starter()[word_ + kCopies / 8];
    for (int i = 0; i < 2; ++i) {
      EXPECT_DONE(acp_copy(mine + kCopies, there + 8, 8, ACP_HANDLE_NULL));
      EXPECT_EQ(starter()[word_ + kCopies / 8], round);
    }
    EXPECT_DONE(acp_add8(mine + kCopies, there, 1, ACP_HANDLE_NULL));
  }

  void take_back(std::uint64_t round) {
    EXPECT_EQ(words_[0], round + 1);
    EXPECT_EQ(acp_unregister_memory(key_), 0);
  }

 private:
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kFirstWord = 64;
  static constexpr std::size_t kCopies = 1024;

  static std::uint64_t* starter() {
    return static_cast<std::uint64_t*>(
        acp_query_address(acp_query_starter_ga(acp_rank())));
  }

  std::size_t word_;  ///< In starter memory: the address of the memory.
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(kBytes / 8);
  acp_atkey_t key_ = ACP_ATKEY_NULL;
};

/// Calls `work` with each lender, in a thread of its own; then all ranks meet.
template <typename Work>
void by_all(std::vector<Lender>& lenders, Work work) {
  std::vector<std::thread> threads;
  for (Lender& lender : lenders) {
    threads.emplace_back([&] { work(lender); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(acp_sync(), 0);
}

/// Computes, without a call of the library, until other ranks have stored what
/// `is_done` looks for in this rank's memory. A rank that they needed meanwhile
/// would compute until the time limit.
template <typename IsDone>
void compute_until(IsDone is_done) {
  const Clock::time_point limit =
      Clock::now() + std::chrono::milliseconds(spmd::kPatience);
  volatile std::uint64_t sum = 0;
  while (!is_done()) {
    if (Clock::now() > limit) {
      EXPECT(is_done());
      return;
    }
    for (int i = 0; i < 1000; ++i) {
      sum = sum + static_cast<std::uint64_t>(i);
    }
  }
}

/// Does a put, a get, an atomic and a chain to rank 0, and completes each.
void touch_rank_zero(const Block& block, std::uint64_t round) {
  const std::size_t offset = static_cast<std::size_t>(acp_rank()) * 64;
  block.word(offset / 8).store(round);
  EXPECT_DONE(
      acp_copy(block.at(0, offset), block.mine(offset), 8, ACP_HANDLE_NULL));
  EXPECT_DONE(acp_copy(block.mine(offset + 8), block.at(0, offset), 8,
                       ACP_HANDLE_NULL));
  EXPECT_EQ(block.word(offset / 8 + 1).load(), round);
  EXPECT_DONE(acp_add8(block.mine(offset + 16), block.at(0, offset + 8), 1,
                       ACP_HANDLE_NULL));
  acpx_op_t op{};
  op.opcode = ACPX_ADD8;
  op.remote = block.at(0, offset + 16);
  op.operand = 1;
  EXPECT_DONE(acpx_post(&op, 1, ACP_HANDLE_NULL));
}

}  // namespace

// A second barrier ends each round, so that no put arrives during the check.
SPMD_CASE(all_to_all, "all ranks put to all ranks, many rounds") {
  constexpr std::size_t kBytes = 3'000;
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    const auto rank = static_cast<std::size_t>(acp_rank());
    const Block block(memory, kBytes * (procs + 1));
    const std::size_t rounds = spmd::scaled(200, 5);
    for (std::size_t round = 0; round < rounds; ++round) {
      spmd::fill_pattern(block.bytes().subspan(0, kBytes), round * 100 + rank);
      for (std::size_t i = 0; i < procs; ++i) {
        const auto to = static_cast<int>((rank + i) % procs);
        EXPECT(acp_copy(block.at(to, (rank + 1) * kBytes), block.mine(), kBytes,
                        ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
      }
      EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
      EXPECT_EQ(acp_sync(), 0);
      for (std::size_t from = 0; from < procs; ++from) {
        EXPECT_EQ(spmd::pattern_mismatch(
                      block.bytes().subspan((from + 1) * kBytes, kBytes),
                      round * 100 + from),
                  kBytes);
      }
      EXPECT_EQ(acp_sync(), 0);
    }
  }
}

SPMD_CASE(flood_both_ways,
          "all ranks flood all others with large gets and puts: no deadlock") {
  constexpr std::size_t kBytes = 64 * 1024;
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    const auto rank = static_cast<std::size_t>(acp_rank());
    // The block has the data of this rank, and an area for the put of each
    // rank. Then it has an area for the get from each rank.
    const Block block(memory, kBytes * (1 + 2 * procs));
    spmd::fill_pattern(block.bytes().subspan(0, kBytes), rank);
    EXPECT_EQ(acp_sync(), 0);
    const std::size_t rounds = spmd::scaled(100, 5);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < procs; ++i) {
        const auto peer = static_cast<int>(i);
        EXPECT(acp_copy(block.mine((1 + procs + i) * kBytes), block.at(peer),
                        kBytes, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
        EXPECT(acp_copy(block.at(peer, (1 + rank) * kBytes), block.mine(),
                        kBytes, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
      }
    }
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, 2 * spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    for (std::size_t part = 0; part < 2 * procs; ++part) {
      EXPECT_EQ(
          spmd::pattern_mismatch(
              block.bytes().subspan((1 + part) * kBytes, kBytes), part % procs),
          kBytes);
    }
  }
}

// All threads add to word 0 of rank 0, so its final value counts all rounds.
SPMD_CASE(four_threads, "four threads of each rank issue and complete") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 64 + kThreads * 192);
    const std::size_t rounds = spmd::scaled(10'000, 300);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { thread_work(block, i, rounds); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() == 0) {
      EXPECT_EQ(block.word(0).load(),
                rounds * kThreads * static_cast<std::size_t>(acp_procs()));
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(four_threads_register,
          "four threads of each rank register, use and unregister") {
  const std::size_t rounds = spmd::scaled(5'000, 200);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([=] { registration_work(rounds); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

SPMD_CASE(four_threads_lend,
          "four threads of each rank register memory that a peer uses") {
  std::vector<Lender> lenders;
  for (std::size_t i = 0; i < kThreads; ++i) {
    lenders.emplace_back(i);
  }
  const std::size_t rounds = spmd::scaled_flights(500);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    by_all(lenders, [&](Lender& each) { each.lend(round); });
    by_all(lenders, [&](Lender& each) { each.use_right(round); });
    by_all(lenders, [&](Lender& each) { each.take_back(round); });
  }
}

SPMD_CASE(passive_rank, "a rank that computes holds up nobody") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::uint64_t kRounds = 20;
  const auto procs = static_cast<std::size_t>(acp_procs());
  for (const Memory memory : kMemories) {
    const Block block(memory, procs * 64);
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() == 0) {
      compute_until([&] {
        for (std::size_t word = 8; word < procs * 8; ++word) {
          if (word % 8 < 3 && block.word(word).load() != kRounds) {
            return false;
          }
        }
        return true;
      });
    } else {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        touch_rank_zero(block, round);
      }
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

// The ranks 0 and 1 compute until rank 2 has stored a word there, behind its
// copy.
SPMD_CASE(passive_source,
          "a copy between two ranks that compute needs neither") {
  SPMD_NEEDS_RANKS(3);
  for (const Memory memory : kMemories) {
    const Block block(memory, 20'000);
    spmd::fill_pattern(block.bytes().subspan(0, 8'000),
                       static_cast<std::uint64_t>(acp_rank()));
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() < 2) {
      block.word(2'400).store(0);
      EXPECT_EQ(acp_sync(), 0);
      compute_until([&] { return block.word(2'400).load() == 1; });
    } else {
      EXPECT_EQ(acp_sync(), 0);
    }
    if (acp_rank() == 2) {
      EXPECT_DONE(
          acp_copy(block.at(1, 8'000), block.at(0), 8'000, ACP_HANDLE_NULL));
      block.word(2'450).store(1);
      for (const int computing : {0, 1}) {
        EXPECT_DONE(acp_copy(block.at(computing, 19'200), block.mine(19'600), 8,
                             ACP_HANDLE_NULL));
      }
    }
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() == 1) {
      EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(8'000, 8'000), 0),
                std::size_t{8'000});
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}
