// Memory that is unregistered after an operation was issued and before it
// starts, or between two steps of its chain. Each way finds that out before it
// touches or sends a byte.
#include <catch2/catch.hpp>

#include "support/messages.h"
#include "unit/engine_world.h"
#include "unit/runner_world.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

GlobalAddress key_of(GlobalAddress address) {
  return address & ~(gmm::kBaseAlignment - 1);
}

GlobalAddress starter_of(const RunnerWorld& world) {
  return world.space.codec().encode(0, 0, gmm::kStarterKey, 0, 0);
}

/// Rank 1 is of this host, and copies of this process reach its memory.
void unregister_all(RunnerWorld& world) {
  world.endpoint(1).cross_memory_status = Status::kOk;
  REQUIRE(world.keys.remove(0, key_of(world.mine)) == Status::kOk);
  REQUIRE(world.peer_keys.remove(1, key_of(world.theirs)) == Status::kOk);
}

/// Starts an operation that has waited while the regions were unregistered.
void check_start(RunnerWorld& world, std::vector<Step> steps) {
  Operation& operation = world.prepare(std::move(steps));
  unregister_all(world);
  world.runner.start(operation);
  world.pump();
  CHECK(world.has_ended(operation, Status::kBadKey));
  for (const Rank rank : {1U, 2U, 3U}) {
    CHECK(world.endpoint(rank).offers == 0);
    CHECK(world.endpoint(rank).cross_memory_copies == 0);
  }
  CHECK(world.memory[0] == std::byte{0});
  CHECK(world.peer_memory[0] == std::byte{0});
  CHECK_FALSE(world.runner.has_unsent());
}

}  // namespace

TEST_CASE("runner: memory unregistered before its operation starts",
          "[gma][runner]") {
  RunnerWorld world;
  SECTION("the source of a put") {
    check_start(world, {copy_step(world.far(2, 0), world.mine, 8)});
  }
  SECTION("the source of a put in parts") {
    check_start(world, {copy_step(world.far(2, 0), world.mine, 3000)});
  }
  SECTION("the destination of a get") {
    check_start(world, {copy_step(world.mine, world.far(2, 0), 8)});
  }
  SECTION("the result of an atomic at a far rank") {
    check_start(world, {word_step(Opcode::kAdd, world.far(2, 0), world.mine)});
  }
  SECTION("the result of an atomic here") {
    check_start(world,
                {word_step(Opcode::kAdd, starter_of(world), world.mine)});
    CHECK(*world.space.direct(starter_of(world), 8) == std::byte{0});
  }
  SECTION("a word here") {
    check_start(world, {word_step(Opcode::kPut8, world.mine, 0, 7)});
  }
  SECTION("a word that a rank of this host has registered") {
    check_start(world, {word_step(Opcode::kAdd, world.theirs, 0)});
  }
  SECTION("the destination of a copy in this process") {
    *world.space.direct(starter_of(world), 8) = std::byte{9};
    check_start(world, {copy_step(world.mine, starter_of(world), 8)});
  }
  SECTION("the source of a cross-memory copy") {
    check_start(world, {copy_step(starter_of(world), world.theirs, 8)});
  }
  SECTION("both ends of a bounce") {
    check_start(world, {copy_step(world.theirs, world.theirs + 64, 8)});
  }
  SECTION("the source of a copy to a far rank") {
    check_start(world, {copy_step(world.far(2, 0), world.theirs, 8)});
  }
  SECTION("the source of a put in a chain that goes as a whole") {
    check_start(world, {bulk_step(Opcode::kPut, world.far(2, 0), world.mine, 8),
                        word_step(Opcode::kAdd, world.far(2, 64), 0)});
  }
  SECTION("the first step of a chain that stays here") {
    check_start(world,
                {bulk_step(Opcode::kPut, starter_of(world), world.mine, 8),
                 word_step(Opcode::kAdd, starter_of(world) + 64, 0)});
    CHECK(*world.space.direct(starter_of(world) + 64, 8) == std::byte{0});
  }
}

TEST_CASE("runner: a source unregistered before its post", "[gma][runner]") {
  RunnerWorld world(1024, 4096);
  world.endpoint(2).post_status = [] {
    return Status::kOk;
  };
  check_start(world, {copy_step(world.far(2, 0), world.mine, 8)});
  CHECK(world.endpoint(2).posted.empty());
}

TEST_CASE("runner: memory unregistered between two steps of a chain",
          "[gma][runner]") {
  RunnerWorld world;
  // A chain with a copy runs step by step.
  const Step first = copy_step(world.far(2, 0), starter_of(world), 8);
  std::vector<Step> steps = {first};
  SECTION("the source of a put") {
    steps.push_back(bulk_step(Opcode::kPut, world.far(2, 64), world.mine, 8));
  }
  SECTION("the destination of a get") {
    steps.push_back(bulk_step(Opcode::kGet, world.far(2, 64), world.mine, 8));
  }
  SECTION("the result of an atomic") {
    steps.push_back(word_step(Opcode::kAdd, world.far(2, 64), world.mine));
  }
  SECTION("a word here") {
    steps.push_back(word_step(Opcode::kPut8, world.mine, 0, 7));
  }
  SECTION("the source of a copy here") {
    steps.push_back(copy_step(starter_of(world) + 64, world.mine, 8));
  }
  SECTION("the source of a cross-memory copy") {
    steps.push_back(copy_step(starter_of(world) + 64, world.theirs, 8));
  }
  const Operation& chain = world.start(std::move(steps));
  CHECK(world.ends_of(chain) == 0);
  unregister_all(world);
  world.answer(2);
  world.pump();
  CHECK(world.has_ended(chain, Status::kBadKey));
  CHECK(chain.current == 1);
  CHECK(world.endpoint(2).offers == 1);
  CHECK(world.endpoint(1).cross_memory_copies == 0);
  CHECK(world.memory[0] == std::byte{0});
}

// A signal is in front, so the operation waits. Its memory goes before the
// answer, and it must fail without a message.
TEST_CASE("engine: memory unregistered between issue and start",
          "[gma][engine]") {
  EngineUnderTest rank;
  std::vector<std::byte> memory(256);
  const GlobalAddress key =
      rank.keys().add(0, 0, memory.data(), memory.size()).value();
  const GlobalAddress mine =
      rank.keys().address_of(0, key, memory.data()).value();
  const GlobalAddress far =
      rank.space.codec().encode(1, 0, gmm::kStarterKey, 0, 64);
  rank.issue_signal();
  const Handle order = rank.engine.queue().issued();
  Handle late = kHandleNull;
  SECTION("the source of a put") {
    late = rank.engine.copy(far, mine, 8, order).value();
  }
  SECTION("the destination of a get") {
    late = rank.engine.copy(mine, far, 8, order).value();
  }
  SECTION("the result of an atomic") {
    late = rank.engine.atomic(Opcode::kAdd, 8, mine, far, 1, 0, order).value();
  }
  SECTION("a copy here") {
    late = rank.engine.copy(mine, mine + 64, 8, order).value();
  }
  REQUIRE(rank.keys().remove(0, key) == Status::kOk);
  const auto message = rank.endpoint().take();
  const auto request = protocol::decode_request(message);
  REQUIRE(request.has_value());
  const auto reply = test::reply_message(request->header.id, Status::kOk, 0,
                                         test::word_bytes(0));
  rank.pass_with([&] { rank.engine.runner().on_reply(reply); });
  CHECK(rank.engine.complete(late, TimePoint{}) == Status::kBadKey);
  CHECK(rank.endpoint().offers == 1);
}

}  // namespace acp::gma
