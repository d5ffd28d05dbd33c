// Cases in which all ranks, the owner among them, change one word at once by
// atomics. The result has to be exact, and no old value may come out twice.
#include <algorithm>
#include <numeric>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;

namespace {

constexpr std::size_t kWindow = 64;
/// With four ranks all cases together then have more than 10,000,000 atomics.
constexpr std::size_t kFull = 120'000;
constexpr std::size_t kLeast = 1'000;
/// Fewer rounds, because each blocking operation that a bad network loses costs
/// a time-out.
constexpr std::size_t kBlockingFull = 2'000;

enum class Pace { kWindows, kBlocking };

std::size_t rounds_of(Pace pace) {
  return pace == Pace::kWindows ? spmd::scaled(kFull, kLeast)
                                : spmd::scaled(kBlockingFull, 100);
}

/// All ranks work on word 0 of rank 0. Old values go to words 64 .. 127 of the
/// rank's own block.
class Arena {
 public:
  explicit Arena(Memory memory) : block_(memory, 2 * kWindow * 8) {}

  acp_ga_t word() const { return block_.at(0); }

  /// The start of this rank's own block.
  std::byte* memory() const { return block_.data(); }

  acp_ga_t result(std::size_t entry) const {
    return block_.mine((kWindow + entry) * 8);
  }

  std::uint64_t old8(std::size_t entry) const {
    return block_.word(kWindow + entry).load();
  }

  std::uint32_t old4(std::size_t entry) const {
    return block_.half(2 * (kWindow + entry)).load();
  }

  /// The value of the word when all ranks are done. Collective.
  std::uint64_t final_value() const {
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_DONE(acp_copy(result(0), word(), 8, ACP_HANDLE_ALL));
    const std::uint64_t value = old8(0);
    EXPECT_EQ(acp_sync(), 0);
    return value;
  }

  /// Calls issue(i, entry) for `count` operations, a window at a time. After
  /// each window it calls look(i, entry), which can read the old values.
  template <typename Issue, typename Look>
  void run(Pace pace, std::size_t count, Issue issue, Look look) const {
    const std::size_t width = pace == Pace::kWindows ? kWindow : 1;
    for (std::size_t start = 0; start < count; start += width) {
      const std::size_t end = std::min(count, start + width);
      for (std::size_t i = start; i < end; ++i) {
        EXPECT(issue(i, i - start) != ACP_HANDLE_NULL);
      }
      EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
      for (std::size_t i = start; i < end; ++i) {
        look(i, i - start);
      }
    }
  }

 private:
  Block block_;
};

std::uint64_t sum_over_ranks(std::uint64_t value) {
  const std::vector<std::uint64_t> all = spmd::gather(value);
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

std::uint64_t my_rank() {
  return static_cast<std::uint64_t>(acp_rank());
}

std::uint64_t all_ranks() {
  return static_cast<std::uint64_t>(acp_procs());
}

void nothing_to_see(std::size_t, std::size_t) {}

/// add8: each of 0 .. n - 1 comes out once as an old value, which their sum
/// shows.
void check_add8(Memory memory, Pace pace) {
  const Arena arena(memory);
  const std::size_t count = rounds_of(pace);
  std::uint64_t old_sum = 0;
  arena.run(
      pace, count,
      [&](std::size_t, std::size_t entry) {
        return acp_add8(arena.result(entry), arena.word(), 1, ACP_HANDLE_NULL);
      },
      [&](std::size_t, std::size_t entry) { old_sum += arena.old8(entry); });
  const std::uint64_t total = count * all_ranks();
  EXPECT_EQ(arena.final_value(), total);
  EXPECT_EQ(sum_over_ranks(old_sum), total * (total - 1) / 2);
}

void check_add4(Memory memory, Pace pace) {
  const Arena arena(memory);
  const std::size_t count = rounds_of(pace);
  // Steps of this size make 32 bits wrap around.
  constexpr std::uint32_t kStep = 0x01000193;
  arena.run(
      pace, count,
      [&](std::size_t, std::size_t entry) {
        return acp_add4(arena.result(entry), arena.word() + 4, kStep,
                        ACP_HANDLE_NULL);
      },
      nothing_to_see);
  const auto total = static_cast<std::uint32_t>(count * all_ranks() * kStep);
  EXPECT_EQ(arena.final_value(), std::uint64_t{total} << 32);
}

/// swap: every value put in comes out once, the last one stays.
void check_swap(Memory memory, Pace pace, bool is_wide) {
  const Arena arena(memory);
  const std::size_t count = rounds_of(pace);
  std::uint64_t put_in = 0;
  std::uint64_t came_out = 0;
  arena.run(
      pace, count,
      [&](std::size_t i, std::size_t entry) {
        const std::uint64_t value = 1 + my_rank() * count + i;
        put_in += value;
        return is_wide ? acp_swap8(arena.result(entry), arena.word(), value,
                                   ACP_HANDLE_NULL)
                       : acp_swap4(arena.result(entry), arena.word(),
                                   static_cast<std::uint32_t>(value),
                                   ACP_HANDLE_NULL);
      },
      [&](std::size_t, std::size_t entry) {
        came_out += is_wide ? arena.old8(entry) : arena.old4(entry);
      });
  const std::uint64_t left = arena.final_value();
  EXPECT_EQ(sum_over_ranks(came_out) + left, sum_over_ranks(put_in));
}

/// xor: each rank applies every value twice, so 0 is left.
void check_xor(Memory memory, Pace pace, bool is_wide) {
  const Arena arena(memory);
  const std::size_t count = rounds_of(pace) / 2 * 2;
  arena.run(
      pace, count,
      [&](std::size_t i, std::size_t entry) {
        const std::uint64_t value =
            (my_rank() + 1) * 0x9e3779b97f4a7c15U * (i % (count / 2) + 1);
        return is_wide ? acp_xor8(arena.result(entry), arena.word(), value,
                                  ACP_HANDLE_NULL)
                       : acp_xor4(arena.result(entry), arena.word(),
                                  static_cast<std::uint32_t>(value),
                                  ACP_HANDLE_NULL);
      },
      nothing_to_see);
  EXPECT_EQ(arena.final_value(), 0U);
}

/// Checks or and and: each rank owns some bits of the word. It sets and clears
/// them all, and must find each bit in the old value as it left it.
void check_bits(Memory memory, Pace pace, bool is_wide) {
  const Arena arena(memory);
  const std::uint64_t bits = (is_wide ? 64 : 32) / all_ranks();
  const auto bit_of = [&](std::size_t i) {
    return std::uint64_t{1} << (my_rank() * bits + i);
  };
  const auto expect_in_old = [&](bool is_set) {
    return [&arena, bit_of, is_wide, is_set](std::size_t i, std::size_t entry) {
      const std::uint64_t old = is_wide ? arena.old8(entry) : arena.old4(entry);
      EXPECT_EQ((old & bit_of(i)) != 0, is_set);
    };
  };
  const auto set = [&](std::size_t i, std::size_t entry) {
    return is_wide ? acp_or8(arena.result(entry), arena.word(), bit_of(i),
                             ACP_HANDLE_NULL)
                   : acp_or4(arena.result(entry), arena.word(),
                             static_cast<std::uint32_t>(bit_of(i)),
                             ACP_HANDLE_NULL);
  };
  const auto clear = [&](std::size_t i, std::size_t entry) {
    return is_wide ? acp_and8(arena.result(entry), arena.word(), ~bit_of(i),
                              ACP_HANDLE_NULL)
                   : acp_and4(arena.result(entry), arena.word(),
                              static_cast<std::uint32_t>(~bit_of(i)),
                              ACP_HANDLE_NULL);
  };
  for (std::size_t done = 0; done < rounds_of(pace); done += 2 * bits) {
    arena.run(pace, bits, set, expect_in_old(false));
    arena.run(pace, bits, clear, expect_in_old(true));
  }
  EXPECT_EQ(arena.final_value(), 0U);
}

/// cas: a success adds one; a failure tells the value to try next.
void check_cas(Memory memory, Pace pace, bool is_wide) {
  const Arena arena(memory);
  const std::size_t count = rounds_of(pace);
  std::uint64_t guess = 0;
  std::uint64_t successes = 0;
  arena.run(
      Pace::kBlocking, count / 16,
      [&](std::size_t, std::size_t entry) {
        return is_wide ? acp_cas8(arena.result(entry), arena.word(), guess,
                                  guess + 1, ACP_HANDLE_NULL)
                       : acp_cas4(arena.result(entry), arena.word(),
                                  static_cast<std::uint32_t>(guess),
                                  static_cast<std::uint32_t>(guess + 1),
                                  ACP_HANDLE_NULL);
      },
      [&](std::size_t, std::size_t entry) {
        const std::uint64_t old =
            is_wide ? arena.old8(entry) : arena.old4(entry);
        successes += old == guess ? 1 : 0;
        guess = old == guess ? guess + 1 : old;
      });
  EXPECT_EQ(arena.final_value(), sum_over_ranks(successes));
}

/// cas in windows: 64 guesses at once, each higher by 1 than the guess before.
/// Guesses succeed as long as they arrive in order.
void check_cas_windows(Memory memory, bool is_wide) {
  const Arena arena(memory);
  const std::size_t count = rounds_of(Pace::kWindows);
  std::uint64_t newest = 0;
  std::uint64_t base = 0;
  std::uint64_t successes = 0;
  arena.run(
      Pace::kWindows, count,
      [&](std::size_t, std::size_t entry) {
        if (entry == 0) base = newest;
        const std::uint64_t guess = base + entry;
        return is_wide ? acp_cas8(arena.result(entry), arena.word(), guess,
                                  guess + 1, ACP_HANDLE_NULL)
                       : acp_cas4(arena.result(entry), arena.word(),
                                  static_cast<std::uint32_t>(guess),
                                  static_cast<std::uint32_t>(guess + 1),
                                  ACP_HANDLE_NULL);
      },
      [&](std::size_t, std::size_t entry) {
        const std::uint64_t old =
            is_wide ? arena.old8(entry) : arena.old4(entry);
        successes += old == base + entry ? 1 : 0;
        newest = std::max(newest, old);
      });
  EXPECT_EQ(arena.final_value(), sum_over_ranks(successes));
}

/// One word under an address of each color: the network device that an atomic
/// comes by makes no difference.
void check_colors(Pace pace) {
  const Arena arena(Memory::kRegistered);
  std::vector<acp_ga_t> words{arena.word()};
  std::vector<acp_atkey_t> keys;
  for (int color = 1; color < acp_colors(); ++color) {
    keys.push_back(acp_register_memory(arena.memory(), 8, color));
    words.push_back(
        spmd::broadcast(acp_query_ga(keys.back(), arena.memory()), 0));
    EXPECT_EQ(acp_query_color(words.back()), color);
  }
  const std::size_t count = rounds_of(pace);
  std::uint64_t old_sum = 0;
  arena.run(
      pace, count,
      [&](std::size_t i, std::size_t entry) {
        return acp_add8(arena.result(entry), words[i % words.size()], 1,
                        ACP_HANDLE_NULL);
      },
      [&](std::size_t, std::size_t entry) { old_sum += arena.old8(entry); });
  const std::uint64_t total = count * all_ranks();
  EXPECT_EQ(arena.final_value(), total);
  EXPECT_EQ(sum_over_ranks(old_sum), total * (total - 1) / 2);
  for (const acp_atkey_t key : keys) {
    EXPECT_EQ(acp_unregister_memory(key), 0);
  }
}

template <typename Check>
void everywhere(Check check) {
  for (const Memory memory : kMemories) {
    for (const Pace pace : {Pace::kWindows, Pace::kBlocking}) {
      check(memory, pace);
    }
  }
}

}  // namespace

SPMD_CASE(add8, "acp_add8: 120,000 of each rank on one word, exact") {
  everywhere(check_add8);
}

SPMD_CASE(add4, "acp_add4: 120,000 of each rank on one word, exact") {
  everywhere(check_add4);
}

SPMD_CASE(colors, "acp_add8: on one word by every color, exact") {
  check_colors(Pace::kWindows);
  check_colors(Pace::kBlocking);
}

SPMD_CASE(swap8, "acp_swap8: every value comes out once") {
  everywhere([](Memory memory, Pace pace) { check_swap(memory, pace, true); });
}

SPMD_CASE(swap4, "acp_swap4: every value comes out once") {
  everywhere([](Memory memory, Pace pace) { check_swap(memory, pace, false); });
}

SPMD_CASE(xor8, "acp_xor8: in and out again leaves 0") {
  everywhere([](Memory memory, Pace pace) { check_xor(memory, pace, true); });
}

SPMD_CASE(xor4, "acp_xor4: in and out again leaves 0") {
  everywhere([](Memory memory, Pace pace) { check_xor(memory, pace, false); });
}

SPMD_CASE(or8_and8, "acp_or8, acp_and8: own bits are as they were left") {
  everywhere([](Memory memory, Pace pace) { check_bits(memory, pace, true); });
}

SPMD_CASE(or4_and4, "acp_or4, acp_and4: own bits are as they were left") {
  everywhere([](Memory memory, Pace pace) { check_bits(memory, pace, false); });
}

SPMD_CASE(cas8, "acp_cas8: as many steps as successes") {
  everywhere([](Memory memory, Pace pace) { check_cas(memory, pace, true); });
  for (const Memory memory : kMemories)
    check_cas_windows(memory, true);
}

SPMD_CASE(cas4, "acp_cas4: as many steps as successes") {
  everywhere([](Memory memory, Pace pace) { check_cas(memory, pace, false); });
  for (const Memory memory : kMemories)
    check_cas_windows(memory, false);
}

// Even operations are calls. Odd operations are chains of two adds, so each of
// them counts twice.
SPMD_CASE(chains_and_calls,
          "acpx_post and acp_add8 on one word are atomic with each other") {
  for (const Memory memory : kMemories) {
    const Arena arena(memory);
    const std::size_t count = rounds_of(Pace::kWindows) / 4;
    arena.run(
        Pace::kWindows, count,
        [&](std::size_t i, std::size_t entry) {
          if (i % 2 == 0) {
            return acp_add8(arena.result(entry), arena.word(), 1,
                            ACP_HANDLE_NULL);
          }
          acpx_op_t ops[2] = {};
          for (acpx_op_t& op : ops) {
            op.opcode = ACPX_ADD8;
            op.remote = arena.word();
            op.operand = 1;
          }
          ops[1].flags = ACPX_SIGNAL;
          return acpx_post(ops, 2, ACP_HANDLE_NULL);
        },
        nothing_to_see);
    const std::size_t even = (count + 1) / 2;
    EXPECT_EQ(arena.final_value(), (even + (count - even) * 2) * all_ranks());
  }
}
