// Tests of section 4.11.2: acp_copy between all ranks, with all sizes and
// alignments.
#include <algorithm>
#include <cstring>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;

namespace {

constexpr std::size_t kSizes[] = {
    1,    2,    3,    7,    8,    9,    63,     64,     65,     255,    1000,
    1472, 4095, 4096, 4097, 8192, 9000, 65'535, 65'536, 65'543, 300'001};
constexpr std::size_t kGuard = 64;
constexpr std::size_t kBlockBytes = 600'000;
constexpr std::byte kGuardByte{0xa5};

/// Copies `size` bytes from `source` on rank `from` to `target` on rank `to`,
/// issued by rank `by`. The bytes around the target must stay. Collective.
struct Transfer {
  int from;
  int to;
  int by;
  std::size_t from_offset;
  std::size_t to_offset;
  std::size_t size;
};

/// The source and the guards are written before one barrier, and the copy is
/// complete before the next. So no rank writes while another copies or looks.
void check_transfer(const Block& source, const Block& target, Transfer t) {
  const std::uint64_t salt = t.size + t.from_offset * 3 + t.to_offset;
  if (acp_rank() == t.from) {
    spmd::fill_pattern(source.bytes().subspan(t.from_offset, t.size), salt);
  }
  const std::size_t before = t.to_offset - kGuard;
  if (acp_rank() == t.to) {
    std::memset(target.data() + before, static_cast<int>(kGuardByte),
                t.size + 2 * kGuard);
  }
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == t.by) {
    EXPECT_DONE(acp_copy(target.at(t.to, t.to_offset),
                         source.at(t.from, t.from_offset), t.size,
                         ACP_HANDLE_NULL));
  }
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == t.to) {
    const auto bytes = target.bytes();
    EXPECT_EQ(spmd::pattern_mismatch(bytes.subspan(t.to_offset, t.size), salt),
              t.size);
    for (std::size_t i = 0; i < kGuard; ++i) {
      EXPECT(bytes[before + i] == kGuardByte);
      EXPECT(bytes[t.to_offset + t.size + i] == kGuardByte);
    }
  }
}

/// Copies every size once, between changing ranks, at changing offsets.
void check_sizes(Memory source_memory, Memory target_memory) {
  const Block source(source_memory, kBlockBytes);
  const Block target(target_memory, kBlockBytes);
  std::mt19937_64 random = spmd::random_of_job(
      static_cast<std::uint64_t>(source_memory == Memory::kLibrary) * 2 +
      static_cast<std::uint64_t>(target_memory == Memory::kLibrary));
  const auto pick_rank = [&] {
    return static_cast<int>(random() % static_cast<std::uint64_t>(acp_procs()));
  };
  for (const std::size_t size : kSizes) {
    for (int time = 0; time < 4; ++time) {
      const Transfer transfer{.from = pick_rank(),
                              .to = pick_rank(),
                              .by = pick_rank(),
                              .from_offset = random() % 200,
                              .to_offset = kGuard + random() % 200,
                              .size = size};
      check_transfer(source, target, transfer);
    }
  }
}

/// memmove within one block, issued by `by`. Collective.
void check_overlap(const Block& block,
                   int on,
                   int by,
                   std::size_t from,
                   std::size_t to,
                   std::size_t size) {
  std::vector<std::byte> expected;
  if (acp_rank() == on) {
    spmd::fill_pattern(block.bytes(), from * 7 + to);
    expected.assign(block.bytes().begin(), block.bytes().end());
    std::memmove(expected.data() + to, expected.data() + from, size);
  }
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == by) {
    EXPECT_DONE(
        acp_copy(block.at(on, to), block.at(on, from), size, ACP_HANDLE_NULL));
  }
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == on) {
    EXPECT(std::equal(expected.begin(), expected.end(), block.data()));
  }
}

}  // namespace

SPMD_CASE(acp_copy_library_library, "acp_copy: library to library memory") {
  check_sizes(Memory::kLibrary, Memory::kLibrary);
}

SPMD_CASE(acp_copy_library_registered, "acp_copy: library to registered") {
  check_sizes(Memory::kLibrary, Memory::kRegistered);
}

SPMD_CASE(acp_copy_registered_library, "acp_copy: registered to library") {
  check_sizes(Memory::kRegistered, Memory::kLibrary);
}

SPMD_CASE(acp_copy_registered_registered,
          "acp_copy: registered to registered memory") {
  check_sizes(Memory::kRegistered, Memory::kRegistered);
}

SPMD_CASE(acp_copy_all_pairs,
          "acp_copy: every pair of ranks, issued by every rank at once") {
  for (const Memory memory : kMemories) {
    const auto procs = static_cast<std::size_t>(acp_procs());
    constexpr std::size_t kBytes = 200;
    // Each rank's block has a source, then a part for each (from, by).
    const Block block(memory, kBytes * (1 + procs * procs));
    const auto rank = static_cast<std::size_t>(acp_rank());
    spmd::fill_pattern(block.bytes().subspan(0, kBytes), rank);
    EXPECT_EQ(acp_sync(), 0);
    for (std::size_t from = 0; from < procs; ++from) {
      for (std::size_t to = 0; to < procs; ++to) {
        const std::size_t part = 1 + from * procs + rank;
        EXPECT(acp_copy(block.at(static_cast<int>(to), part * kBytes),
                        block.at(static_cast<int>(from)), kBytes,
                        ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
      }
    }
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    for (std::size_t part = 0; part < procs * procs; ++part) {
      EXPECT_EQ(
          spmd::pattern_mismatch(
              block.bytes().subspan((1 + part) * kBytes, kBytes), part / procs),
          kBytes);
    }
  }
}

// Each rank gets from its right neighbour, and then copies from it to the next
// one. After the last barrier it has the bytes of its left neighbour, which
// another rank has copied.
SPMD_CASE(acp_copy_large, "acp_copy: 100 MiB put, got and between others") {
  for (const Memory memory : kMemories) {
    const std::size_t full = memory == Memory::kLibrary ? 16 << 20 : 100 << 20;
    const std::size_t bytes = spmd::scaled(full, 2 << 20);
    const Block block(memory, 2 * bytes);
    const int rank = acp_rank();
    const int right = spmd::right_of(rank);
    const int next = spmd::right_of(right);
    const auto salt = [](int owner) {
      return static_cast<std::uint64_t>(owner) + 40;
    };
    spmd::fill_pattern(block.bytes().subspan(0, bytes), salt(rank));
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_DONE(
        acp_copy(block.mine(bytes), block.at(right), bytes, ACP_HANDLE_NULL));
    EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(bytes), salt(right)),
              bytes);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_DONE(acp_copy(block.at(next, bytes), block.at(right), bytes,
                         ACP_HANDLE_NULL));
    EXPECT_EQ(acp_sync(), 0);
    const int left = (rank + acp_procs() - 1) % acp_procs();
    EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(bytes), salt(left)),
              bytes);
  }
}

SPMD_CASE(acp_copy_overlapping,
          "acp_copy: overlapping ranges on one rank copy like memmove") {
  for (const Memory memory : kMemories) {
    constexpr std::size_t kBytes = 400'000;
    const Block block(memory, kBytes);
    const int on = acp_procs() - 1;
    for (const int by : {on, 0}) {
      check_overlap(block, on, by, 0, 1, 1000);
      check_overlap(block, on, by, 1, 0, 1000);
      check_overlap(block, on, by, 100, 100, 5000);
      check_overlap(block, on, by, 0, 4096, 300'000);
      check_overlap(block, on, by, 4096, 0, 300'000);
      check_overlap(block, on, by, 17, 99'999, 300'000);
      check_overlap(block, on, by, 99'999, 17, 300'000);
    }
  }
}

SPMD_CASE(acp_copy_nothing,
          "acp_copy: size 0 succeeds, does nothing, looks at no address") {
  const Block block(Memory::kRegistered, 64);
  const int right = spmd::right_of(acp_rank());
  EXPECT_DONE(acp_copy(block.at(right), block.mine(), 0, ACP_HANDLE_NULL));
  EXPECT_DONE(acp_copy(ACP_GA_NULL, ACP_GA_NULL, 0, ACP_HANDLE_ALL));
  EXPECT_DONE(acp_copy(block.at(right, 64), block.mine(), 0, ACP_HANDLE_CONT));
}

SPMD_CASE(acp_copy_any_memory,
          "acp_copy: stack and static memory, read-only for the call") {
  static std::uint64_t fixed[64];
  std::uint64_t stack[64];
  for (std::size_t i = 0; i < 64; ++i) {
    stack[i] = i * 1000 + static_cast<std::uint64_t>(acp_rank());
    fixed[i] = 0;
  }
  const acp_atkey_t stack_key = acp_register_memory(stack, sizeof stack, 0);
  const acp_atkey_t fixed_key = acp_register_memory(fixed, sizeof fixed, 0);
  const auto targets = spmd::gather(acp_query_ga(fixed_key, fixed));
  const auto right = static_cast<std::size_t>(spmd::right_of(acp_rank()));
  EXPECT_DONE(acp_copy(targets[right], acp_query_ga(stack_key, stack),
                       sizeof stack, ACP_HANDLE_NULL));
  EXPECT_EQ(acp_sync(), 0);
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(fixed[i], i * 1000 + static_cast<std::uint64_t>(left));
  }
  EXPECT_EQ(acp_unregister_memory(stack_key), 0);
  EXPECT_EQ(acp_unregister_memory(fixed_key), 0);
}

SPMD_CASE(acp_copy_against_a_model,
          "acp_copy: random copies with order ALL match a sequential model") {
  // Each rank owns a stripe of every rank's block and keeps a model of it.
  const auto procs = static_cast<std::size_t>(acp_procs());
  const auto rank = static_cast<std::size_t>(acp_rank());
  constexpr std::size_t kStripe = 20'000;
  for (const Memory memory : kMemories) {
    const Block block(memory, kStripe * procs);
    const Block result(Memory::kLibrary, kStripe);
    std::vector<std::vector<std::byte>> model(procs,
                                              std::vector<std::byte>(kStripe));
    std::mt19937_64 random =
        spmd::random_of_rank(static_cast<std::uint64_t>(memory));
    spmd::fill_pattern(block.bytes().subspan(rank * kStripe, kStripe), rank);
    spmd::fill_pattern(model[rank], rank);
    const std::size_t count = spmd::scaled(4'000, 200);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t from = random() % procs;
      const std::size_t to = random() % procs;
      const std::size_t limit = i % 4 == 0 ? kStripe : 40;
      const std::size_t size = 1 + random() % limit;
      const std::size_t from_at = random() % (kStripe - size + 1);
      const std::size_t to_at = random() % (kStripe - size + 1);
      EXPECT(
          acp_copy(block.at(static_cast<int>(to), rank * kStripe + to_at),
                   block.at(static_cast<int>(from), rank * kStripe + from_at),
                   size, ACP_HANDLE_ALL) != ACP_HANDLE_NULL);
      std::memmove(model[to].data() + to_at, model[from].data() + from_at,
                   size);
    }
    for (std::size_t on = 0; on < procs; ++on) {
      EXPECT_DONE(acp_copy(result.mine(),
                           block.at(static_cast<int>(on), rank * kStripe),
                           kStripe, ACP_HANDLE_ALL));
      EXPECT(std::equal(model[on].begin(), model[on].end(), result.data()));
    }
  }
}

// Each end is bad in turn, also by sizes that wrap around the address space. No
// byte of the target may have changed.
SPMD_CASE(acp_copy_bad_addresses,
          "acp_copy: no address, no rank, outside its region: rejected") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 4096);
    const Block own(memory, 4096);
    const int right = spmd::right_of(acp_rank());
    spmd::fill_pattern(block.bytes(), 9);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_REJECTED(acp_copy(ACP_GA_NULL, own.mine(), 8, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_copy(own.mine(), ACP_GA_NULL, 8, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_copy(acp_ga_t{1}, own.mine(), 8, ACP_HANDLE_NULL),
                    ACPX_BAD_RANK);
    EXPECT_REJECTED(acp_copy(own.mine(), acp_ga_t{1}, 8, ACP_HANDLE_NULL),
                    ACPX_BAD_RANK);
    if (memory == Memory::kRegistered) {
      for (const std::size_t size : {std::size_t{2}, std::size_t{4096},
                                     std::size_t{1} << 40, SIZE_MAX}) {
        EXPECT_REJECTED(
            acp_copy(block.at(right, 4095), own.mine(), size, ACP_HANDLE_NULL),
            ACPX_BAD_ADDRESS);
        EXPECT_REJECTED(
            acp_copy(own.mine(), block.at(right, 4095), size, ACP_HANDLE_NULL),
            ACPX_BAD_ADDRESS);
        EXPECT_REJECTED(
            acp_copy(own.mine(4095), block.at(right), size, ACP_HANDLE_NULL),
            ACPX_BAD_ADDRESS);
      }
    }
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(spmd::pattern_mismatch(block.bytes(), 9), block.size());
  }
}
