// Rings of HMPI: order, room, wrapped messages, two threads, and bytes that no
// writer makes.
#include "hmpi/ring.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace hmpi {

namespace {

using Look = RingReader::Look;

/// A ring with both ends in this process.
struct Ring {
  std::unique_ptr<RingMemory> memory = std::make_unique<RingMemory>();
  RingWriter writer{*memory};
  RingReader reader{*memory};
};

/// A message whose data follow from its tag, so that a reader can check them.
class Sample {
 public:
  Sample(std::int32_t tag, std::size_t bytes) : data_(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      data_[i] = static_cast<std::byte>(i * 31 + static_cast<unsigned>(tag));
    }
    message.envelope = {0x1234'5678'9abc'def0, 7, tag, bytes};
    message.in_ring = data_;
  }

  bool is_like(const Message& other) const {
    return other.envelope == message.envelope && other.kind == message.kind &&
           std::ranges::equal(other.in_ring, message.in_ring);
  }

  Message message;

 private:
  std::vector<std::byte> data_;
};

/// The number of bytes of the message with this number: all lengths up to the
/// most, in no order that fits the ring.
std::size_t bytes_of(std::int32_t number) {
  return static_cast<std::size_t>(number) * 389 % (kMostInlineBytes + 1);
}

}  // namespace

TEST_CASE("hmpi ring: an empty ring has no message", "[hmpi][ring]") {
  Ring ring;
  Message message;
  CHECK(ring.reader.look(message) == Look::kEmpty);
}

TEST_CASE("hmpi ring: look shows the oldest message until pop",
          "[hmpi][ring]") {
  Ring ring;
  const Sample first(1, 5);
  const Sample second(2, 500);
  REQUIRE(ring.writer.write(first.message));
  REQUIRE(ring.writer.write(second.message));
  Message message;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(ring.reader.look(message) == Look::kMessage);
    CHECK(first.is_like(message));
  }
  ring.reader.pop();
  REQUIRE(ring.reader.look(message) == Look::kMessage);
  CHECK(second.is_like(message));
  ring.reader.pop();
  CHECK(ring.reader.look(message) == Look::kEmpty);
}

TEST_CASE("hmpi ring: offers and gifts carry addresses", "[hmpi][ring]") {
  Ring ring;
  for (const Kind kind : {Kind::kOffer, Kind::kGive}) {
    Message sent;
    sent.envelope = {1, 2, 3, std::uint64_t{1} << 40};
    sent.kind = kind;
    sent.offer = {.address = 0x2000'0000'1000, .record = 0x2000'0000'2000};
    REQUIRE(ring.writer.write(sent));
    Message message;
    REQUIRE(ring.reader.look(message) == Look::kMessage);
    ring.reader.pop();
    CHECK(message.envelope == sent.envelope);
    CHECK(message.kind == kind);
    CHECK(message.offer == sent.offer);
    CHECK(message.in_ring.empty());
  }
}

// Fills the ring, empties it by one message, and so on, at every position. The
// messages in the ring never take more cells than it has.
TEST_CASE("hmpi ring: a full ring takes a message when one was read",
          "[hmpi][ring]") {
  Ring ring;
  std::int32_t written = 0;
  std::int32_t read = 0;
  for (int round = 0; round < 5'000; ++round) {
    while (ring.writer.write(Sample(written, bytes_of(written)).message)) {
      ++written;
    }
    std::uint32_t cells = 0;
    for (std::int32_t i = read; i < written; ++i) {
      cells += cells_for(bytes_of(i));
    }
    CHECK(cells <= kRingCells);
    CHECK(cells + 2 * cells_for(kMostInlineBytes) > kRingCells);
    Message message;
    REQUIRE(ring.reader.look(message) == Look::kMessage);
    REQUIRE(Sample(read, bytes_of(read)).is_like(message));
    ring.reader.pop();
    ++read;
  }
}

// The writer runs ahead of the reader, and waits for it, at random.
TEST_CASE("hmpi ring: two threads pass messages of all sizes in order",
          "[hmpi][ring]") {
  constexpr std::int32_t kMessages = 300'000;
  Ring ring;
  std::thread writer([&ring] {
    for (std::int32_t i = 0; i < kMessages; ++i) {
      const Sample sample(i, bytes_of(i) % (i % 3 == 0 ? 1025 : 65));
      while (!ring.writer.write(sample.message)) {
        std::this_thread::yield();
      }
    }
  });
  std::int32_t wrong = 0;
  for (std::int32_t i = 0; i < kMessages; ++i) {
    Message message;
    Look look = Look::kEmpty;
    while ((look = ring.reader.look(message)) == Look::kEmpty) {
      std::this_thread::yield();
    }
    const Sample sample(i, bytes_of(i) % (i % 3 == 0 ? 1025 : 65));
    wrong += look != Look::kMessage || !sample.is_like(message) ? 1 : 0;
    ring.reader.pop();
  }
  writer.join();
  CHECK(wrong == 0);
}

// A writer that dies before it stores `turn` has written nothing.
TEST_CASE("hmpi ring: a message without its turn does not exist",
          "[hmpi][ring]") {
  Ring ring;
  Ring other;
  REQUIRE(other.writer.write(Sample(1, 100).message));
  Cell& cell = other.memory->cells[0];
  cell.turn.store(0);
  std::memcpy(static_cast<void*>(ring.memory->cells.data()),
              other.memory->cells.data(), 3 * kCellBytes);
  Message message;
  CHECK(ring.reader.look(message) == Look::kEmpty);
  ring.memory->cells[0].turn.store(1);
  REQUIRE(ring.reader.look(message) == Look::kMessage);
  CHECK(Sample(1, 100).is_like(message));
}

TEST_CASE("hmpi ring: cells that no writer makes are broken", "[hmpi][ring]") {
  const auto look_after = [](auto change) {
    Ring ring;
    REQUIRE(ring.writer.write(Sample(1, 100).message));
    change(ring.memory->cells[0]);
    Message message;
    return ring.reader.look(message);
  };
  CHECK(look_after([](Cell&) {}) == Look::kMessage);
  CHECK(look_after([](Cell& cell) { cell.kind = 0; }) == Look::kBroken);
  CHECK(look_after([](Cell& cell) { cell.kind = 77; }) == Look::kBroken);
  CHECK(look_after([](Cell& cell) { cell.cells = 1; }) == Look::kBroken);
  CHECK(look_after([](Cell& cell) { cell.tag = -1; }) == Look::kBroken);
  CHECK(look_after([](Cell& cell) { cell.source = -5; }) == Look::kBroken);
  CHECK(look_after([](Cell& cell) { cell.size = 101; }) == Look::kMessage);
  CHECK(look_after([](Cell& cell) { cell.size = 1 << 20; }) == Look::kBroken);
  CHECK(look_after([](Cell& cell) { cell.size = UINT64_MAX; }) ==
        Look::kBroken);
}

// The words of the data are numbers of passes of the ring. The reader looks
// after each message, before the next one is there.
TEST_CASE("hmpi ring: data are never taken for a message", "[hmpi][ring]") {
  std::mt19937_64 random(3);
  Ring ring;
  std::vector<std::uint32_t> words(kMostInlineBytes / 4);
  Message message;
  for (std::int32_t i = 0; i < 300'000; ++i) {
    const auto pass = static_cast<std::uint32_t>(random() % 400);
    std::ranges::fill(words, pass);
    const std::size_t bytes = random() % 3 == 0 ? 4 : random() % 900;
    message.envelope = {1, 0, i, bytes};
    message.kind = Kind::kInline;
    message.in_ring = std::as_bytes(std::span(words)).first(bytes);
    REQUIRE(ring.writer.write(message));
    Message read;
    REQUIRE(ring.reader.look(read) == Look::kMessage);
    REQUIRE(read.envelope.tag == i);
    ring.reader.pop();
    REQUIRE(ring.reader.look(read) == Look::kEmpty);
  }
}

// The first cells have random bytes. The reader answers, and reads inside of
// the ring only: preset asan sees an access behind the ring.
TEST_CASE("hmpi ring: a reader bears any bytes", "[hmpi][ring]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    Ring ring;
    auto* bytes = reinterpret_cast<unsigned char*>(ring.memory->cells.data());
    for (std::size_t i = 0; i < 8 * kCellBytes; ++i) {
      bytes[i] = static_cast<unsigned char>(random());
    }
    for (std::size_t i = 0; i < 8; ++i) {
      ring.memory->cells[i].turn.store(1);
      ring.memory->cells[i].kind = static_cast<std::uint8_t>(random() % 5);
    }
    Message message;
    std::uint64_t sum = 0;
    for (int i = 0; i < 8; ++i) {
      if (ring.reader.look(message) != Look::kMessage) {
        break;
      }
      for (const std::byte byte : message.in_ring) {
        sum += std::to_integer<std::uint64_t>(byte);
      }
      ring.reader.pop();
    }
    CHECK(sum < UINT64_MAX);
  }
}

}  // namespace hmpi
