// Copies and atomics on mapped memory, and the words that wake sleepers.
#include "gmm/memory_ops.h"

#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>

#include "gmm/doorbell.h"
#include "support/host_memory.h"

namespace acp::gmm {

TEST_CASE("copy: words one by one, as memmove does", "[gmm][memory]") {
  for (const std::size_t distance : {0, 8, 24}) {
    for (const bool is_upwards : {true, false}) {
      std::array<std::uint64_t, 16> words{};
      std::iota(words.begin(), words.end(), 1);
      auto expected = words;
      auto* bytes = reinterpret_cast<std::byte*>(words.data());
      const std::size_t from = is_upwards ? distance : 0;
      const std::size_t to = is_upwards ? 0 : distance;
      std::memmove(reinterpret_cast<std::byte*>(expected.data()) + to,
                   reinterpret_cast<std::byte*>(expected.data()) + from, 80);
      copy_words(bytes + to, bytes + from, 80);
      CHECK(words == expected);
    }
  }
}

namespace {

using protocol::Opcode;

std::uint64_t read_word(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

struct AtomicCase {
  Opcode opcode;
  std::uint64_t old_value;
  std::uint64_t operand;
  std::uint64_t compare;
  std::uint64_t result;
};

constexpr std::uint64_t kOnes = ~std::uint64_t{0};
constexpr AtomicCase kAtomics[] = {
    {Opcode::kAdd, 5, 7, 0, 12},
    {Opcode::kAdd, kOnes, 1, 0, 0},
    {Opcode::kAnd, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0,
     0x0f000f000f000f00},
    {Opcode::kOr, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0,
     0xfff0fff0fff0fff0},
    {Opcode::kXor, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0,
     0xf0f0f0f0f0f0f0f0},
    {Opcode::kSwap, 1, kOnes, 0, kOnes},
    {Opcode::kCas, 3, 9, 3, 9},
    {Opcode::kCas, 3, 9, 4, 3},
};

}  // namespace

TEST_CASE("memory ops: every atomic gives the old value and leaves the new one",
          "[gmm][memory_ops]") {
  for (const AtomicCase& test : kAtomics) {
    INFO("opcode " << static_cast<int>(test.opcode));
    alignas(8) std::array<std::byte, 24> memory{};
    std::memcpy(memory.data() + 8, &test.old_value, 8);
    CHECK(apply_atomic(test.opcode, 8, memory.data() + 8, test.operand,
                       test.compare) == test.old_value);
    CHECK(read_word(memory.data() + 8) == test.result);
    CHECK(read_word(memory.data()) == 0);
    CHECK(read_word(memory.data() + 16) == 0);
  }
}

TEST_CASE("memory ops: 4-byte atomics leave the neighbours alone",
          "[gmm][memory_ops]") {
  for (const AtomicCase& test : kAtomics) {
    INFO("opcode " << static_cast<int>(test.opcode));
    alignas(8) std::array<std::uint32_t, 3> words = {
        0x11111111, static_cast<std::uint32_t>(test.old_value), 0x22222222};
    // The high halves of operand and compare do not count.
    const std::uint64_t old =
        apply_atomic(test.opcode, 4, reinterpret_cast<std::byte*>(&words[1]),
                     test.operand, test.compare | std::uint64_t{77} << 32);
    CHECK(old == static_cast<std::uint32_t>(test.old_value));
    CHECK(words[1] == static_cast<std::uint32_t>(test.result));
    CHECK(words[0] == 0x11111111);
    CHECK(words[2] == 0x22222222);
  }
}

TEST_CASE("memory ops: copies of every alignment and size",
          "[gmm][memory_ops]") {
  std::mt19937 random(1);
  alignas(64) std::array<std::byte, 256> from{};
  for (std::byte& byte : from) {
    byte = static_cast<std::byte>(random() | 1);
  }
  for (std::size_t size = 0; size <= 40; ++size) {
    for (std::size_t skew = 0; skew < 16; ++skew) {
      alignas(64) std::array<std::byte, 256> to{};
      copy_bytes(to.data() + 64 + skew, from.data() + skew * 3 % 16, size);
      std::array<std::byte, 256> expected{};
      std::memcpy(expected.data() + 64 + skew, from.data() + skew * 3 % 16,
                  size);
      REQUIRE(to == expected);
    }
  }
}

TEST_CASE("memory ops: overlapping copies are like memmove",
          "[gmm][memory_ops]") {
  for (const std::size_t size : {8U, 9U, 100U}) {
    for (const int shift : {-8, -1, 1, 4, 8}) {
      alignas(64) std::array<std::byte, 256> memory{};
      for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = static_cast<std::byte>(i);
      }
      std::array<std::byte, 256> expected = memory;
      std::memmove(expected.data() + 64 + shift, expected.data() + 64, size);
      copy_bytes(memory.data() + 64 + shift, memory.data() + 64, size);
      REQUIRE(memory == expected);
    }
  }
}

TEST_CASE("memory ops: an old value is stored in its width",
          "[gmm][memory_ops]") {
  alignas(8) std::array<std::uint32_t, 4> words{};
  store_word(reinterpret_cast<std::byte*>(&words[1]), 4, kOnes);
  CHECK(words == std::array<std::uint32_t, 4>{0, 0xffffffff, 0, 0});
  store_word(reinterpret_cast<std::byte*>(&words[2]), 8, kOnes);
  CHECK(words[2] == 0xffffffff);
  CHECK(words[3] == 0xffffffff);
}

TEST_CASE("doorbell: rings for those who sleep and no others",
          "[gmm][doorbell]") {
  const test::HostMemory host(1);
  protocol::SliceHeader& slice = host.segment().slice_header(0);
  test::CountingWaker waker;
  wake_waiters(slice);
  ring_signal(slice, waker);
  CHECK(slice.doorbell == 0);
  CHECK(waker.calls == 0);

  // A thread sleeps in epoll and does not wait for signals.
  slice.asleep = protocol::kThreadAsleep;
  wake_waiters(slice);
  ring_signal(slice, waker);
  CHECK(slice.doorbell == 0);
  CHECK(waker.calls == 0);

  slice.asleep = protocol::kThreadAsleep | protocol::kThreadWantsSignals;
  wake_waiters(slice);
  CHECK(waker.calls == 0);
  ring_signal(slice, waker);
  CHECK(slice.doorbell == 0);
  CHECK(waker.calls == 1);
  CHECK(waker.last == &slice);

  slice.asleep = 2 * protocol::kWaiterOne;
  wake_waiters(slice);
  CHECK(slice.doorbell == 1);
  ring_signal(slice, waker);
  CHECK(slice.doorbell == 2);
  CHECK(waker.calls == 1);
}

}  // namespace acp::gmm
