// Tests of sections 4.11.1, 4.11.15 and 4.11.16: when operations start and
// complete.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;

namespace {

/// The rank from which step `step` of a chain reads; it writes to the next.
int place(std::size_t step) {
  return static_cast<int>((step + static_cast<std::size_t>(acp_rank())) %
                          static_cast<std::size_t>(acp_procs()));
}

/// Byte offset of step `step` of this rank's chain; chains of different
/// ranks do not meet.
std::size_t chain_offset(std::size_t step, std::size_t length) {
  return (static_cast<std::size_t>(acp_rank()) * (length + 1) + step) * 8;
}

/// Sends a word over the ranks in `length` copies. Each copy is ordered on its
/// predecessor by `order_of(handle of the predecessor)`.
template <typename OrderOf>
void check_wandering(Memory memory, std::size_t length, OrderOf order_of) {
  const Block block(
      memory, static_cast<std::size_t>(acp_procs()) * (length + 1) * 8 + 64);
  const std::uint64_t token = 0xabcd0000U + static_cast<unsigned>(acp_rank());
  block.word(chain_offset(0, length) / 8).store(token);
  acp_handle_t handle = ACP_HANDLE_NULL;
  for (std::size_t step = 0; step < length; ++step) {
    handle = acp_copy(block.at(place(step + 1), chain_offset(step + 1, length)),
                      block.at(place(step), chain_offset(step, length)), 8,
                      order_of(handle));
    EXPECT(handle != ACP_HANDLE_NULL);
  }
  const std::size_t result = block.size() - 64;
  handle = acp_copy(block.mine(result),
                    block.at(place(length), chain_offset(length, length)), 8,
                    handle);
  EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
  EXPECT_EQ(block.word(result / 8).load(), token);
}

}  // namespace

SPMD_CASE(chain_of_handles,
          "order: 10,000 copies, each on the handle of the one before") {
  for (const Memory memory : kMemories) {
    check_wandering(memory, spmd::scaled(10'000, 500),
                    [](acp_handle_t before) { return before; });
  }
}

SPMD_CASE(chain_of_all, "order: the same with ACP_HANDLE_ALL") {
  for (const Memory memory : kMemories) {
    check_wandering(memory, spmd::scaled(10'000, 500),
                    [](acp_handle_t) { return ACP_HANDLE_ALL; });
  }
}

SPMD_CASE(chain_of_cont,
          "order: the same with ACP_HANDLE_CONT, which is ALL when ranks "
          "differ") {
  for (const Memory memory : kMemories) {
    check_wandering(memory, spmd::scaled(10'000, 500),
                    [](acp_handle_t) { return ACP_HANDLE_CONT; });
  }
}

// All copies go to one word, so only the order decides which value stays.
SPMD_CASE(cont_never_overtakes,
          "order: CONT on one path keeps the order, the last one wins") {
  for (const Memory memory : kMemories) {
    const std::size_t length = spmd::scaled(10'000, 500);
    const Block block(memory, (length + 64) * 8);
    const int right = spmd::right_of(acp_rank());
    for (std::size_t i = 0; i < length; ++i) {
      block.word(64 + i).store(i + 1);
    }
    acp_handle_t handle = ACP_HANDLE_NULL;
    for (std::size_t i = 0; i < length; ++i) {
      handle = acp_copy(block.at(right, 0), block.mine((64 + i) * 8), 8,
                        i == 0 ? ACP_HANDLE_NULL : ACP_HANDLE_CONT);
      EXPECT(handle != ACP_HANDLE_NULL);
    }
    EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(block.word(0).load(), length);
  }
}

SPMD_CASE(cont_against_a_model,
          "order: puts, gets and atomics with CONT are as if each had waited") {
  constexpr std::size_t kBytes = 2048;
  for (const Memory memory : kMemories) {
    // Each rank works on the first half of its own block and on the second half
    // of its right neighbour's.
    const Block block(memory, 2 * kBytes);
    const int right = spmd::right_of(acp_rank());
    std::mt19937 random(17 + static_cast<unsigned>(acp_rank()));
    std::vector<std::byte> mine(kBytes);
    std::vector<std::byte> theirs(kBytes);
    EXPECT_EQ(acp_sync(), 0);
    const std::size_t length = spmd::scaled(5'000, 400);
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t near = random() % (kBytes / 8) * 8;
      const std::size_t far = random() % (kBytes / 8) * 8;
      const std::size_t room = kBytes - std::max(near, far);
      const std::size_t size = random() % 4 == 0
                                   ? 1 + random() % room
                                   : std::min<std::size_t>(24, room);
      const acp_ga_t here = block.mine(near);
      const acp_ga_t there = block.at(right, kBytes + far);
      acp_handle_t handle = ACP_HANDLE_NULL;
      switch (random() % 8) {
        case 0: {
          const std::uint64_t addend = random();
          std::uint64_t old = 0;
          std::memcpy(&old, &theirs[far], sizeof old);
          std::memcpy(&mine[near], &old, sizeof old);
          old += addend;
          std::memcpy(&theirs[far], &old, sizeof old);
          handle = acp_add8(here, there, addend, ACP_HANDLE_CONT);
          break;
        }
        case 1:
        case 2:
        case 3:
          std::memcpy(&theirs[far], &mine[near], size);
          handle = acp_copy(there, here, size, ACP_HANDLE_CONT);
          break;
        default:
          std::memcpy(&mine[near], &theirs[far], size);
          handle = acp_copy(here, there, size, ACP_HANDLE_CONT);
      }
      EXPECT(handle != ACP_HANDLE_NULL);
      // New bytes at the own end, which nothing reads or writes now.
      if (random() % 32 == 0) {
        EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
        for (std::byte& each : mine) {
          each = static_cast<std::byte>(random());
        }
        std::memcpy(block.data(), mine.data(), kBytes);
      }
    }
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT(std::memcmp(block.data(), mine.data(), kBytes) == 0);
    const Block result(memory, kBytes);
    acp_complete(acp_copy(result.mine(), block.at(right, kBytes), kBytes,
                          ACP_HANDLE_ALL));
    EXPECT(std::memcmp(result.data(), theirs.data(), kBytes) == 0);
    EXPECT_EQ(acp_sync(), 0);
  }
}

// The data are registered memory and the flag is library memory, which may take
// different ways. A rank that sees the flag has to see the data.
SPMD_CASE(cont_data_then_flag,
          "order: a flag put with CONT arrives after its data") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::size_t kBytes = 30'000;
  const Block block(Memory::kRegistered, 2 * kBytes + 128);
  const Block flag(Memory::kLibrary, 128);
  const int right = spmd::right_of(acp_rank());
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  const auto target = block.bytes().subspan(kBytes, kBytes);
  const std::size_t rounds = spmd::scaled(300, 20);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    spmd::fill_pattern(block.bytes().subspan(0, kBytes),
                       round + static_cast<std::uint64_t>(acp_rank()));
    flag.word(8).store(round);
    EXPECT(acp_copy(block.at(right, kBytes), block.mine(), kBytes,
                    ACP_HANDLE_ALL) != ACP_HANDLE_NULL);
    EXPECT(acp_copy(flag.at(right), flag.mine(64), 8, ACP_HANDLE_CONT) !=
           ACP_HANDLE_NULL);
    std::uint64_t seen = 0;
    EXPECT_EQ(acpx_wait_word(flag.mine(), round - 1, spmd::kPatience, &seen),
              0);
    EXPECT_EQ(seen, round);
    EXPECT_EQ(spmd::pattern_mismatch(target,
                                     round + static_cast<std::uint64_t>(left)),
              kBytes);
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(put_then_get,
          "order: a get ordered on a put of mine brings what was put") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 256);
    const int right = spmd::right_of(acp_rank());
    const std::size_t rounds = spmd::scaled(20'000, 100);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      block.word(8).store(round);
      const acp_handle_t put =
          acp_copy(block.at(right), block.mine(64), 8, ACP_HANDLE_NULL);
      const acp_handle_t got =
          acp_copy(block.mine(128), block.at(right), 8, put);
      EXPECT(got != ACP_HANDLE_NULL);
      acp_complete(got);
      EXPECT_EQ(block.word(16).load(), round);
    }
  }
}

// Five handles that are not under way: a completed one, the first, and three
// that were never given. As orders they must not make a copy wait.
SPMD_CASE(old_and_future_handles,
          "order: old handles are satisfied, handles of the future are NULL") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 256);
    const int right = spmd::right_of(acp_rank());
    block.word(8).store(1);
    const acp_handle_t old =
        acp_copy(block.at(right), block.mine(64), 8, ACP_HANDLE_NULL);
    EXPECT_EQ(acpx_complete_timeout(old, spmd::kPatience), 0);
    for (const acp_handle_t order :
         {old, acp_handle_t{1}, old + 1'000'000, ACP_HANDLE_CONT - 1,
          acp_handle_t{1} << 63}) {
      block.word(8).store(order);
      EXPECT_DONE(acp_copy(block.at(right), block.mine(64), 8, order));
      EXPECT_DONE(acp_copy(block.mine(128), block.at(right), 8, order));
      EXPECT_EQ(block.word(16).load(), order);
      acp_complete(order);
      EXPECT_EQ(acp_inquire(order), 0);
      EXPECT_EQ(acpx_complete_timeout(order, 0), 0);
    }
  }
}

SPMD_CASE(acp_complete_special,
          "acp_complete, acp_inquire: NULL, ALL, done and future handles") {
  acp_errno = 0;
  acp_complete(ACP_HANDLE_NULL);
  acp_complete(ACP_HANDLE_ALL);
  acp_complete(acp_handle_t{1} << 40);
  EXPECT_EQ(acp_inquire(ACP_HANDLE_NULL), 0);
  EXPECT_EQ(acp_inquire(ACP_HANDLE_ALL), 0);
  EXPECT_EQ(acp_inquire(acp_handle_t{1} << 40), 0);
  EXPECT_EQ(acp_errno, 0);
}

// The operations are many more than a rank can have queued, so issuing has to
// wait and go on. Each copy has a word of its own.
SPMD_CASE(hundred_thousand_in_flight,
          "acp_copy: 100,000 in flight, none fails, all arrive") {
  for (const Memory memory : kMemories) {
    const std::size_t count = spmd::scaled(100'000, 6'000);
    const Block block(memory, 2 * count * 8);
    const int right = spmd::right_of(acp_rank());
    const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
    const auto value = [](int owner, std::size_t i) {
      return i * 64 + static_cast<std::uint64_t>(owner) + 1;
    };
    for (std::size_t i = 0; i < count; ++i) {
      block.word(i).store(value(acp_rank(), i));
    }
    EXPECT_EQ(acp_sync(), 0);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT(acp_copy(block.at(right, (count + i) * 8), block.mine(i * 8), 8,
                      ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    }
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(block.word(count + i).load(), value(left, i));
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

// The small copy could be there first. Its completion still means the
// completion of the large one.
SPMD_CASE(completion_in_order,
          "acp_complete: a small copy completes after the large one before") {
  const std::size_t large_bytes = spmd::scaled(8 << 20, 1 << 20);
  for (const Memory memory : kMemories) {
    const Block block(memory, 2 * large_bytes + 128);
    const int right = spmd::right_of(acp_rank());
    for (std::uint64_t round = 0; round < 3; ++round) {
      const std::uint64_t salt =
          round * 100 + static_cast<std::uint64_t>(acp_rank());
      spmd::fill_pattern(block.bytes().subspan(0, large_bytes), salt);
      const acp_handle_t large =
          acp_copy(block.at(right, large_bytes), block.mine(), large_bytes,
                   ACP_HANDLE_NULL);
      EXPECT(large != ACP_HANDLE_NULL);
      const acp_handle_t small =
          acp_copy(block.at(right, 2 * large_bytes),
                   block.mine(2 * large_bytes + 64), 8, ACP_HANDLE_NULL);
      EXPECT(small != ACP_HANDLE_NULL);
      acp_complete(small);
      EXPECT_EQ(acp_inquire(large), 0);
      EXPECT_EQ(acp_sync(), 0);
      const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
      EXPECT_EQ(spmd::pattern_mismatch(
                    block.bytes().subspan(large_bytes, large_bytes),
                    round * 100 + static_cast<std::uint64_t>(left)),
                large_bytes);
      EXPECT_EQ(acp_sync(), 0);
    }
  }
}

SPMD_CASE(acp_inquire_in_order,
          "acp_inquire: 0 for a handle means 0 for all before, and comes") {
  for (const Memory memory : kMemories) {
    constexpr std::size_t kCount = 64;
    constexpr std::size_t kBytes = 20'000;
    const Block block(memory, 2 * kCount * kBytes);
    const int right = spmd::right_of(acp_rank());
    std::vector<acp_handle_t> handles;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t size = i % 2 == 0 ? kBytes : 8;
      handles.push_back(acp_copy(block.at(right, (kCount + i) * kBytes),
                                 block.mine(i * kBytes), size,
                                 ACP_HANDLE_NULL));
      EXPECT(handles.back() != ACP_HANDLE_NULL);
      EXPECT(handles.size() < 2 || handles.back() >= handles.end()[-2]);
    }
    // Inquires from the newest to the oldest handle: after the first 0 all
    // older ones return 0. The watchdog ends a loop in which nothing completes.
    bool all_done = false;
    while (!all_done) {
      bool seen_done = false;
      all_done = true;
      for (auto it = handles.rbegin(); it != handles.rend(); ++it) {
        const int state = acp_inquire(*it);
        EXPECT(state == 0 || state == 1);
        EXPECT(!seen_done || state == 0);
        seen_done = seen_done || state == 0;
        all_done = all_done && state == 0;
      }
    }
    EXPECT_EQ(acp_inquire(ACP_HANDLE_ALL), 0);
  }
}

// Each copy is ordered on the one before, so the data pass every rank in turn,
// although this rank issues all copies.
SPMD_CASE(relay_between_others,
          "order: data goes round all ranks by copies of one rank") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::size_t kBytes = 50'000;
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    const Block block(memory, kBytes * (procs + 1));
    const auto rank = static_cast<std::size_t>(acp_rank());
    const auto at = [&](std::size_t hop) {
      return block.at(place(hop), rank * kBytes);
    };
    spmd::fill_pattern(block.bytes().subspan(rank * kBytes, kBytes), rank + 5);
    acp_handle_t handle = ACP_HANDLE_NULL;
    for (std::size_t hop = 0; hop + 1 < procs; ++hop) {
      handle = acp_copy(at(hop + 1), at(hop), kBytes, handle);
      EXPECT(handle != ACP_HANDLE_NULL);
    }
    handle =
        acp_copy(block.mine(procs * kBytes), at(procs - 1), kBytes, handle);
    EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
    EXPECT_EQ(spmd::pattern_mismatch(
                  block.bytes().subspan(procs * kBytes, kBytes), rank + 5),
              kBytes);
  }
}
