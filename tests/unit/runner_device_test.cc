// Atomics of 8 bytes that a device of their owner executes, and no CPU.
#include "unit/runner_world.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

/// A rank whose endpoints take every step that they are offered.
struct DeviceWorld {
  DeviceWorld() {
    for (const Rank rank : {Rank{0}, Rank{2}}) {
      says(rank, Status::kOk);
    }
  }

  void says(Rank rank, Status status) {
    world.endpoint(rank).post_status = [status] {
      return status;
    };
  }

  /// The oldest posted chain to `rank` is done.
  void complete_posted(Rank rank) {
    auto& posted = world.endpoint(rank).posted;
    REQUIRE_FALSE(posted.empty());
    const std::uint64_t token = posted.front().token;
    posted.pop_front();
    world.runner.on_posted_done(token);
    world.pump();
  }

  /// The next message to rank 2 rings and does nothing else.
  void answer_ring() {
    const protocol::Step ring = world.answer(2);
    CHECK(ring.opcode == Opcode::kPut);
    CHECK(ring.size == 0);
    CHECK(ring.flags == protocol::kSignalFlag);
    world.pump();
  }

  RunnerWorld world{1024, 700, gmm::Reach::kSelfDeviceAtomics};
};

Step signalled(Step step) {
  step.flags = protocol::kSignalFlag;
  return step;
}

}  // namespace

TEST_CASE("runner device: an atomic is posted, in color 0", "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  const Operation& add = world.start(
      {word_step(Opcode::kAdd, world.far(2, 64, 1), world.mine, 5)});
  REQUIRE(world.endpoint(2, 0).posted.size() == 1);
  const transport::RemoteStep step =
      world.endpoint(2, 0).posted.front().steps[0];
  CHECK(step.opcode == Opcode::kAdd);
  CHECK(step.operand == 5);
  CHECK(step.local_memory == world.memory.data());
  device.complete_posted(2);
  CHECK(world.has_ended(add, Status::kOk));
  CHECK(world.endpoint(2, 0).offers + world.endpoint(2, 1).offers == 0);
}

TEST_CASE("runner device: what the endpoint has no room for is offered again",
          "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  device.says(2, Status::kAgain);
  const Operation& add =
      world.start({word_step(Opcode::kAdd, world.far(2, 64), 0)});
  CHECK(world.runner.has_unsent());
  world.pump();
  CHECK(world.endpoint(2).posted.empty());
  device.says(2, Status::kOk);
  world.pump();
  device.complete_posted(2);
  CHECK(world.has_ended(add, Status::kOk));
  CHECK(world.endpoint(2).offers == 0);
}

TEST_CASE("runner device: of one that is impossible the agent says why",
          "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  device.says(2, Status::kUnsupported);
  const Operation& add =
      world.start({word_step(Opcode::kAdd, world.far(2, 64), 0)});
  const protocol::Step step = world.answer(2, Status::kBadAddress);
  CHECK(step.opcode == Opcode::kAdd);
  CHECK(world.has_ended(add, Status::kBadAddress));
}

TEST_CASE("runner device: my own words go by endpoint, except those of 4 bytes",
          "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  const Operation& own =
      world.start({word_step(Opcode::kAdd, world.mine + 64, world.mine)});
  CHECK(world.ends_of(own) == 0);
  device.complete_posted(0);
  CHECK(world.has_ended(own, Status::kOk));

  Step narrow = word_step(Opcode::kAdd, world.mine + 64, world.mine, 3);
  narrow.width = 4;
  CHECK(world.has_ended(world.start({narrow}), Status::kOk));
  CHECK(world.memory[64] == std::byte{3});
  CHECK(world.endpoint(0).posted.empty());
}

// A device cannot wake a sleeper. So the message that rings, or the doorbell of
// this process, has to come after the atomic has completed.
TEST_CASE("runner device: a signal follows the atomic", "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  SECTION("to a peer: a message that rings") {
    const Operation& add = world.start(
        {signalled(word_step(Opcode::kAdd, world.far(2, 64), world.mine))});
    CHECK(world.endpoint(2).posted.front().steps[0].flags == 0);
    CHECK(world.endpoint(2).sent.empty());
    device.complete_posted(2);
    CHECK(world.ends_of(add) == 0);
    device.answer_ring();
    CHECK(world.has_ended(add, Status::kOk));
  }
  SECTION("to a peer without room: later") {
    const Operation& add = world.start(
        {signalled(word_step(Opcode::kAdd, world.far(2, 64), world.mine))});
    world.endpoint(2).room = 0;
    device.complete_posted(2);
    CHECK(world.runner.has_unsent());
    world.endpoint(2).room = 1;
    world.pump();
    device.answer_ring();
    CHECK(world.has_ended(add, Status::kOk));
    CHECK(world.endpoint(2).posted.empty());
  }
  SECTION("to myself: at once") {
    const Operation& add = world.start(
        {signalled(word_step(Opcode::kAdd, world.mine + 64, world.mine))});
    protocol::SliceHeader* slice = world.space.slice_header(0);
    const auto before = slice->doorbell.load();
    slice->asleep.store(1);
    device.complete_posted(0);
    CHECK(slice->doorbell.load() != before);
    CHECK(world.has_ended(add, Status::kOk));
  }
}

TEST_CASE("runner device: a chain goes in one flight, its signal behind it",
          "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.far(2, 0, 1), world.mine, 100),
       signalled(word_step(Opcode::kAdd, world.far(2, 128, 1), 0))});
  REQUIRE(world.endpoint(2, 0).posted.size() == 1);
  CHECK(world.endpoint(2, 0).posted.front().steps.size() == 2);
  CHECK(world.endpoint(2, 0).posted.front().steps[1].flags == 0);
  device.complete_posted(2);
  CHECK(world.ends_of(chain) == 0);
  device.answer_ring();
  CHECK(world.has_ended(chain, Status::kOk));
}

TEST_CASE("runner device: a chain that no flight takes runs step by step",
          "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  auto& endpoint = world.endpoint(2);
  int offers = 0;
  // Neither the chain nor its put: the put goes by message, never an atomic.
  endpoint.post_status = [&offers] {
    return ++offers <= 2 ? Status::kUnsupported : Status::kOk;
  };
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.far(2, 0), world.mine, 8),
       signalled(word_step(Opcode::kSwap, world.far(2, 128), world.mine + 8)),
       bulk_step(Opcode::kGet, world.far(2, 0), world.mine + 16, 8)});
  CHECK(endpoint.posted.empty());
  CHECK(world.answer(2).opcode == Opcode::kPut);
  world.pump();
  REQUIRE(endpoint.posted.size() == 1);
  CHECK(endpoint.posted.front().steps[0].opcode == Opcode::kSwap);
  device.complete_posted(2);
  device.answer_ring();
  REQUIRE(endpoint.posted.size() == 1);
  CHECK(endpoint.posted.front().steps[0].opcode == Opcode::kGet);
  device.complete_posted(2);
  CHECK(world.has_ended(chain, Status::kOk));
}

TEST_CASE("runner device: of a chain on my own memory the copies are mine",
          "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  world.memory[0] = std::byte{42};
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.mine + 64, world.mine, 8),
       word_step(Opcode::kAdd, world.mine + 128, 0),
       bulk_step(Opcode::kGet, world.mine + 64, world.mine + 8, 8)});
  CHECK(world.memory[64] == std::byte{42});
  CHECK(world.memory[8] == std::byte{0});
  REQUIRE(world.endpoint(0).posted.size() == 1);
  CHECK(world.endpoint(0).posted.front().steps.size() == 1);
  device.complete_posted(0);
  CHECK(world.memory[8] == std::byte{42});
  CHECK(world.has_ended(chain, Status::kOk));
}

TEST_CASE("runner device: the peer dies before its signal", "[gma][runner]") {
  DeviceWorld device;
  RunnerWorld& world = device.world;
  const Operation& add = world.start(
      {signalled(word_step(Opcode::kAdd, world.far(2, 64), world.mine))});
  device.complete_posted(2);
  world.runner.fail_peer(12, Status::kPeerDead);
  CHECK(world.has_ended(add, Status::kPeerDead));
  CHECK_FALSE(world.runner.has_unsent());
}

}  // namespace acp::gma
