// Tests of sections 4.11.3 to 4.11.14: the word that each atomic stores, and
// the old one that it returns.
#include <algorithm>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;

namespace {

// A block has 64 words for each issuing rank; the last of them takes results.
constexpr std::size_t kWordsOfRank = 16;

/// Calls one atomic by number, so that every kind runs through the same checks.
struct Kind {
  const char* name;
  std::size_t width;
  acp_handle_t (*issue)(acp_ga_t dst,
                        acp_ga_t src,
                        std::uint64_t value,
                        std::uint64_t expected,
                        acp_handle_t order);
  /// The word's new value.
  std::uint64_t (*apply)(std::uint64_t old,
                         std::uint64_t value,
                         std::uint64_t expected);
};

using U4 = std::uint32_t;
using U8 = std::uint64_t;

#define SIMPLE_KIND(name, expression)                                  \
  Kind{"acp_" #name "4", 4,                                            \
       [](acp_ga_t dst, acp_ga_t src, U8 v, U8, acp_handle_t order) {  \
         return acp_##name##4(dst, src, static_cast<U4>(v), order);    \
       },                                                              \
       [](U8 old, U8 v, U8) -> U8 {                                    \
         static_cast<void>(old);                                       \
         return (expression);                                          \
       }},                                                             \
      Kind {                                                           \
    "acp_" #name "8", 8,                                               \
        [](acp_ga_t dst, acp_ga_t src, U8 v, U8, acp_handle_t order) { \
          return acp_##name##8(dst, src, v, order);                    \
        },                                                             \
        [](U8 old, U8 v, U8) -> U8 {                                   \
          static_cast<void>(old);                                      \
          return (expression);                                         \
        }                                                              \
  }

const Kind kKinds[] = {
    SIMPLE_KIND(add, old + v),
    SIMPLE_KIND(and, old& v),
    SIMPLE_KIND(or, old | v),
    SIMPLE_KIND(xor, old ^ v),
    SIMPLE_KIND(swap, v),
    Kind{"acp_cas4", 4,
         [](acp_ga_t dst, acp_ga_t src, U8 v, U8 e, acp_handle_t order) {
           return acp_cas4(dst, src, static_cast<U4>(e), static_cast<U4>(v),
                           order);
         },
         [](U8 old, U8 v, U8 e) -> U8 {
           return static_cast<U4>(old) == static_cast<U4>(e) ? v : old;
         }},
    Kind{"acp_cas8", 8,
         [](acp_ga_t dst, acp_ga_t src, U8 v, U8 e, acp_handle_t order) {
           return acp_cas8(dst, src, e, v, order);
         },
         [](U8 old, U8 v, U8 e) -> U8 {
           return old == e ? v : old;
         }},
};

std::uint64_t low(const Kind& kind, std::uint64_t value) {
  return kind.width == 4 ? static_cast<U4>(value) : value;
}

/// Reads `width` bytes at `offset` of this rank's block.
std::uint64_t load(const Block& block, std::size_t offset, std::size_t width) {
  return width == 4 ? block.half(offset / 4).load()
                    : block.word(offset / 8).load();
}

/// Calls random atomics of one kind on `target` and compares with a model of
/// the words. Neighbours of the word must stay.
void check_kind(const Kind& kind, const Block& block, int target) {
  const std::size_t mine =
      static_cast<std::size_t>(acp_rank()) * kWordsOfRank * 8;
  const std::size_t result = block.size() - 64;
  std::mt19937_64 random = spmd::random_of_rank(kind.width);
  // Word 1 of this rank's part on the target. Words 0 and 2 are guards.
  const std::size_t at = mine + 8 + (kind.width == 4 ? 4 * (random() % 2) : 0);
  const std::uint64_t guard = random();
  std::uint64_t model = low(kind, random());
  const auto put = [&](std::size_t offset, std::uint64_t value) {
    block.word(result / 8 + 1).store(value);
    EXPECT_DONE(acp_copy(block.at(target, offset), block.mine(result + 8), 8,
                         ACP_HANDLE_ALL));
  };
  const auto get = [&](std::size_t offset) {
    EXPECT_DONE(acp_copy(block.mine(result + 16), block.at(target, offset), 8,
                         ACP_HANDLE_ALL));
    return block.word(result / 8 + 2).load();
  };
  put(mine, guard);
  put(mine + 8, kind.width == 8 ? model : (model << 32 | model));
  put(mine + 16, guard);
  const std::uint64_t other_half = model;
  for (int i = 0; i < 24; ++i) {
    const std::uint64_t value = i % 5 == 0   ? ~std::uint64_t{0}
                                : i % 5 == 3 ? random() % 3
                                             : random();
    const std::uint64_t expected = i % 2 == 0 ? model : random();
    block.word(result / 8).store(~std::uint64_t{0});
    EXPECT_DONE(kind.issue(block.mine(result), block.at(target, at), value,
                           expected, ACP_HANDLE_NULL));
    EXPECT_EQ(load(block, result, kind.width), model);
    model = low(kind, kind.apply(model, value, expected));
  }
  const std::uint64_t word = get(mine + 8);
  if (kind.width == 8) {
    EXPECT_EQ(word, model);
  } else {
    const bool is_high = at % 8 != 0;
    EXPECT_EQ(is_high ? word >> 32 : word & UINT32_MAX, model);
    EXPECT_EQ(is_high ? word & UINT32_MAX : word >> 32, other_half);
    EXPECT_EQ(block.half(result / 4 + 1).load(), UINT32_MAX);
  }
  EXPECT_EQ(get(mine), guard);
  EXPECT_EQ(get(mine + 16), guard);
}

void check_all_kinds(Memory memory) {
  const Block block(
      memory, static_cast<std::size_t>(acp_procs()) * kWordsOfRank * 8 + 64);
  for (const Kind& kind : kKinds) {
    for (int target = 0; target < acp_procs(); ++target) {
      check_kind(kind, block, target);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

}  // namespace

SPMD_CASE(atomics_on_library_memory,
          "atomics: every kind stores its result and returns the old value") {
  check_all_kinds(Memory::kLibrary);
}

SPMD_CASE(atomics_on_registered_memory, "atomics: the same on heap memory") {
  check_all_kinds(Memory::kRegistered);
}

SPMD_CASE(atomics_in_a_chain_of_orders,
          "atomics: each ordered on the one before sees its result") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 8192);
    const int right = spmd::right_of(acp_rank());
    const std::size_t words = std::min<std::size_t>(
        spmd::scaled(20'000, 100), 1000);  // the block has room for 1,016
    acp_handle_t order = ACP_HANDLE_NULL;
    for (std::size_t i = 0; i < words; ++i) {
      order = acp_add8(block.mine(64 + 8 * i), block.at(right), 3,
                       i % 3 == 0 ? ACP_HANDLE_ALL : order);
      EXPECT(order != ACP_HANDLE_NULL);
    }
    EXPECT_EQ(acpx_complete_timeout(order, spmd::kPatience), 0);
    for (std::size_t i = 0; i < words; ++i) {
      EXPECT_EQ(block.word(8 + i).load(), 3 * i);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(atomics_bad_dst, "atomics: dst must be on the caller's rank") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  const int right = spmd::right_of(acp_rank());
  for (const Kind& kind : kKinds) {
    EXPECT_FAILS(
        kind.issue(block.at(right), block.mine(), 1, 0, ACP_HANDLE_NULL),
        ACP_HANDLE_NULL, ACPX_BAD_RANK);
    EXPECT_FAILS(
        kind.issue(block.at(right), block.at(right, 8), 1, 0, ACP_HANDLE_NULL),
        ACP_HANDLE_NULL, ACPX_BAD_RANK);
  }
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(block.word(0).load(), 0U);
}

SPMD_CASE(atomics_in_place, "atomics: dst is another word than src") {
  for (const Memory memory : {Memory::kLibrary, Memory::kRegistered}) {
    const Block block(memory, 64);
    for (const Kind& kind : kKinds) {
      EXPECT_FAILS(
          kind.issue(block.mine(), block.mine(), 1, 0, ACP_HANDLE_NULL),
          ACP_HANDLE_NULL, ACPX_INVALID_ARGUMENT);
    }
    EXPECT_EQ(block.word(0).load(), 0U);
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(atomics_misaligned, "atomics: dst and src must be aligned") {
  const Block block(Memory::kRegistered, 256);
  const int right = spmd::right_of(acp_rank());
  for (const Kind& kind : kKinds) {
    for (const std::size_t skew : {1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
      if (skew % kind.width == 0) continue;
      EXPECT_FAILS(kind.issue(block.mine(64 + skew), block.at(right), 1, 0,
                              ACP_HANDLE_NULL),
                   ACP_HANDLE_NULL, ACPX_MISALIGNED);
      EXPECT_FAILS(kind.issue(block.mine(64), block.at(right, skew), 1, 0,
                              ACP_HANDLE_NULL),
                   ACP_HANDLE_NULL, ACPX_MISALIGNED);
    }
  }
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(block.word(0).load(), 0U);
}

// Each kind of atomic gets a bad result address and a bad word. The word that
// all could have changed is 0 in the end.
SPMD_CASE(atomics_bad_addresses,
          "atomics: no address, no rank, outside its region: rejected") {
  const Block block(Memory::kRegistered, 256);
  const int right = spmd::right_of(acp_rank());
  for (const Kind& kind : kKinds) {
    EXPECT_REJECTED(
        kind.issue(ACP_GA_NULL, block.at(right), 1, 0, ACP_HANDLE_NULL),
        ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(
        kind.issue(block.mine(8), ACP_GA_NULL, 1, 0, ACP_HANDLE_NULL),
        ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(
        kind.issue(block.mine(8), acp_ga_t{8}, 1, 0, ACP_HANDLE_NULL),
        ACPX_BAD_RANK);
    EXPECT_REJECTED(
        kind.issue(block.mine(8), block.at(right, 256), 1, 0, ACP_HANDLE_NULL),
        ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(
        kind.issue(block.mine(256), block.at(right), 1, 0, ACP_HANDLE_NULL),
        ACPX_BAD_ADDRESS);
  }
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(block.word(0).load(), 0U);
}
