// Copies between two other ranks by way of this one.
#include <algorithm>
#include <cstring>
#include <random>

#include "gma/relay.h"
#include "support/seeds.h"
#include "unit/runner_peer.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

constexpr std::size_t kRelayMessage = 4096;
constexpr std::size_t kRelayPosted = Relay::kBufferBytes;

/// No two places of a seed alike, nor one place of two seeds.
void fill_words(std::span<std::byte> memory, std::uint64_t seed) {
  for (std::size_t i = 0; i + 8 <= memory.size(); i += 8) {
    const std::uint64_t word = seed << 48 | i;
    std::memcpy(memory.data() + i, &word, 8);
  }
}

/// Ranks 2 and 3, whose endpoints do everything unless a test says otherwise.
struct TwoPeers {
  explicit TwoPeers(std::size_t bytes) : two(bytes), three(bytes) {
    fill_words(two.memory, 2);
    fill_words(three.memory, 3);
    world.endpoint(2).post_status = always(Status::kOk);
    world.endpoint(3).post_status = always(Status::kOk);
  }

  /// The oldest thing that is under way to `rank`; false: nothing is.
  bool deliver(Rank rank) {
    Peer& peer = rank == 2 ? two : three;
    auto& endpoint = world.endpoint(rank);
    if (!endpoint.posted.empty()) {
      complete_oldest(world, peer, rank);
    } else if (!endpoint.sent.empty()) {
      world.runner.on_reply(peer.answer(endpoint.take(), world.space.codec()));
    } else {
      return false;
    }
    world.pump();
    return true;
  }

  void deliver_all() {
    while (deliver(2) || deliver(3)) {
    }
  }

  RunnerWorld world{kRelayMessage, kRelayPosted};
  Peer two;
  Peer three;
};

}  // namespace

TEST_CASE("runner relay: a read, then a write, and no message",
          "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  const Operation& copy =
      world.start({copy_step(world.far(3, 64), world.far(2, 8), 100)});
  REQUIRE(world.endpoint(2).posted.size() == 1);
  CHECK(world.endpoint(2).posted.front().steps[0].opcode == Opcode::kGet);
  CHECK(world.endpoint(3).posted.empty());
  CHECK(peers.deliver(2));
  REQUIRE(world.endpoint(3).posted.size() == 1);
  CHECK(world.endpoint(3).posted.front().steps[0].opcode == Opcode::kPut);
  CHECK(world.ends_of(copy) == 0);
  CHECK(peers.deliver(3));
  CHECK(world.has_ended(copy, Status::kOk));
  CHECK(std::memcmp(peers.three.memory.data() + 64, peers.two.memory.data() + 8,
                    100) == 0);
  CHECK(world.endpoint(2).offers + world.endpoint(3).offers == 0);
}

TEST_CASE("runner relay: colors are those of the two addresses",
          "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  world.endpoint(2, 1).post_status = always(Status::kOk);
  world.start({copy_step(world.far(3, 0), world.far(2, 0, 1), 100)});
  CHECK(world.endpoint(2).posted.empty());
  REQUIRE(world.endpoint(2, 1).posted.size() == 1);
}

TEST_CASE("runner relay: a large copy takes all buffers, and no more",
          "[gma][runner][relay]") {
  constexpr std::uint64_t kBytes = 20 * Relay::kBufferBytes + 77;
  TwoPeers peers(kBytes);
  RunnerWorld& world = peers.world;
  const Operation& copy =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), kBytes)});
  CHECK(world.endpoint(2).posted.size() == Relay::kBuffers);
  // The writes of the first parts go with the reads of the next ones.
  CHECK(peers.deliver(2));
  CHECK(peers.deliver(3));
  CHECK(world.endpoint(2).posted.size() == Relay::kBuffers);
  // A small copy comes after pieces that are made already.
  const Operation& late =
      world.start({copy_step(world.far(2, 9), world.far(3, 9), 8)});
  CHECK(world.endpoint(3).posted.empty());
  peers.deliver_all();
  CHECK(world.has_ended(copy, Status::kOk));
  CHECK(world.has_ended(late, Status::kOk));
  CHECK(peers.two.memory == peers.three.memory);
}

// A relay reads from one peer and writes to another one. Each half may be
// refused on its own.
TEST_CASE("runner relay: what the endpoint does not take goes by message",
          "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  SECTION("neither") {
    world.endpoint(2).post_status = always(Status::kUnsupported);
    world.endpoint(3).post_status = always(Status::kUnsupported);
  }
  SECTION("the read") {
    world.endpoint(2).post_status = always(Status::kUnsupported);
  }
  SECTION("the write") {
    world.endpoint(3).post_status = always(Status::kUnsupported);
  }
  const Operation& copy =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), 4096)});
  peers.deliver_all();
  CHECK(world.has_ended(copy, Status::kOk));
  CHECK(peers.two.memory == peers.three.memory);
}

TEST_CASE("runner relay: a chain goes on behind it", "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  std::memset(peers.three.memory.data() + 512, 0, 8);
  const Operation& chain =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), 500),
                   word_step(Opcode::kAdd, world.far(3, 512), 0, 7)});
  CHECK(peers.deliver(2));
  CHECK(world.endpoint(3).posted.size() == 1);  // the word has to wait
  peers.deliver_all();
  CHECK(world.has_ended(chain, Status::kOk));
  CHECK(peers.three.memory[512] == std::byte{7});
  CHECK(std::memcmp(peers.three.memory.data(), peers.two.memory.data(), 500) ==
        0);
}

TEST_CASE("runner relay: one end is registered by a rank of this host",
          "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  world.endpoint(1).cross_memory_status = Status::kOk;
  fill_words(std::span(world.peer_memory).first(4096), 1);
  // The "other process" is the test's own, so peer_space has its address.
  const Operation& copy =
      world.start({copy_step(world.far(3, 0), world.theirs, 4096)});
  CHECK(world.endpoint(1).cross_memory_copies == 1);
  CHECK(world.endpoint(1).offers == 0);
  peers.deliver_all();
  CHECK(world.has_ended(copy, Status::kOk));
  CHECK(std::equal(peers.three.memory.begin(), peers.three.memory.end(),
                   world.peer_memory.begin()));
}

TEST_CASE("runner relay: memory of one rank is moved by its owner",
          "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  world.start({copy_step(world.far(2, 8), world.far(2, 0), 100)});
  CHECK(world.endpoint(2).posted.empty());
  CHECK(world.answer(2).opcode == Opcode::kCopy);
}

TEST_CASE("runner relay: without such endpoints the source's owner is asked",
          "[gma][runner][relay]") {
  RunnerWorld world(kRelayMessage, 0);
  world.start({copy_step(world.far(3, 8), world.far(2, 0), 100)});
  CHECK(world.answer(2).opcode == Opcode::kCopy);
}

TEST_CASE("runner relay: a part that fails ends its copy once, and no other",
          "[gma][runner][relay]") {
  constexpr std::uint64_t kBytes = 20 * Relay::kBufferBytes;
  TwoPeers peers(kBytes);
  RunnerWorld& world = peers.world;
  // The endpoint refuses, so the owner is asked, and names the error.
  world.endpoint(2).post_status = always(Status::kUnsupported);
  const Operation& bad =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), kBytes)});
  const Operation& good =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), 4096 - 64)});
  CHECK(world.answer(2, Status::kBadKey).opcode == Opcode::kGet);
  world.pump();
  CHECK(world.ends_of(bad) == 0);  // others of its parts are under way
  peers.deliver_all();
  CHECK(world.has_ended(bad, Status::kBadKey));
  CHECK(bad.failed_end == CopyEnd::kSource);
  CHECK(world.has_ended(good, Status::kOk));
  CHECK_FALSE(world.runner.has_unsent());
}

TEST_CASE("runner relay: a copy whose destination fails knows that",
          "[gma][runner][relay]") {
  TwoPeers peers(4096);
  RunnerWorld& world = peers.world;
  world.endpoint(3).post_status = always(Status::kUnsupported);
  const Operation& copy =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), 100)});
  CHECK(peers.deliver(2));
  CHECK(world.answer(3, Status::kBadKey).opcode == Opcode::kPut);
  CHECK(world.has_ended(copy, Status::kBadKey));
  CHECK(copy.failed_end == CopyEnd::kDestination);
}

// The owner of the source says in its reply at which end the copy has failed.
// If that rank is lost, it is the source.
TEST_CASE("runner: a delegated copy that fails knows at which end",
          "[gma][runner]") {
  struct Case {
    std::uint16_t failed_step;
    CopyEnd end;
  };

  for (const Case& one :
       {Case{protocol::kSourceFailed, CopyEnd::kSource},
        Case{protocol::kDestinationFailed, CopyEnd::kDestination}}) {
    RunnerWorld world(kRelayMessage, 0);
    const Operation& copy =
        world.start({copy_step(world.far(3, 8), world.far(2, 0), 100)});
    CHECK(world.answer(2, Status::kPeerDead, {}, one.failed_step).opcode ==
          Opcode::kCopy);
    CHECK(world.has_ended(copy, Status::kPeerDead));
    CHECK(copy.failed_end == one.end);
  }
  RunnerWorld world(kRelayMessage, 0);
  const Operation& copy =
      world.start({copy_step(world.far(3, 8), world.far(2, 0), 100)});
  world.runner.fail_peer(2 + 10, Status::kPeerDead);
  CHECK(world.has_ended(copy, Status::kPeerDead));
  CHECK(copy.failed_end == CopyEnd::kSource);
}

// Endpoints refuse posts at random, and one of two peers is lost after a random
// number of events. Each copy has to end once.
TEST_CASE("runner relay: peers may be lost at any moment",
          "[gma][runner][relay]") {
  constexpr std::uint64_t kOwn = 2 * Relay::kBufferBytes;
  constexpr std::size_t kCopies = 8;
  for (std::uint32_t seed = 1; seed <= test::seeds_of_one_thread(60); ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    TwoPeers peers(kCopies * kOwn);
    RunnerWorld& world = peers.world;
    for (const Rank rank : {2U, 3U}) {
      world.endpoint(rank).post_status = [&random] {
        const auto dice = random() % 10;
        return dice < 6   ? Status::kOk
               : dice < 8 ? Status::kAgain
                          : Status::kUnsupported;
      };
    }
    std::vector<std::byte> expected = peers.three.memory;
    std::vector<const Operation*> copies;
    const std::size_t lost_at = seed % 4 == 0 ? SIZE_MAX : random() % 100;
    const Rank lost = 2 + random() % 2;
    for (std::size_t event = 0; event < lost_at; ++event) {
      if (copies.size() < kCopies && random() % 4 == 0) {
        const std::uint64_t at = copies.size() * kOwn;
        const std::uint64_t size = 1 + random() % kOwn;
        copies.push_back(&world.start(
            {copy_step(world.far(3, at), world.far(2, at), size)}));
        std::memcpy(expected.data() + at, peers.two.memory.data() + at, size);
      } else if (!peers.deliver(2 + random() % 2) && copies.size() == kCopies &&
                 !world.runner.has_unsent() && !peers.deliver(2) &&
                 !peers.deliver(3)) {
        break;
      }
      world.pump();
    }
    const bool is_lost = lost_at != SIZE_MAX;
    if (is_lost) {
      world.runner.fail_peer(lost + 10, Status::kPeerDead);
      world.endpoint(lost).post_status = always(Status::kPeerDead);
      world.endpoint(lost).failure = Status::kPeerDead;
      world.endpoint(lost).posted.clear();
      world.endpoint(lost).sent.clear();
      for (int i = 0; i < 1'000; ++i) {
        world.pump();
        peers.deliver(5 - lost);
      }
    }
    for (const Operation* copy : copies) {
      REQUIRE(world.ends_of(*copy) == 1);
      REQUIRE((copy->status == Status::kOk ||
               (is_lost && copy->status == Status::kPeerDead)));
      if (copy->status != Status::kOk) {
        REQUIRE(copy->failed_end ==
                (lost == 2 ? CopyEnd::kSource : CopyEnd::kDestination));
      }
    }
    REQUIRE_FALSE(world.runner.has_unsent());
    if (!is_lost) {
      REQUIRE(expected == peers.three.memory);
    }
  }
}

}  // namespace acp::gma
