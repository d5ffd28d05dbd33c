// Tests of chapter 4.10: registration, keys, addresses, starter memory.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::Memory;

namespace {

/// Eight bytes of this rank's starter memory, for results.
acp_ga_t scratch() {
  return acp_query_starter_ga(acp_rank()) + 8192;
}

std::uint64_t scratch_value() {
  return *static_cast<std::uint64_t*>(acp_query_address(scratch()));
}

/// Ends a region: in odd rounds without a wait for what peers do.
void unregister(acp_atkey_t key, std::size_t round) {
  if (round % 2 == 0) {
    EXPECT_EQ(acp_unregister_memory(key), 0);
    return;
  }

  struct Ending {
    acp_atkey_t key;
    int answer;
  };

  const auto is_over = [](void* arg) {
    auto& ending = *static_cast<Ending*>(arg);
    if (ending.answer == 0) {
      ending.answer = acpx_try_unregister_memory(ending.key);
    }
    return ending.answer;
  };
  Ending ending{key, 0};
  EXPECT_EQ(acpx_wait_until(is_over, &ending, spmd::kPatience), 0);
  EXPECT_EQ(ending.answer, 1);
}

/// Whether other ranks access memory by its registrations, which they have to
/// forget.
bool has_registrations() {
  const char* net = std::getenv("ACP_NET");
  const std::string_view name = net == nullptr ? "" : net;
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  const bool is_far = acpx_pointer(acp_query_starter_ga(left)) == nullptr;
  acp_errno = 0;
  return is_far && (name == "ucx" || name == "verbs");
}

/// Ends a region that the rank to the left has used. In odd rounds it does not
/// wait until that rank has forgotten how to reach the region.
void end_used(acp_atkey_t key, std::size_t round) {
  if (round % 2 != 0 && has_registrations()) {
    EXPECT_EQ(acpx_try_unregister_memory(key), 0);
  }
  unregister(key, round);
}

}  // namespace

// This case is the first in the file: no other has touched starter memory yet.
SPMD_CASE(starter_memory,
          "starter memory: zeroed, 64-byte aligned, 10,240 bytes or more") {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const auto* bytes = static_cast<const std::byte*>(acp_query_address(mine));
  EXPECT(bytes != nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0U);
  EXPECT_EQ(mine % 64, 0U);
  for (std::size_t i = 0; i < 10'240; ++i) {
    EXPECT_EQ(static_cast<int>(bytes[i]), 0);
  }
  EXPECT_EQ(acp_sync(), 0);
  const acp_ga_t right = acp_query_starter_ga(spmd::right_of(acp_rank()));
  *static_cast<std::byte*>(acp_query_address(mine)) = std::byte{7};
  EXPECT_DONE(acp_copy(right + 10'239, mine, 1, ACP_HANDLE_NULL));
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(static_cast<int>(bytes[10'239]), 7);
}

SPMD_CASE(acp_query_starter_ga_all,
          "acp_query_starter_ga: one for each rank, none for others") {
  for (int rank = 0; rank < acp_procs(); ++rank) {
    const acp_ga_t ga = acp_query_starter_ga(rank);
    EXPECT(ga != ACP_GA_NULL);
    EXPECT_EQ(acp_query_rank(ga), rank);
    EXPECT_EQ(acp_query_color(ga), 0);
  }
  for (const int bad : {-1, acp_procs(), 1 << 30}) {
    EXPECT_FAILS(acp_query_starter_ga(bad), ACP_GA_NULL, ACPX_BAD_RANK);
  }
}

SPMD_CASE(
    acp_register_memory_bad,
    "acp_register_memory: NULL, 0, a wrap-around and no such color fail") {
  std::array<std::byte, 64> bytes{};
  EXPECT_FAILS(acp_register_memory(nullptr, 64, 0), ACP_ATKEY_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_register_memory(bytes.data(), 0, 0), ACP_ATKEY_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_register_memory(bytes.data(), 64, -1), ACP_ATKEY_NULL,
               ACPX_BAD_COLOR);
  EXPECT_FAILS(acp_register_memory(bytes.data(), 64, acp_colors()),
               ACP_ATKEY_NULL, ACPX_BAD_COLOR);
  acp_errno = 0;
  EXPECT_EQ(acp_register_memory(bytes.data(), SIZE_MAX, 0), ACP_ATKEY_NULL);
  EXPECT(acp_errno == ACPX_INVALID_ARGUMENT || acp_errno == ACPX_TOO_LARGE);
}

// The foreign key is live, and its owner unregisters it only after the barrier.
// So the failure is not due to its end.
SPMD_CASE(acp_unregister_memory_bad,
          "acp_unregister_memory: a dead, foreign or invented key fails") {
  std::array<std::byte, 64> bytes{};
  const acp_atkey_t key = acp_register_memory(bytes.data(), 64, 0);
  EXPECT(key != ACP_ATKEY_NULL);
  const std::vector<std::uint64_t> keys = spmd::gather(key);
  if (acp_procs() > 1) {
    const auto right = static_cast<std::size_t>(spmd::right_of(acp_rank()));
    EXPECT_FAILS(acp_unregister_memory(keys[right]), -1, ACPX_BAD_KEY);
  }
  EXPECT_FAILS(acp_unregister_memory(ACP_ATKEY_NULL), -1, ACPX_BAD_KEY);
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(acp_unregister_memory(key), 0);
  EXPECT_FAILS(acp_unregister_memory(key), -1, ACPX_BAD_KEY);
  EXPECT_FAILS(acpx_try_unregister_memory(key), -1, ACPX_BAD_KEY);
  const acp_atkey_t other = acp_register_memory(bytes.data(), 64, 0);
  EXPECT_EQ(acpx_try_unregister_memory(other), 1);
  EXPECT_FAILS(acpx_try_unregister_memory(other), -1, ACPX_BAD_KEY);
  EXPECT_FAILS(acp_unregister_memory(other), -1, ACPX_BAD_KEY);
}

// The region begins at many offsets from a multiple of 64, since the low bits
// of an address are those of the pointer.
SPMD_CASE(acp_query_ga_bounds,
          "acp_query_ga: first to last byte; outside, dead, foreign key fail") {
  auto bytes = std::make_unique<std::byte[]>(1000);
  for (std::size_t skew = 0; skew < 64; skew += 7) {
    std::byte* base = bytes.get() + 100 + skew;
    const acp_atkey_t key = acp_register_memory(base, 500, 0);
    EXPECT(key != ACP_ATKEY_NULL);
    const acp_ga_t first = acp_query_ga(key, base);
    EXPECT(first != ACP_GA_NULL);
    EXPECT_EQ(first % 64, reinterpret_cast<std::uintptr_t>(base) % 64);
    EXPECT_EQ(acp_query_ga(key, base + 499), first + 499);
    EXPECT_EQ(acp_query_address(first + 250), base + 250);
    EXPECT_EQ(acp_query_address(first + 499), base + 499);
    EXPECT_FAILS(acp_query_address(first + 500), nullptr, ACPX_BAD_ADDRESS);
    if (first % 64 != 0) {
      EXPECT_FAILS(acp_query_address(first - 1), nullptr, ACPX_BAD_ADDRESS);
    }
    EXPECT_FAILS(acp_query_ga(key, base + 500), ACP_GA_NULL, ACPX_BAD_ADDRESS);
    EXPECT_FAILS(acp_query_ga(key, base - 1), ACP_GA_NULL, ACPX_BAD_ADDRESS);
    EXPECT_FAILS(acp_query_ga(key, nullptr), ACP_GA_NULL, ACPX_BAD_ADDRESS);
    EXPECT_EQ(acp_unregister_memory(key), 0);
    EXPECT_FAILS(acp_query_ga(key, base), ACP_GA_NULL, ACPX_BAD_KEY);
    EXPECT_FAILS(acp_query_address(first), nullptr, ACPX_BAD_KEY);
  }
  EXPECT_FAILS(acp_query_ga(ACP_ATKEY_NULL, bytes.get()), ACP_GA_NULL,
               ACPX_BAD_KEY);
}

// Every color copies in both directions, between memory that was registered
// with that color.
SPMD_CASE(acp_colors_of_addresses,
          "acp_colors, acp_query_color: every color can be used") {
  EXPECT(acp_colors() >= 1);
  const std::vector<std::uint64_t> colors =
      spmd::gather(static_cast<std::uint64_t>(acp_colors()));
  for (const std::uint64_t other : colors) {
    EXPECT_EQ(other, colors.front());
  }
  for (int color = 0; color < acp_colors(); ++color) {
    Block block(Memory::kRegistered, 4096, color);
    EXPECT_EQ(acp_query_color(block.mine()), color);
    const int right = spmd::right_of(acp_rank());
    EXPECT_EQ(acp_query_color(block.at(right, 2000)), color);
    block.word(0).store(static_cast<std::uint64_t>(color) + 77);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_DONE(acp_copy(block.at(right, 8), block.mine(), 8, ACP_HANDLE_NULL));
    EXPECT_DONE(acp_copy(block.mine(16), block.at(right), 8, ACP_HANDLE_NULL));
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(block.word(1).load(), static_cast<std::uint64_t>(color) + 77);
    EXPECT_EQ(block.word(2).load(), static_cast<std::uint64_t>(color) + 77);
  }
}

SPMD_CASE(acp_query_rank_bad,
          "acp_query_rank, acp_query_color: ACP_GA_NULL and no rank fail") {
  EXPECT_FAILS(acp_query_rank(ACP_GA_NULL), -1, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_query_color(ACP_GA_NULL), -1, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_query_address(ACP_GA_NULL), nullptr, ACPX_BAD_ADDRESS);
  // The rank field of a small number is 0, which is rank -1.
  EXPECT_FAILS(acp_query_rank(acp_ga_t{1}), -1, ACPX_BAD_RANK);
  EXPECT_FAILS(acp_query_color(acp_ga_t{1}), -1, ACPX_BAD_RANK);
  EXPECT_FAILS(acp_query_address(acp_ga_t{1}), nullptr, ACPX_BAD_RANK);
}

SPMD_CASE(acp_query_address_foreign,
          "acp_query_address: another rank's address fails") {
  SPMD_NEEDS_RANKS(2);
  const acp_ga_t right = acp_query_starter_ga(spmd::right_of(acp_rank()));
  EXPECT_FAILS(acp_query_address(right), nullptr, ACPX_BAD_RANK);
}

SPMD_CASE(unregister_ends_copies,
          "acp_unregister_memory: no copy changes the memory afterwards") {
  SPMD_NEEDS_RANKS(2);
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  constexpr std::size_t kRounds = 6;
  constexpr char kOwners = 2;
  const bool is_writer = acp_rank() == 0;
  const bool is_owner = acp_rank() == 1;
  std::vector<char> bytes(is_writer || is_owner ? kBytes : 1);
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::memset(bytes.data(), is_writer ? 1 : 0, bytes.size());
    const acp_atkey_t key = acp_register_memory(bytes.data(), bytes.size(), 0);
    const auto all = spmd::gather(acp_query_ga(key, bytes.data()));
    if (is_writer) {
      acp_complete(acp_copy(all[1], all[0], kBytes, ACP_HANDLE_NULL));
      acp_errno = 0;  // it fails when the region has ended
    } else if (is_owner) {
      while (std::atomic_ref(bytes[0]).load() == 0) {
      }
    }
    unregister(key, round);
    if (is_owner) {
      std::memset(bytes.data(), kOwners, kBytes);
    }
    EXPECT_EQ(acp_sync(), 0);
    if (is_owner) {
      EXPECT_EQ(bytes[0], kOwners);  // the others: equal to the next one
      EXPECT_EQ(std::memcmp(bytes.data(), &bytes[1], kBytes - 1), 0);
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(register_read_only,
          "acp_register_memory: refuses memory that is read-only or unmapped") {
  static constexpr char kText[64] = "a text that nobody can change";
  constexpr std::size_t kBytes = 3 * 65536;
  EXPECT_FAILS(acp_register_memory(const_cast<char*>(kText), sizeof kText, 0),
               ACP_ATKEY_NULL, ACPX_INVALID_ARGUMENT);
  // An allocator's thread that maps memory meanwhile is given the highest gap
  // that fits. A gap of this test far below that is given to nobody.
  void* highest =
      mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(highest != MAP_FAILED);
  constexpr std::size_t kFarBelow = std::size_t{64} << 30U;
  void* memory =
      mmap(static_cast<char*>(highest) - kFarBelow, kBytes,
           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED);
  EXPECT_EQ(munmap(highest, kBytes), 0);
  auto* middle = static_cast<char*>(memory) + 65536;
  EXPECT_EQ(mprotect(middle, 65536, PROT_READ), 0);
  EXPECT_FAILS(acp_register_memory(memory, kBytes, 0), ACP_ATKEY_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(munmap(middle, 65536), 0);
  EXPECT_FAILS(acp_register_memory(memory, kBytes, 0), ACP_ATKEY_NULL,
               ACPX_INVALID_ARGUMENT);
  const acp_atkey_t key = acp_register_memory(memory, 65536, 0);
  EXPECT(key != ACP_ATKEY_NULL);
  EXPECT_EQ(acp_unregister_memory(key), 0);
  // The gap in between is not this test's any more.
  EXPECT_EQ(munmap(memory, 65536), 0);
  EXPECT_EQ(munmap(middle + 65536, 65536), 0);
}

SPMD_CASE(
    access_to_lost_memory,
    "a region that was unmapped or made read-only: accesses fail, none dies") {
  constexpr std::size_t kBytes = 65536;
  void* memory = mmap(nullptr, 3 * kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED);
  const acp_atkey_t key = acp_register_memory(memory, 3 * kBytes, 0);
  const auto all = spmd::gather(acp_query_ga(key, memory));
  auto* bytes = static_cast<char*>(memory);
  EXPECT_EQ(mprotect(bytes + kBytes, kBytes, PROT_READ), 0);
  // Like unmapped memory, but no allocator can be given the addresses.
  EXPECT_EQ(mprotect(bytes + 2 * kBytes, kBytes, PROT_NONE), 0);
  EXPECT_EQ(acp_sync(), 0);
  const Block mine(Memory::kLibrary, kBytes);
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t good = all[static_cast<std::size_t>(right)];
  const acp_ga_t read_only = good + kBytes;
  const acp_ga_t gone = good + 2 * kBytes;
  // faults of the program's own thread are the program's
  if (right != acp_rank()) {
    EXPECT_REJECTED(acp_copy(read_only, mine.mine(), 8, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_copy(gone, mine.mine(), kBytes, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_copy(mine.mine(), gone, 8, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_copy(mine.mine(), gone, kBytes, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_add8(mine.mine(), read_only, 1, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_REJECTED(acp_add8(mine.mine(), gone, 1, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
    EXPECT_DONE(acp_copy(mine.mine(), read_only, kBytes, ACP_HANDLE_NULL));
    EXPECT_DONE(acp_copy(good, mine.mine(), kBytes, ACP_HANDLE_NULL));
    EXPECT_DONE(acp_add8(mine.mine(), good, 1, ACP_HANDLE_NULL));
  }
  if (acp_procs() > 2) {  // carried out by a rank whose memory is gone
    const int other = spmd::right_of(right);
    EXPECT_REJECTED(acp_copy(mine.at(other), gone, kBytes, ACP_HANDLE_NULL),
                    ACPX_BAD_ADDRESS);
  }
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(acp_unregister_memory(key), 0);
  EXPECT_EQ(munmap(memory, 3 * kBytes), 0);
}

SPMD_CASE(two_hundred_regions,
          "acp_register_memory: 200 regions, each reachable to its last byte") {
  constexpr std::size_t kRegions = 200;
  constexpr std::size_t kBytes = 100;  // so regions begin at any alignment
  std::vector<std::byte> bytes(kRegions * kBytes);
  std::vector<acp_atkey_t> keys;
  Block addresses(Memory::kLibrary, 2 * kRegions * 8);
  for (std::size_t i = 0; i < kRegions; ++i) {
    keys.push_back(acp_register_memory(bytes.data() + i * kBytes, kBytes, 0));
    EXPECT(keys.back() != ACP_ATKEY_NULL);
    addresses.word(i).store(
        acp_query_ga(keys.back(), bytes.data() + i * kBytes));
  }
  EXPECT_EQ(acp_sync(), 0);
  const int right = spmd::right_of(acp_rank());
  EXPECT_DONE(acp_copy(addresses.mine(kRegions * 8), addresses.at(right),
                       kRegions * 8, ACP_HANDLE_NULL));
  Block source(Memory::kLibrary, kBytes);
  for (std::size_t i = 0; i < kRegions; ++i) {
    const acp_ga_t region = addresses.word(kRegions + i).load();
    spmd::fill_pattern(source.bytes(), i);
    EXPECT_DONE(acp_copy(region, source.mine(), kBytes, ACP_HANDLE_NULL));
    EXPECT_REJECTED(
        acp_copy(region + 1, source.mine(), kBytes, ACP_HANDLE_NULL),
        ACPX_BAD_ADDRESS);
  }
  EXPECT_EQ(acp_sync(), 0);
  for (std::size_t i = 0; i < kRegions; ++i) {
    EXPECT_EQ(spmd::pattern_mismatch({bytes.data() + i * kBytes, kBytes}, i),
              kBytes);
  }
  EXPECT_EQ(acp_sync(), 0);
  for (const acp_atkey_t key : keys) {
    EXPECT_EQ(acp_unregister_memory(key), 0);
  }
}

// Registers one piece of memory until no key is left. One key that comes back
// has to be enough for the next region.
SPMD_CASE(all_keys_taken,
          "acp_register_memory: fails when all keys are taken, recovers") {
  std::array<std::byte, 64> bytes{};
  std::vector<acp_atkey_t> keys;
  acp_errno = 0;
  for (;;) {
    const acp_atkey_t key = acp_register_memory(bytes.data(), 64, 0);
    if (key == ACP_ATKEY_NULL) {
      break;
    }
    keys.push_back(key);
    EXPECT(keys.size() < (std::size_t{1} << 24));
  }
  EXPECT_EQ(acp_errno, int{ACPX_NO_KEYS});
  acp_errno = 0;
  EXPECT(keys.size() >= 200);
  EXPECT_EQ(acp_unregister_memory(keys.back()), 0);
  keys.back() = acp_register_memory(bytes.data(), 64, 0);
  EXPECT(keys.back() != ACP_ATKEY_NULL);
  for (const acp_atkey_t key : keys) {
    EXPECT_EQ(acp_unregister_memory(key), 0);
  }
}

// In each of twenty rounds the right neighbour uses the old address before it
// ends. What it has learnt of the old region must not lead it to the new one,
// which is the same memory.
SPMD_CASE(
    stale_keys,
    "acp_unregister_memory: a stale address fails, here and from others") {
  std::vector<std::byte> bytes(4096);
  const int right = spmd::right_of(acp_rank());
  for (int round = 0; round < 20; ++round) {
    const acp_atkey_t old_key =
        acp_register_memory(bytes.data(), bytes.size(), 0);
    EXPECT(old_key != ACP_ATKEY_NULL);
    const auto old_all = spmd::gather(acp_query_ga(old_key, bytes.data()));
    const acp_ga_t old_right = old_all[static_cast<std::size_t>(right)];
    EXPECT_DONE(acp_copy(scratch(), old_right, 8, ACP_HANDLE_NULL));
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(acp_unregister_memory(old_key), 0);
    const acp_atkey_t new_key =
        acp_register_memory(bytes.data(), bytes.size(), 0);
    const acp_ga_t new_ga = acp_query_ga(new_key, bytes.data());
    const auto new_all = spmd::gather(new_ga);
    EXPECT(new_ga != old_all[static_cast<std::size_t>(acp_rank())]);
    EXPECT_REJECTED(acp_copy(scratch(), old_right, 8, ACP_HANDLE_NULL),
                    ACPX_BAD_KEY);
    EXPECT_REJECTED(acp_add8(scratch(), old_right, 1, ACP_HANDLE_NULL),
                    ACPX_BAD_KEY);
    EXPECT_DONE(acp_copy(scratch(), new_all[static_cast<std::size_t>(right)], 8,
                         ACP_HANDLE_NULL));
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(static_cast<int>(bytes[0]), 0);
    EXPECT_EQ(acp_unregister_memory(new_key), 0);
  }
}

SPMD_CASE(unregistered_memory_refuses_chains,
          "acp_unregister_memory: large puts with words fail, and end") {
  constexpr std::size_t kPiece = 8192;
  constexpr std::size_t kPieces = 12;
  constexpr std::size_t kBytes = kPieces * kPiece;
  const int right = spmd::right_of(acp_rank());
  const Block block(Memory::kLibrary, kBytes + 8);
  const acp_ga_t word = block.at(right, kBytes);
  std::vector<std::byte> bytes(kBytes);
  // A rank may know how to reach the memory, or may have to ask.
  for (const bool is_known : {false, true}) {
    const acp_atkey_t key = acp_register_memory(bytes.data(), kBytes, 0);
    EXPECT(key != ACP_ATKEY_NULL);
    const auto all = spmd::gather(acp_query_ga(key, bytes.data()));
    const acp_ga_t theirs = all[static_cast<std::size_t>(right)];
    if (is_known) {
      EXPECT_DONE(acp_copy(theirs, block.mine(), kBytes, ACP_HANDLE_NULL));
    }
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(acp_unregister_memory(key), 0);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_REJECTED(
        acpx_put_signal(theirs, block.mine(), kBytes, word, 1, ACP_HANDLE_NULL),
        ACPX_BAD_KEY);
    std::array<acpx_op_t, kPieces + 1> steps{};
    for (std::size_t i = 0; i < kPieces; ++i) {
      steps[i].opcode = ACPX_PUT;
      steps[i].remote = theirs + i * kPiece;
      steps[i].local = block.mine(i * kPiece);
      steps[i].size = kPiece;
    }
    steps.back().opcode = ACPX_ADD8;
    steps.back().flags = ACPX_SIGNAL;
    steps.back().remote = word;
    steps.back().operand = 1;
    EXPECT_REJECTED(acpx_post(steps.data(), steps.size(), ACP_HANDLE_NULL),
                    ACPX_BAD_KEY);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(block.word(kBytes / 8).load(), std::uint64_t{0});
  }
}

SPMD_CASE(regions_come_and_go,
          "acp_unregister_memory: 1,000 regions used by others, none after") {
  constexpr std::size_t kBytes = 1000;
  const int right = spmd::right_of(acp_rank());
  const Block block(Memory::kLibrary, 2 * kBytes);
  std::vector<std::byte> bytes(kBytes);
  const std::size_t rounds = spmd::scaled(1'000, 20);
  for (std::size_t round = 0; round < rounds; ++round) {
    const acp_atkey_t key = acp_register_memory(bytes.data(), kBytes, 0);
    EXPECT(key != ACP_ATKEY_NULL);
    const auto all = spmd::gather(acp_query_ga(key, bytes.data()));
    const acp_ga_t theirs = all[static_cast<std::size_t>(right)];
    spmd::fill_pattern(block.bytes().first(kBytes), round);
    // The first ones make the region known, the later ones know it.
    for (int i = 0; i < 3; ++i) {
      EXPECT_DONE(acp_copy(theirs, block.mine(), kBytes, ACP_HANDLE_NULL));
      EXPECT_DONE(
          acp_copy(block.mine(kBytes), theirs, kBytes, ACP_HANDLE_NULL));
    }
    EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(kBytes), round),
              kBytes);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(spmd::pattern_mismatch(bytes, round), kBytes);
    end_used(key, round);
    std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_REJECTED(acp_copy(theirs, block.mine(), kBytes, ACP_HANDLE_NULL),
                    ACPX_BAD_KEY);
    EXPECT_REJECTED(
        acp_copy(block.mine(kBytes), theirs, kBytes, ACP_HANDLE_NULL),
        ACPX_BAD_KEY);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT(std::all_of(bytes.begin(), bytes.end(),
                       [](std::byte byte) { return byte == std::byte{0xee}; }));
  }
}

SPMD_CASE(register_again_many_times,
          "acp_register_memory: 20,000 times in turn, keys do not run out") {
  std::array<std::byte, 64> bytes{};
  const std::size_t rounds = spmd::scaled(20'000, 2'000);
  for (std::size_t i = 0; i < rounds; ++i) {
    const acp_atkey_t key = acp_register_memory(bytes.data(), 64, 0);
    EXPECT(key != ACP_ATKEY_NULL);
    EXPECT_EQ(acp_unregister_memory(key), 0);
  }
}

SPMD_CASE(overlapping_regions,
          "acp_register_memory: one memory in two regions is one memory") {
  std::array<std::uint64_t, 16> words{};
  const acp_atkey_t whole = acp_register_memory(words.data(), 128, 0);
  const acp_atkey_t part = acp_register_memory(&words[4], 32, 0);
  EXPECT(whole != part);
  const acp_ga_t by_whole = acp_query_ga(whole, &words[4]);
  const acp_ga_t by_part = acp_query_ga(part, &words[4]);
  EXPECT(by_whole != by_part);
  EXPECT_EQ(acp_query_address(by_whole), acp_query_address(by_part));
  EXPECT_DONE(acp_add8(scratch(), by_whole, 5, ACP_HANDLE_NULL));
  EXPECT_DONE(acp_add8(scratch(), by_part, 6, ACP_HANDLE_NULL));
  EXPECT_EQ(words[4], 11U);
  EXPECT_EQ(scratch_value(), 5U);
  EXPECT_EQ(acp_unregister_memory(whole), 0);
  EXPECT_DONE(acp_add8(scratch(), by_part, 1, ACP_HANDLE_NULL));
  EXPECT_EQ(acp_unregister_memory(part), 0);
}

// The offsets lie at both ends of the region and on both sides of 4 GiB. The
// pages that are never touched take no memory.
SPMD_CASE(region_above_4_gib,
          "acp_register_memory: 5 GiB, sparse, to the last byte") {
  constexpr std::size_t kBytes = std::size_t{5} << 30;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT(memory != MAP_FAILED);
  auto* bytes = static_cast<std::byte*>(memory);
  const acp_atkey_t key = acp_register_memory(bytes, kBytes, 0);
  EXPECT(key != ACP_ATKEY_NULL);
  const auto all = spmd::gather(acp_query_ga(key, bytes));
  const acp_ga_t right =
      all[static_cast<std::size_t>(spmd::right_of(acp_rank()))];
  auto* mine = static_cast<std::uint64_t*>(acp_query_address(scratch()));
  for (const std::size_t offset : {std::size_t{0}, (std::size_t{1} << 32) - 4,
                                   std::size_t{1} << 32, kBytes - 8}) {
    *mine = offset + 1;
    EXPECT_DONE(acp_copy(right + offset, scratch(), 8, ACP_HANDLE_NULL));
    *mine = 0;
    EXPECT_DONE(acp_copy(scratch(), right + offset, 8, ACP_HANDLE_NULL));
    EXPECT_EQ(*mine, offset + 1);
  }
  EXPECT_REJECTED(acp_copy(right + kBytes - 7, scratch(), 8, ACP_HANDLE_NULL),
                  ACPX_BAD_ADDRESS);
  EXPECT_EQ(acp_query_ga(key, bytes + kBytes - 1),
            acp_query_ga(key, bytes) + kBytes - 1);
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(acp_unregister_memory(key), 0);
  munmap(memory, kBytes);
}

SPMD_CASE(region_too_large,
          "acp_register_memory: more than an offset can count fails clearly") {
  // No job has 63 bits of offset: the rank takes one bit or more, the color
  // two.
  auto* low = reinterpret_cast<std::byte*>(std::uintptr_t{4096});
  EXPECT_FAILS(acp_register_memory(low, std::size_t{1} << 62, 0),
               ACP_ATKEY_NULL, ACPX_TOO_LARGE);
}
