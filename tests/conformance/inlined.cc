// Tests of acp/inline.h: each operation without a call has the results of the
// function, for all addresses, sizes and orders.
#define ACP_INLINE

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::Memory;

namespace {

/// Operations are made in the caller at all.
bool is_inlined() {
  return acpx_inline_1 != nullptr;
}

int next_rank() {
  return (acp_rank() + 1) % acp_procs();
}

/// The outcome of a call: whether it has a handle, and acp_errno.
struct Result {
  bool has_handle;
  int code;

  bool operator==(const Result&) const = default;
};

template <typename Call>
Result result_of(const Call& call) {
  acp_errno = 0;
  const bool has_handle = call() != ACP_HANDLE_NULL;
  return {has_handle, acp_errno};
}

/// Puts `size` bytes from an odd place to an odd place of the next rank, and
/// gets them back to another.
template <std::size_t size>
void copy_there_and_back() {
  constexpr std::size_t kRoom = 1024;
  const Block block(Memory::kLibrary, 3 * kRoom);
  std::mt19937_64 random = spmd::random_of_rank(size);
  for (std::size_t i = 0; i < spmd::scaled_flights(500); ++i) {
    const std::size_t from = random() % (kRoom - size);
    const std::size_t to = kRoom + random() % (kRoom - size);
    const std::size_t back = 2 * kRoom + random() % (kRoom - size);
    spmd::fill_pattern(block.bytes().subspan(from, size), random());
    const acp_ga_t there = block.at(next_rank(), to);
    acp_complete(acp_copy(there, block.mine(from), size, ACP_HANDLE_NULL));
    acp_complete(acp_copy(block.mine(back), there, size, ACP_HANDLE_ALL));
    EXPECT(std::memcmp(block.data() + from, block.data() + back, size) == 0);
  }
}

template <std::size_t... sizes>
void copy_sizes(std::index_sequence<sizes...> /*all*/) {
  (copy_there_and_back<sizes + 1>(), ...);
}

/// A place in or near the memory of some rank: inside, at both edges, in no
/// memory, in registered memory, of no rank, or any number.
acp_ga_t some_address(std::mt19937_64& random,
                      const Block& library,
                      const Block& registered) {
  const int rank = static_cast<int>(random() % acp_procs());
  std::uint64_t starter = 0;
  EXPECT_EQ(acpx_setting("ACP_STARTER_MEMORY", &starter), 0);
  const std::uint64_t small = random() % 48 - 24;
  switch (random() % 8) {
    case 0: return acp_query_starter_ga(rank) + small;
    case 1: return acp_query_starter_ga(rank) + starter + small;
    case 2: return registered.at(rank, random() % registered.size());
    case 3: return random();
    case 4: return ACP_GA_NULL;
    default: return library.at(rank, random() % (library.size() - 16));
  }
}

/// Both return a handle, or both fail with one code.
template <typename Inlined, typename Called>
void expect_equal(const Inlined& inlined, const Called& called) {
  const Result expected = result_of(called);
  const Result found = result_of(inlined);
  EXPECT_EQ(found.has_handle, expected.has_handle);
  EXPECT_EQ(found.code, expected.code);
}

/// Waits for a word in a call that sleeps.
void wait_for(acp_ga_t word, std::uint64_t least) {
  std::uint64_t seen =
      std::atomic_ref(*static_cast<std::uint64_t*>(acp_query_address(word)))
          .load();
  while (seen < least) {
    EXPECT_EQ(acpx_wait_word(word, seen, spmd::kPatience, &seen), 0);
  }
}

}  // namespace

SPMD_CASE(inlined_where_mapped,
          "acp/inline.h: operations are made in the caller where the memory of "
          "another rank is mapped, and processors may change it") {
  bool maps_another = acp_procs() == 1;
  for (int rank = 0; rank < acp_procs(); ++rank) {
    maps_another =
        maps_another || (rank != acp_rank() &&
                         acpx_pointer(acp_query_starter_ga(rank)) != nullptr);
  }
  const bool has_atomics = acpx_atomics_agree(acp_rank()) == 1;
  if (maps_another) {
    EXPECT_EQ(is_inlined(), has_atomics);
  }
}

SPMD_CASE(inlined_sizes, "acp/inline.h: copies of 1 to 256 bytes") {
  copy_sizes(std::make_index_sequence<64>());
  copy_there_and_back<100>();
  copy_there_and_back<255>();
  copy_there_and_back<256>();
  copy_there_and_back<257>();
}

SPMD_CASE(inlined_addresses,
          "acp/inline.h: any address gives the result of the call") {
  const Block library(Memory::kLibrary, 4096);
  const Block registered(Memory::kRegistered, 4096);
  std::mt19937_64 random = spmd::random_of_rank();
  for (std::size_t i = 0; i < spmd::scaled_flights(20'000); ++i) {
    const acp_ga_t dst = some_address(random, library, registered);
    const acp_ga_t src = some_address(random, library, registered);
    const acp_ga_t word = some_address(random, library, registered);
    const acp_handle_t order =
        random() % 4 == 0 ? ACP_HANDLE_ALL : ACP_HANDLE_NULL;
    switch (random() % 6) {
      case 0:
        expect_equal([&] { return acp_copy(dst, src, 8, order); },
                     [&] { return (acp_copy)(dst, src, 8, order); });
        break;
      case 1:
        expect_equal([&] { return acp_copy(dst, src, 13, order); },
                     [&] { return (acp_copy)(dst, src, 13, order); });
        break;
      case 2:
        expect_equal([&] { return acp_add8(dst, src, 3, order); },
                     [&] { return (acp_add8)(dst, src, 3, order); });
        break;
      case 3:
        expect_equal([&] { return acp_swap4(dst, src, 3, order); },
                     [&] { return (acp_swap4)(dst, src, 3, order); });
        break;
      case 4:
        expect_equal(
            [&] { return acpx_put_signal(dst, src, 24, word, 1, order); },
            [&] { return (acpx_put_signal)(dst, src, 24, word, 1, order); });
        break;
      default:
        expect_equal(
            [&] { return acpx_put_signal(dst, src, 8, word, 1, order); },
            [&] { return (acpx_put_signal)(dst, src, 8, word, 1, order); });
        break;
    }
    // A call that fails late says so here, for both.
    acp_complete(ACP_HANDLE_ALL);
    acp_errno = 0;
  }
}

SPMD_CASE(inlined_atomics,
          "acp/inline.h: each atomic changes the word, and gives the old one") {
  const Block block(Memory::kLibrary, 64);
  const acp_ga_t result = block.mine();
  const acp_ga_t word = block.at(next_rank(), 8);
  std::uint64_t model = 0;
  std::mt19937_64 random = spmd::random_of_rank();
  const auto set = [&](std::uint64_t value) {
    acp_complete(acp_swap8(result, word, value, ACP_HANDLE_NULL));
    model = value;
  };
  const auto expect_8 = [&](acp_handle_t handle, std::uint64_t next) {
    acp_complete(handle);
    EXPECT_EQ(block.word(0).load(), model);
    model = next;
  };
  const auto expect_4 = [&](acp_handle_t handle, std::uint32_t next) {
    acp_complete(handle);
    EXPECT_EQ(block.half(0).load(), static_cast<std::uint32_t>(model));
    model = (model & ~std::uint64_t{UINT32_MAX}) | next;
  };
  acp_sync();
  for (std::size_t i = 0; i < spmd::scaled_flights(2000); ++i) {
    const std::uint64_t v = random();
    const auto half = static_cast<std::uint32_t>(v);
    set(random());
    expect_8(acp_add8(result, word, v, ACP_HANDLE_NULL), model + v);
    expect_8(acp_and8(result, word, v, ACP_HANDLE_NULL), model & v);
    expect_8(acp_or8(result, word, v >> 7, ACP_HANDLE_NULL), model | v >> 7);
    expect_8(acp_xor8(result, word, v, ACP_HANDLE_NULL), model ^ v);
    expect_8(acp_swap8(result, word, v, ACP_HANDLE_NULL), v);
    expect_8(acp_cas8(result, word, v, ~v, ACP_HANDLE_NULL), ~v);
    expect_8(acp_cas8(result, word, v, 5, ACP_HANDLE_NULL), ~v);
    set(random());
    auto low = [&] {
      return static_cast<std::uint32_t>(model);
    };
    expect_4(acp_add4(result, word, half, ACP_HANDLE_NULL), low() + half);
    expect_4(acp_and4(result, word, half, ACP_HANDLE_NULL), low() & half);
    expect_4(acp_or4(result, word, half >> 7, ACP_HANDLE_NULL),
             low() | half >> 7);
    expect_4(acp_xor4(result, word, half, ACP_HANDLE_NULL), low() ^ half);
    expect_4(acp_swap4(result, word, half, ACP_HANDLE_NULL), half);
    expect_4(acp_cas4(result, word, half, ~half, ACP_HANDLE_NULL), ~half);
    expect_4(acp_cas4(result, word, half, 5, ACP_HANDLE_NULL), ~half);
  }
}

SPMD_CASE(inlined_and_called,
          "acp/inline.h: atomics of all ranks on one word, with calls between "
          "them, lose nothing") {
  const Block block(Memory::kLibrary, 64);
  const std::size_t times = spmd::scaled_flights(100'000);
  for (std::size_t i = 0; i < times; ++i) {
    acp_add8(block.mine(8), block.at(0), 1, ACP_HANDLE_NULL);
    if (i % 64 == 0) {
      (acp_add8)(block.mine(8), block.at(0), 1, ACP_HANDLE_NULL);
    }
  }
  acp_complete(ACP_HANDLE_ALL);
  acp_sync();
  if (acp_rank() == 0) {
    EXPECT_EQ(
        block.word(0).load(),
        (times + (times + 63) / 64) * static_cast<std::uint64_t>(acp_procs()));
  }
  acp_sync();
}

SPMD_CASE(inlined_signals,
          "acp/inline.h: a signal wakes its rank, and its data are there") {
  const Block block(Memory::kLibrary, 4 * 64);
  const int procs = acp_procs();
  const std::size_t rounds = spmd::scaled_flights(20'000);
  // A token goes round: each rank waits asleep, checks, and passes it on.
  for (std::size_t round = 1; round <= rounds; ++round) {
    const bool is_first = acp_rank() == 0;
    const auto pass = [&] {
      for (std::size_t i = 0; i < 8; ++i) {
        block.word(8 + i).store(round * 8 + i);
      }
      EXPECT(acpx_put_signal(block.at(next_rank(), 128), block.mine(64), 64,
                             block.at(next_rank()), 1,
                             ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    };
    if (is_first) {
      pass();
    }
    wait_for(block.mine(), round);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(block.word(16 + i).load(), round * 8 + i);
    }
    if (!is_first && procs > 1) {
      pass();
    }
  }
}

SPMD_CASE(inlined_order,
          "acp/inline.h: an operation behind one under way comes after it") {
  const Block block(Memory::kRegistered, std::size_t{1} << 20);
  const Block words(Memory::kLibrary, 64);
  const std::size_t rounds = spmd::scaled_flights(500);
  for (std::size_t round = 1; round <= rounds; ++round) {
    words.word(1).store(round);
    // Over cma this is done in the call; over a network it is under way.
    const acp_handle_t large = acp_copy(block.at(next_rank()), block.mine(),
                                        block.size() / 2, ACP_HANDLE_NULL);
    const acp_handle_t small =
        acp_copy(words.mine(16), words.mine(8), 8, large);
    words.word(3).store(round);
    acp_complete(acp_copy(words.mine(32), words.mine(24), 8, ACP_HANDLE_CONT));
    acp_complete(small);
    EXPECT_EQ(words.word(2).load(), round);
    EXPECT_EQ(words.word(4).load(), round);
    acp_complete(ACP_HANDLE_ALL);
  }
}
