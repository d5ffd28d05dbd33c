// CommandRing: producers in threads and in processes, and a ring that is full.
#include "transport/shm/command_ring.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "support/host_memory.h"
#include "support/verdict.h"

namespace acp::shm {

namespace {

constexpr std::uint32_t kProducers = 4;
constexpr std::uint32_t kMessages = 100'000;

/// The head of each message. It shows loss, doubling and tearing.
struct Token {
  std::uint32_t number;
  std::uint32_t inverse;
};

CommandRing ring_of(const test::HostMemory& host) {
  return CommandRing(host.segment().slice(0), host.segment().header());
}

/// Sends kMessages tokens in two parts with a tail of varying length.
bool produce(const test::HostMemory& host, std::uint32_t from) {
  CommandRing ring = ring_of(host);
  std::array<std::byte, 64> tail{};
  tail.fill(static_cast<std::byte>(from));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Token token{i, ~i};
    const std::array<std::span<const std::byte>, 2> parts = {
        std::as_bytes(std::span(&token, 1)),
        std::span<const std::byte>(tail).first(i % tail.size())};
    if (!test::comes_true(
            [&] { return ring.push(from, from + 10, parts) == Status::kOk; })) {
      return false;
    }
  }
  return true;
}

/// Takes all messages of kProducers producers, and checks their order.
void consume(const test::HostMemory& host, test::Verdict& verdict) {
  CommandRing ring = ring_of(host);
  std::array<std::uint32_t, kProducers> next{};
  for (std::uint32_t taken = 0; taken < kProducers * kMessages; ++taken) {
    RingMessage message;
    if (!test::comes_true([&] { return ring.front(message); })) {
      verdict.expect(false, "a message is missing");
      return;
    }
    Token token{};
    if (!verdict.expect(message.from < kProducers &&
                            message.color == message.from + 10 &&
                            message.bytes.size() >= sizeof token,
                        "the message's head")) {
      return;
    }
    std::memcpy(&token, message.bytes.data(), sizeof token);
    const auto tail = message.bytes.subspan(sizeof token);
    verdict.expect(token.number == next[message.from]++, "order and number");
    verdict.expect(token.inverse == ~token.number, "whole token");
    verdict.expect(tail.size() == token.number % 64, "size");
    verdict.expect(std::all_of(tail.begin(), tail.end(),
                               [&](std::byte byte) {
                                 return byte ==
                                        static_cast<std::byte>(message.from);
                               }),
                   "tail");
    ring.release();
  }
  RingMessage none;
  verdict.expect(!ring.front(none), "nothing is left");
  verdict.expect(ring.is_empty(), "empty at the end");
}

}  // namespace

TEST_CASE("command ring: four threads, each message once and in order",
          "[shm][command_ring]") {
  const test::HostMemory host(1);
  test::Verdict verdict;
  std::vector<std::thread> producers;
  for (std::uint32_t from = 0; from < kProducers; ++from) {
    producers.emplace_back([&, from] {
      verdict.expect(produce(host, from), "a producer found no room");
    });
  }
  consume(host, verdict);
  for (std::thread& producer : producers) {
    producer.join();
  }
  CHECK(verdict.failure() == std::string());
}

// The producers are processes, so the ring is shared memory as in a job. The
// consumer is this one.
TEST_CASE("command ring: four processes, each message once and in order",
          "[shm][command_ring]") {
  const test::HostMemory host(1);
  std::vector<pid_t> children;
  for (std::uint32_t from = 0; from < kProducers; ++from) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::_exit(produce(host, from) ? 0 : 1);
    }
    children.push_back(child);
  }
  test::Verdict verdict;
  consume(host, verdict);
  for (const pid_t child : children) {
    int status = -1;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(verdict.failure() == std::string());
}

TEST_CASE("command ring: full is an answer, and nothing is overwritten",
          "[shm][command_ring]") {
  const test::HostMemory host(1);
  CommandRing ring = ring_of(host);
  CHECK(ring.is_empty());
  // Fill the ring several times, from every position in it.
  std::uint32_t sent = 0;
  std::uint32_t taken = 0;
  const auto push = [&] {
    const auto bytes = std::as_bytes(std::span(&sent, 1));
    const Status status = ring.push(sent, 0, {&bytes, 1});
    sent += status == Status::kOk ? 1 : 0;
    return status;
  };
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    while (push() == Status::kOk) {
    }
    REQUIRE(sent - taken == protocol::kRingEntries);
    REQUIRE(push() == Status::kAgain);
    REQUIRE_FALSE(ring.is_empty());
    for (auto n = random() % protocol::kRingEntries + 1; n > 0; --n) {
      RingMessage message;
      REQUIRE(ring.front(message));
      std::uint32_t number = 0;
      REQUIRE(message.bytes.size() == sizeof number);
      std::memcpy(&number, message.bytes.data(), sizeof number);
      REQUIRE(number == taken);
      REQUIRE(message.from == taken);
      ring.release();
      ++taken;
    }
  }
}

TEST_CASE("command ring: messages up to the largest, in parts",
          "[shm][command_ring]") {
  const test::HostMemory host(1);
  CommandRing ring = ring_of(host);
  std::mt19937 random(4);
  std::vector<std::byte> bytes(protocol::kRingMessageBytes + 1);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  const auto all = std::span<const std::byte>(bytes);
  for (std::size_t place = 0; place < 2 * protocol::kRingEntries; ++place) {
    const std::array<std::span<const std::byte>, 4> parts = {
        all.first(place),
        {},
        all.subspan(place, 1000),
        all.subspan(place + 1000, protocol::kRingMessageBytes - place - 1000)};
    REQUIRE(ring.push(7, 3, parts) == Status::kOk);
    RingMessage message;
    REQUIRE(ring.front(message));
    REQUIRE(message.from == 7);
    REQUIRE(message.color == 3);
    REQUIRE(std::equal(message.bytes.begin(), message.bytes.end(), all.begin(),
                       all.end() - 1));
    ring.release();
  }
  CHECK(ring.push(7, 3, {}) == Status::kOk);
  RingMessage empty;
  REQUIRE(ring.front(empty));
  CHECK(empty.bytes.empty());
  ring.release();
  // A message that is a byte too large is refused and takes no room.
  CHECK(ring.push(7, 3, {&all, 1}) == Status::kTooLarge);
  CHECK(ring.is_empty());
  CHECK(ring.push(8, 3, {}) == Status::kOk);
  REQUIRE(ring.front(empty));
  CHECK(empty.from == 8);
}

TEST_CASE("command ring: an impossible size is not believed",
          "[shm][command_ring]") {
  const test::HostMemory host(1);
  CommandRing ring = ring_of(host);
  REQUIRE(ring.push(1, 2, {}) == Status::kOk);
  std::byte* place =
      host.segment().slice(0) + host.segment().header().ring_offset;
  // The size lies behind sequence, sender and color.
  const std::uint32_t size = protocol::kRingMessageBytes + 1;
  std::memcpy(place + 16, &size, sizeof size);
  RingMessage message;
  CHECK_FALSE(ring.front(message));
}

}  // namespace acp::shm
