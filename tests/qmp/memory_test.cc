// Library memory, message memory and words of entries: parts that need no job.
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "qmp/library_memory.h"
#include "qmp/message_layout.h"
#include "qmp/message_memory.h"

using qmp::Arena;
using qmp::MessageMemory;
using qmp::Run;

// Takes and gives back the whole arena before and after the small blocks. The
// second time shows that the blocks were joined again.
TEST_CASE("qmp arena: memory comes aligned, apart, and back", "[qmp][memory]") {
  constexpr std::size_t kBytes = 1 << 16;
  alignas(4096) static std::array<std::byte, kBytes> memory;
  Arena arena(memory.data(), kBytes, 0x1000);
  CHECK(arena.is_empty());
  std::byte* all = arena.allocate(kBytes, 64);
  CHECK(all == memory.data());
  CHECK(arena.address_of(all + 5) == 0x1005);
  CHECK(arena.allocate(1, 64) == nullptr);
  arena.free(all);
  CHECK(arena.is_empty());
  std::byte* aligned = arena.allocate(100, 64);
  std::byte* page = arena.allocate(100, 4096);
  REQUIRE(page != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(page) % 4096 == 0);
  CHECK(page >= aligned + 100);
  CHECK(arena.contains(page, 100));
  CHECK_FALSE(arena.contains(memory.data() + kBytes, 1));
  arena.free(aligned);
  arena.free(page);
  CHECK(arena.allocate(kBytes, 64) == memory.data());
}

// No two blocks may overlap at any time. In the end the arena is one hole,
// which only joined blocks can give.
TEST_CASE("qmp arena: any order of allocations and frees leaves one hole",
          "[qmp][memory]") {
  constexpr std::size_t kBytes = 1 << 16;
  alignas(64) static std::array<std::byte, kBytes> memory;
  constexpr unsigned kSeed = 11;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  Arena arena(memory.data(), kBytes, 64);
  std::vector<std::pair<std::byte*, std::size_t>> held;
  for (int round = 0; round < 5000; ++round) {
    if (random() % 2 == 0 || held.empty()) {
      const std::size_t bytes = random() % 3000;
      std::byte* got = arena.allocate(bytes, std::size_t{64} << random() % 4);
      if (got != nullptr) {
        for (const auto& [other, length] : held) {
          REQUIRE((got + bytes <= other || other + length <= got));
        }
        held.emplace_back(got, bytes);
      }
    } else {
      std::swap(held[random() % held.size()], held.back());
      arena.free(held.back().first);
      held.pop_back();
    }
  }
  for (const auto& [each, length] : held) {
    arena.free(each);
  }
  CHECK(arena.allocate(kBytes, 64) == memory.data());
}

TEST_CASE("qmp message: gather and scatter follow the blocks",
          "[qmp][memory]") {
  std::vector<std::byte> buffer(100);
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    buffer[i] = static_cast<std::byte>(i);
  }
  MessageMemory memory({{&buffer[50], 3, 4, -10}, {&buffer[90], 5, 1, 0}});
  CHECK(memory.size() == 17);
  CHECK_FALSE(memory.is_contiguous());
  CHECK_FALSE(memory.is_direct());
  std::vector<std::byte> stream(17);
  memory.gather(stream.data(), 17);
  const std::array<int, 17> expected{50, 51, 52, 40, 41, 42, 30, 31, 32,
                                     20, 21, 22, 90, 91, 92, 93, 94};
  for (std::size_t i = 0; i < 17; ++i) {
    CHECK(std::to_integer<int>(stream[i]) == expected[i]);
  }
  std::vector<std::byte> blocks(40);
  // The target runs downwards in other blocks than the source, and the message
  // is shorter.
  memory.copy_to({&blocks[30], 4, 4, -10}, 14);
  for (std::size_t i = 0; i < 14; ++i) {
    CHECK(blocks[30 - 10 * (i / 4) + i % 4] == stream[i]);
  }
  CHECK(blocks[2] == std::byte{});
  const qmp::Span span = qmp::span_of(4, 4, -10);
  CHECK(span.low == -30);
  CHECK(span.bytes == 34);
  std::vector<std::byte> marks(17, std::byte{0xff});
  memory.scatter(marks.data(), 5);  // a shorter message
  CHECK(buffer[52] == std::byte{0xff});
  CHECK(buffer[41] == std::byte{0xff});
  CHECK(buffer[42] == std::byte{42});
  MessageMemory* moved = memory.moved_to(&buffer[60]);
  moved->gather(stream.data(), 1);
  CHECK(stream[0] == std::byte{60});
  moved->release();
}

TEST_CASE("qmp message: blocks without gaps are contiguous", "[qmp][memory]") {
  std::array<std::byte, 64> buffer{};
  const MessageMemory dense({{buffer.data(), 16, 4, 16}});
  CHECK(dense.is_contiguous());
  CHECK(dense.first().block == 64);
  const MessageMemory empty({{buffer.data(), 0, 4, 16}, {nullptr, 3, 0, 1}});
  CHECK(empty.size() == 0);
  CHECK(empty.is_contiguous());
  std::vector<std::byte> large(40'000);
  const MessageMemory direct({{large.data(), qmp::kLargeBlock, 3, 10'000}});
  CHECK(direct.is_direct());
  CHECK_FALSE(direct.is_contiguous());
}

TEST_CASE("qmp layout: an entry's word tells one number from all others near",
          "[qmp][layout]") {
  using qmp::entry_word;
  using qmp::is_for;
  using qmp::Kind;
  CHECK_FALSE(is_for(0, 0));
  for (const std::uint64_t number :
       {0ULL, 15ULL, 0xffffeULL, 0xfffffULL, 0x100000ULL, 0x123456789ULL}) {
    const auto word = entry_word(number, Kind::kDirect, qmp::kMaxMessage);
    CHECK(is_for(word, number));
    CHECK_FALSE(is_for(word, number + qmp::kEntries));
    CHECK_FALSE(is_for(word, number + 1));
    CHECK(qmp::kind_of(word) == Kind::kDirect);
    CHECK(qmp::size_of(word) == qmp::kMaxMessage);
  }
  // An entry that was never written holds no message.
  CHECK_FALSE(is_for(0, 0xfffff));
}
