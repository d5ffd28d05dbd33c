// Tests of acpx_post and acpx_put_signal: chains on one peer.
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;

namespace {

acpx_op_t step(acpx_opcode_t opcode, acp_ga_t remote, acp_ga_t local) {
  acpx_op_t op{};
  op.opcode = opcode;
  op.remote = remote;
  op.local = local;
  return op;
}

acpx_op_t transfer(acpx_opcode_t opcode,
                   acp_ga_t remote,
                   acp_ga_t local,
                   std::size_t size) {
  acpx_op_t op = step(opcode, remote, local);
  op.size = size;
  return op;
}

acpx_op_t update(acpx_opcode_t opcode,
                 acp_ga_t remote,
                 acp_ga_t local,
                 std::uint64_t operand,
                 std::uint64_t compare = 0) {
  acpx_op_t op = step(opcode, remote, local);
  op.operand = operand;
  op.compare = compare;
  return op;
}

/// Adds 1 to a word, and wakes those who wait for it.
acpx_op_t signal_at(acp_ga_t word) {
  acpx_op_t op = update(ACPX_ADD8, word, 0, 1);
  op.flags = ACPX_SIGNAL;
  return op;
}

std::uint64_t after(const acpx_op_t& op, std::uint64_t old) {
  switch (op.opcode) {
    case ACPX_PUT8: return op.operand;
    case ACPX_ADD8: return old + op.operand;
    case ACPX_CAS8: return old == op.compare ? op.operand : old;
    case ACPX_AND8: return old & op.operand;
    case ACPX_OR8: return old | op.operand;
    case ACPX_XOR8: return old ^ op.operand;
    case ACPX_SWAP8: return op.operand;
    default: return old;
  }
}

constexpr acpx_opcode_t kWordOps[] = {ACPX_PUT8, ACPX_ADD8, ACPX_CAS8,
                                      ACPX_AND8, ACPX_OR8,  ACPX_XOR8,
                                      ACPX_SWAP8};

/// This rank's part of every rank's block: ranks do not disturb each other.
std::size_t my_place(std::size_t bytes) {
  return static_cast<std::size_t>(acp_rank()) * bytes;
}

/// Posts a chain whose second step leaves the memory of the right neighbour.
/// True: the left neighbour's chain has failed in the call, so none of its
/// steps has happened. False: this rank saw the error, and the first step has.
bool has_failed_in_call(std::span<const acpx_op_t> ops) {
  acp_errno = 0;
  const acp_handle_t handle =
      acpx_post(ops.data(), ops.size(), ACP_HANDLE_NULL);
  const bool is_in_call = handle == ACP_HANDLE_NULL;
  if (!is_in_call) {
    EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), -1);
  }
  EXPECT_EQ(acp_errno, int{ACPX_BAD_ADDRESS});
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  return spmd::gather(is_in_call)[static_cast<std::size_t>(left)];
}

}  // namespace

// A model in this rank says what each step returns and leaves. It is compared
// after each chain of one step, to every peer.
SPMD_CASE(acpx_post_every_opcode,
          "acpx_post: every opcode alone, to every rank, to itself too") {
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    const Block block(memory, procs * 64 + 256);
    const std::size_t place = my_place(64);
    const std::size_t own = procs * 64;
    for (int peer = 0; peer < acp_procs(); ++peer) {
      std::uint64_t model = 0x1111;
      const acpx_op_t first =
          update(ACPX_PUT8, block.at(peer, place), 0, model);
      EXPECT_DONE(acpx_post(&first, 1, ACP_HANDLE_NULL));
      for (const acpx_opcode_t opcode : kWordOps) {
        const acpx_op_t op = update(opcode, block.at(peer, place),
                                    opcode == ACPX_PUT8 ? 0 : block.mine(own),
                                    0x0f0f0f33, model);
        block.word(own / 8).store(~std::uint64_t{0});
        EXPECT_DONE(acpx_post(&op, 1, ACP_HANDLE_NULL));
        if (opcode != ACPX_PUT8) {
          EXPECT_EQ(block.word(own / 8).load(), model);
        }
        model = after(op, model);
      }
      const acpx_op_t get =
          transfer(ACPX_GET, block.at(peer, place), block.mine(own), 8);
      EXPECT_DONE(acpx_post(&get, 1, ACP_HANDLE_NULL));
      EXPECT_EQ(block.word(own / 8).load(), model);
      block.word(own / 8).store(0x77);
      const acpx_op_t put =
          transfer(ACPX_PUT, block.at(peer, place), block.mine(own), 8);
      EXPECT_DONE(acpx_post(&put, 1, ACP_HANDLE_ALL));
      EXPECT_DONE(acp_copy(block.mine(own + 8), block.at(peer, place), 8,
                           ACP_HANDLE_ALL));
      EXPECT_EQ(block.word(own / 8 + 1).load(), 0x77U);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

// Each step reads what the step before it has written, and all results come to
// different words. So a step out of order shows.
SPMD_CASE(acpx_post_sees_own_steps,
          "acpx_post: each step sees the steps before it") {
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    const Block block(memory, procs * 64 + 256);
    const std::size_t place = my_place(64);
    const std::size_t own = procs * 64;
    const int right = spmd::right_of(acp_rank());
    const acp_ga_t word = block.at(right, place);
    const std::size_t rounds = spmd::scaled(5'000, 200);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      block.word(own / 8).store(round);
      const std::array ops = {
          transfer(ACPX_PUT, word, block.mine(own), 8),
          transfer(ACPX_GET, word, block.mine(own + 8), 8),
          update(ACPX_ADD8, word, block.mine(own + 16), 10),
          transfer(ACPX_GET, word, block.mine(own + 24), 8),
          update(ACPX_CAS8, word, block.mine(own + 32), 5, round + 10),
          update(ACPX_SWAP8, word, block.mine(own + 40), 6),
          update(ACPX_PUT8, word, 0, 7),
          transfer(ACPX_GET, word, block.mine(own + 48), 8),
      };
      EXPECT_DONE(acpx_post(ops.data(), ops.size(), ACP_HANDLE_NULL));
      const std::uint64_t expected[] = {round,      round, round, round + 10,
                                        round + 10, 5,     7};
      for (std::size_t i = 0; i < std::size(expected); ++i) {
        EXPECT_EQ(block.word(own / 8 + i).load(), expected[i]);
      }
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

// Each rank has words of its own on every peer, so that a sequential model can
// say what a chain returns.
SPMD_CASE(acpx_post_against_a_model,
          "acpx_post: random chains match a sequential model") {
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    constexpr std::size_t kWords = 8;
    const Block block(memory, procs * kWords * 8 + 64 * 8);
    const std::size_t place = my_place(kWords * 8);
    const std::size_t own = procs * kWords * 8;
    std::vector<std::array<std::uint64_t, kWords>> model(procs);
    std::mt19937_64 random =
        spmd::random_of_rank(static_cast<std::uint64_t>(memory));
    const std::size_t rounds = spmd::scaled(5'000, 200);
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t peer = random() % procs;
      const std::size_t length = 1 + random() % ACPX_MAX_STEPS;
      std::vector<acpx_op_t> ops;
      std::vector<std::uint64_t> old_values;
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t index = random() % kWords;
        std::uint64_t& word = model[peer][index];
        ops.push_back(
            update(kWordOps[random() % std::size(kWordOps)],
                   block.at(static_cast<int>(peer), place + 8 * index),
                   block.mine(own + 8 * i), random(),
                   random() % 2 == 0 ? word : random()));
        old_values.push_back(word);
        word = after(ops.back(), word);
      }
      EXPECT_DONE(acpx_post(ops.data(), ops.size(), ACP_HANDLE_ALL));
      for (std::size_t i = 0; i < length; ++i) {
        if (ops[i].opcode != ACPX_PUT8) {
          EXPECT_EQ(block.word(own / 8 + i).load(), old_values[i]);
        }
      }
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(acpx_post_large,
          "acpx_post: large puts, then a flag: who sees the flag sees all") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::size_t kBytes = 100'000;
  for (const Memory memory : kMemories) {
    const Block block(memory, 3 * kBytes + 256);
    const Block flags(Memory::kLibrary, 64);
    const int right = spmd::right_of(acp_rank());
    const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
    const std::size_t rounds = spmd::scaled(200, 10);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const auto salt = [&](int from) {
        return round * 50 + static_cast<std::uint64_t>(from);
      };
      spmd::fill_pattern(block.bytes().subspan(0, kBytes), salt(acp_rank()));
      const std::array ops = {
          transfer(ACPX_PUT, block.at(right, kBytes), block.mine(), kBytes),
          transfer(ACPX_PUT, block.at(right, 2 * kBytes + 3), block.mine(),
                   kBytes),
          transfer(ACPX_PUT, block.at(right), block.mine(), 0),
      };
      // The flag is in other memory, but on the same rank.
      std::vector<acpx_op_t> chain(ops.begin(), ops.end());
      chain.push_back(signal_at(flags.at(right)));
      const acp_handle_t handle =
          acpx_post(chain.data(), chain.size(), ACP_HANDLE_ALL);
      EXPECT(handle != ACP_HANDLE_NULL);
      std::uint64_t seen = 0;
      EXPECT_EQ(acpx_wait_word(flags.mine(), round - 1, spmd::kPatience, &seen),
                0);
      EXPECT_EQ(seen, round);
      EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(kBytes, kBytes),
                                       salt(left)),
                kBytes);
      EXPECT_EQ(spmd::pattern_mismatch(
                    block.bytes().subspan(2 * kBytes + 3, kBytes), salt(left)),
                kBytes);
      EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
      EXPECT_EQ(acp_sync(), 0);
    }
  }
}

SPMD_CASE(acpx_post_puts_in_turn,
          "acpx_post: a large put covers the one before it") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::size_t kPuts = 12;
  constexpr std::size_t kStrip = 3000;
  constexpr std::size_t kBytes = kPuts * kStrip;
  for (const Memory memory : kMemories) {
    const Block block(memory, (1 + kPuts) * kBytes);
    const Block flags(Memory::kLibrary, 64);
    const int right = spmd::right_of(acp_rank());
    const std::size_t rounds = spmd::scaled(100, 10);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const auto value = [&](std::size_t put) {
        return static_cast<std::byte>(round * kPuts + put);
      };
      // Each put is a strip shorter, so a strip of the one before it stays.
      std::vector<acpx_op_t> chain;
      for (std::size_t i = 0; i < kPuts; ++i) {
        const std::size_t from = (1 + i) * kBytes;
        std::ranges::fill(block.bytes().subspan(from, kBytes), value(i));
        chain.push_back(transfer(ACPX_PUT, block.at(right), block.mine(from),
                                 kBytes - i * kStrip));
      }
      chain.push_back(signal_at(flags.at(right)));
      const acp_handle_t handle =
          acpx_post(chain.data(), chain.size(), ACP_HANDLE_NULL);
      EXPECT(handle != ACP_HANDLE_NULL);
      EXPECT_EQ(
          acpx_wait_word(flags.mine(), round - 1, spmd::kPatience, nullptr), 0);
      for (std::size_t i = 0; i < kPuts; ++i) {
        const auto strip =
            block.bytes().subspan(kBytes - (1 + i) * kStrip, kStrip);
        EXPECT(std::ranges::count(strip, value(i)) == kStrip);
      }
      EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
      EXPECT_EQ(acp_sync(), 0);
    }
  }
}

SPMD_CASE(acpx_post_more,
          "acpx_post: chains that may wait for more leave when none comes") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  const int right = spmd::right_of(acp_rank());
  const std::size_t rounds = spmd::scaled(1000, 20);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const std::uint64_t chains = 1 + round % 2;
    for (std::uint64_t i = 0; i < chains; ++i) {
      acpx_op_t op = update(ACPX_PUT8, block.at(right, i * 8), 0, round);
      op.flags = round % 3 == 0 ? ACPX_MORE : ACPX_MORE | ACPX_SIGNAL;
      EXPECT(acpx_post(&op, 1, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    }
    // Plain loads, as in a program that computes: nothing calls the library.
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(spmd::kPatience);
    for (std::uint64_t i = 0; i < chains; ++i) {
      while (block.word(i).load() != round) {
        EXPECT(std::chrono::steady_clock::now() < deadline);
        ::sched_yield();
      }
    }
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(acpx_flush_sends,
          "acpx_flush: what is held leaves, although nobody waits") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  const int right = spmd::right_of(acp_rank());
  const std::size_t rounds = spmd::scaled(200, 10);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    // The pause is long enough for the progress thread, which also sends, to
    // sleep.
    ::poll(nullptr, 0, 5);
    for (std::uint64_t i = 0; i < 2; ++i) {
      acpx_op_t op = update(ACPX_PUT8, block.at(right, i * 8), 0, round);
      op.flags = round % 2 == 0 ? ACPX_HOLD : ACPX_HOLD | ACPX_SIGNAL;
      EXPECT(acpx_post(&op, 1, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    }
    acpx_flush();
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(spmd::kPatience);
    for (std::uint64_t i = 0; i < 2; ++i) {
      while (block.word(i).load() != round) {
        EXPECT(std::chrono::steady_clock::now() < deadline);
        ::sched_yield();
      }
    }
    acpx_flush();  // nothing is held
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
  }
}

// A good step stands before each bad one. It must not have run: the word is 0
// in the end.
SPMD_CASE(acpx_post_bad_chains,
          "acpx_post: a chain that is wrong in itself fails in the call") {
  const Block block(Memory::kLibrary, 256);
  const int right = spmd::right_of(acp_rank());
  const acpx_op_t good = update(ACPX_ADD8, block.at(right), 0, 1);
  std::vector<acpx_op_t> many(ACPX_MAX_STEPS + 1, good);
  const auto post_bad = [&](const acpx_op_t& bad, int code) {
    const acpx_op_t ops[] = {good, bad};
    EXPECT_FAILS(acpx_post(ops, 2, ACP_HANDLE_NULL), ACP_HANDLE_NULL, code);
  };
  EXPECT_FAILS(acpx_post(nullptr, 1, ACP_HANDLE_NULL), ACP_HANDLE_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_post(&good, 0, ACP_HANDLE_NULL), ACP_HANDLE_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_post(many.data(), many.size(), ACP_HANDLE_NULL),
               ACP_HANDLE_NULL, ACPX_INVALID_ARGUMENT);
  acpx_op_t bad = good;
  const int no_opcode = 12;
  std::memcpy(&bad.opcode, &no_opcode, sizeof bad.opcode);
  post_bad(bad, ACPX_INVALID_ARGUMENT);
  bad = good;
  bad.flags = 0x80;
  post_bad(bad, ACPX_INVALID_ARGUMENT);
  post_bad(update(ACPX_ADD8, block.at(right, 4), 0, 1), ACPX_MISALIGNED);
  post_bad(update(ACPX_ADD8, block.at(right), block.mine(4), 1),
           ACPX_MISALIGNED);
  post_bad(update(ACPX_PUT8, block.at(right, 1), 0, 1), ACPX_MISALIGNED);
  const acpx_op_t in_place = update(ACPX_ADD8, block.mine(), block.mine(), 1);
  EXPECT_FAILS(acpx_post(&in_place, 1, ACP_HANDLE_NULL), ACP_HANDLE_NULL,
               ACPX_INVALID_ARGUMENT);
  const acpx_op_t nowhere = update(ACPX_ADD8, ACP_GA_NULL, 0, 1);
  EXPECT_FAILS(acpx_post(&nowhere, 1, ACP_HANDLE_NULL), ACP_HANDLE_NULL,
               ACPX_BAD_ADDRESS);
  if (acp_procs() > 1) {
    post_bad(update(ACPX_ADD8, block.mine(), 0, 1), ACPX_INVALID_ARGUMENT);
    post_bad(update(ACPX_ADD8, block.at(right), block.at(right, 8), 1),
             ACPX_BAD_RANK);
    post_bad(transfer(ACPX_PUT, block.at(right), block.at(right, 8), 8),
             ACPX_BAD_RANK);
  }
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(block.word(0).load(), 0U);
}

SPMD_CASE(acpx_post_nothing,
          "acpx_post: puts and gets of no bytes may be anywhere") {
  const Block block(Memory::kLibrary, 64);
  const acp_ga_t beyond = ~acp_ga_t{0} - 4095;  // more ranks than any job has
  for (const acp_ga_t remote :
       {acp_ga_t{ACP_GA_NULL}, beyond, block.at(spmd::right_of(acp_rank()))}) {
    const acpx_op_t ops[] = {transfer(ACPX_PUT, remote, ACP_GA_NULL, 0),
                             transfer(ACPX_GET, remote, ACP_GA_NULL, 0)};
    const acp_handle_t handle = acpx_post(ops, 2, ACP_HANDLE_NULL);
    EXPECT(handle != ACP_HANDLE_NULL);
    EXPECT_EQ(acpx_complete_timeout(handle, -1), 0);
  }
  // A get that brings bytes has a reply, whose results are stored one by one.
  const acp_ga_t right = block.at(spmd::right_of(acp_rank()));
  block.word(0).store(7);
  EXPECT_EQ(acp_sync(), 0);
  const acpx_op_t ops[] = {transfer(ACPX_GET, right, block.mine(8), 8),
                           transfer(ACPX_GET, right, beyond, 0)};
  const acp_handle_t handle = acpx_post(ops, 2, ACP_HANDLE_NULL);
  EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
  EXPECT_EQ(block.word(1).load(), 7U);
}

// The words join the parts of the large put. The step that fails is the last
// one, so the add before it has been done, and its old value is stored.
SPMD_CASE(acpx_post_counts_empty_puts,
          "acpx_post: words behind an empty put fail by their own index") {
  constexpr std::size_t kBytes = 100'000;
  const Block block(Memory::kRegistered, 2 * kBytes + 64);
  const int right = spmd::right_of(acp_rank());
  block.word(kBytes / 8).store(40);
  EXPECT_EQ(acp_sync(), 0);
  const acpx_op_t ops[] = {
      transfer(ACPX_PUT, block.at(right, kBytes + 64), block.mine(64),
               kBytes - 64),
      transfer(ACPX_PUT, block.at(right), block.mine(), 0),
      update(ACPX_ADD8, block.at(right, kBytes), block.mine(), 2),
      update(ACPX_ADD8, block.at(right, 2 * kBytes + 64), 0, 1),
  };
  const bool is_in_call = has_failed_in_call(ops);
  const std::uint64_t sum = block.word(kBytes / 8).load();
  EXPECT_EQ(sum, is_in_call ? 40U : 42U);
  const auto sums = spmd::gather(sum);
  EXPECT_EQ(block.word(0).load(),
            sums[static_cast<std::size_t>(right)] == 42 ? 40U : 0U);
}

SPMD_CASE(acpx_post_stops_at_a_failure,
          "acpx_post: a step that fails at the peer stops the rest") {
  const Block block(Memory::kRegistered, 256);
  const int right = spmd::right_of(acp_rank());
  const acpx_op_t ops[] = {
      update(ACPX_ADD8, block.at(right), 0, 1),
      transfer(ACPX_PUT, block.at(right, 250), block.mine(), 8),
      update(ACPX_ADD8, block.at(right, 8), 0, 1),
  };
  const bool is_in_call = has_failed_in_call(ops);
  EXPECT_EQ(block.word(0).load(), is_in_call ? 0U : 1U);
  EXPECT_EQ(block.word(1).load(), 0U);
}

SPMD_CASE(acpx_post_stops_at_a_put,
          "acpx_post: a large put that fails at the peer stops the rest") {
  constexpr std::size_t kBytes = 100'000;
  const Block block(Memory::kRegistered, 3 * kBytes);
  const int right = spmd::right_of(acp_rank());
  std::ranges::fill(block.bytes().first(kBytes), std::byte{1});
  const acpx_op_t ops[] = {
      transfer(ACPX_PUT, block.at(right, kBytes), block.mine(), kBytes),
      transfer(ACPX_PUT, block.at(right, 3 * kBytes - 8), block.mine(), kBytes),
      transfer(ACPX_PUT, block.at(right, 2 * kBytes), block.mine(), kBytes),
      update(ACPX_ADD8, block.at(right, 3 * kBytes - 8), 0, 1),
  };
  EXPECT_EQ(acp_sync(), 0);
  const bool is_in_call = has_failed_in_call(ops);
  const auto changed =
      std::ranges::count(block.bytes().subspan(kBytes), std::byte{1});
  EXPECT_EQ(static_cast<std::size_t>(changed), is_in_call ? 0 : kBytes);
}

// Chains and copies alternate, each ordered on the one before. Each copy puts
// the old value of the add before it, so the last one puts rounds - 1.
SPMD_CASE(acpx_post_orders,
          "acpx_post: starts after its order, and others order on it") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 256);
    const int right = spmd::right_of(acp_rank());
    const std::size_t rounds = spmd::scaled(3'000, 100);
    acp_handle_t before = ACP_HANDLE_NULL;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const acpx_op_t chain[] = {
          transfer(ACPX_GET, block.at(right), block.mine(64), 8),
          update(ACPX_ADD8, block.at(right), block.mine(72), 1),
      };
      before = acpx_post(chain, 2, before);
      EXPECT(before != ACP_HANDLE_NULL);
      before = acp_copy(block.at(right, 8), block.mine(72), 8, before);
      EXPECT(before != ACP_HANDLE_NULL);
    }
    EXPECT_EQ(acpx_complete_timeout(before, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(block.word(0).load(), rounds);
    EXPECT_EQ(block.word(1).load(), rounds - 1);
    EXPECT_EQ(block.word(8).load(), rounds - 1);
  }
}

SPMD_CASE(acpx_put_signal_large,
          "acpx_put_signal: large data are there when the signal wakes") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::size_t kBytes = 300'000;  // several posts of an RDMA device
  constexpr std::size_t kParts = 3;
  for (const Memory memory : kMemories) {
    const Block block(memory, 2 * kParts * kBytes);
    const Block words(Memory::kLibrary, 128);
    const int right = spmd::right_of(acp_rank());
    const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
    const std::size_t rounds = spmd::scaled(20, 2);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const auto salt = [&](int from, std::size_t part) {
        return (round * kParts + part) * 50 + static_cast<std::uint64_t>(from);
      };
      // All are under way at once, and each part is looked at when its signal
      // has come. Signals of unordered chains may come in any order.
      for (std::size_t part = 0; part < kParts; ++part) {
        spmd::fill_pattern(block.bytes().subspan(part * kBytes, kBytes),
                           salt(acp_rank(), part));
        EXPECT(acpx_put_signal(block.at(right, (kParts + part) * kBytes),
                               block.mine(part * kBytes), kBytes,
                               words.at(right, 8 * part), 1,
                               ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
      }
      for (std::size_t part = 0; part < kParts; ++part) {
        std::uint64_t seen = 0;
        EXPECT_EQ(
            acpx_wait_word(words.mine(8 * part), round, spmd::kPatience, &seen),
            0);
        EXPECT_EQ(seen, round + 1);
        EXPECT_EQ(spmd::pattern_mismatch(
                      block.bytes().subspan((kParts + part) * kBytes, kBytes),
                      salt(left, part)),
                  kBytes);
      }
      EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
      EXPECT_EQ(acp_sync(), 0);
    }
  }
}

// Each rank signals the rank after next with bytes of its neighbour, so it has
// neither end. The bytes have to be there when the word changes.
SPMD_CASE(acpx_put_signal_between_others,
          "acpx_put_signal: a source on a third rank, size 0, bad words") {
  constexpr std::size_t kBytes = 5'000;
  for (const Memory memory : kMemories) {
    const Block block(memory, 2 * kBytes);
    const Block words(Memory::kLibrary, 128);
    const int right = spmd::right_of(acp_rank());
    const int next = spmd::right_of(right);
    const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
    spmd::fill_pattern(block.bytes().subspan(0, kBytes),
                       static_cast<std::uint64_t>(acp_rank()));
    EXPECT_EQ(acp_sync(), 0);
    const acp_handle_t handle =
        acpx_put_signal(block.at(next, kBytes), block.at(right), kBytes,
                        words.at(next), 3, ACP_HANDLE_NULL);
    EXPECT(handle != ACP_HANDLE_NULL);
    std::uint64_t seen = 0;
    EXPECT_EQ(acpx_wait_word(words.mine(), 0, spmd::kPatience, &seen), 0);
    EXPECT_EQ(seen, 3U);
    EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(kBytes, kBytes),
                                     static_cast<std::uint64_t>(left)),
              kBytes);
    EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
    EXPECT_DONE(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, words.at(right, 8),
                                5, ACP_HANDLE_NULL));
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(words.word(1).load(), 5U);
    EXPECT_FAILS(acpx_put_signal(block.at(right), block.mine(), 8,
                                 words.at(right, 20), 1, ACP_HANDLE_NULL),
                 ACP_HANDLE_NULL, ACPX_MISALIGNED);
    if (acp_procs() > 1) {
      EXPECT_FAILS(acpx_put_signal(block.at(right), block.mine(), 8,
                                   words.mine(16), 1, ACP_HANDLE_NULL),
                   ACP_HANDLE_NULL, ACPX_BAD_RANK);
    }
  }
}

SPMD_CASE(acpx_post_data_before_header,
          "acpx_post: who sees the header sees the data put before it") {
  constexpr std::size_t kData = 3000;
  constexpr std::size_t kHeader = 24;
  constexpr std::size_t kAll = kData + kHeader;
  for (const Memory memory : kMemories) {
    const Block block(memory, 3 * kAll + 16);
    const int right = spmd::right_of(acp_rank());
    const auto target = block.bytes().first(kAll);
    const auto source = block.bytes().subspan(kAll, kAll);
    const auto seen = block.bytes().subspan(2 * kAll, kAll);
    std::memset(target.data(), 0, kAll);
    EXPECT_EQ(acp_sync(), 0);
    // Rounds fit a byte, and the writer may be any number of them ahead.
    const auto is_good = [](std::byte header, std::byte data) {
      return data >= header;
    };
    const std::size_t rounds =
        std::min<std::size_t>(spmd::scaled(200, 40), 250);
    for (std::size_t round = 1; round <= rounds; ++round) {
      std::memset(source.data(), static_cast<int>(round), kAll);
      // Read back by the same chain, the header first.
      const std::array<acpx_op_t, 4> ops = {
          transfer(ACPX_PUT, block.at(right), block.mine(kAll), kData),
          transfer(ACPX_PUT, block.at(right, kData), block.mine(kAll + kData),
                   kHeader),
          transfer(ACPX_GET, block.at(right, kData),
                   block.mine(2 * kAll + kData), kHeader),
          transfer(ACPX_GET, block.at(right), block.mine(2 * kAll), kData)};
      const acp_handle_t handle =
          acpx_post(ops.data(), ops.size(), ACP_HANDLE_NULL);
      EXPECT(handle != ACP_HANDLE_NULL);
      const auto header =
          std::atomic_ref(target[kData]).load(std::memory_order_acquire);
      for (std::size_t i = 0; i < kData; i += 59) {
        EXPECT(is_good(header, std::atomic_ref(target[i]).load()));
      }
      EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
      for (const std::byte byte : seen) {
        EXPECT_EQ(static_cast<std::size_t>(byte), round);
      }
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}
