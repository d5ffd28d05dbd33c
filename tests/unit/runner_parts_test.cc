// Puts that do not fit one message, and the words that go with them.
#include <algorithm>

#include "unit/runner_world.h"

namespace acp::gma {

namespace {

using protocol::Opcode;
using transport::Ordering;

constexpr std::size_t kPart = 1024 - 48;

struct Sent {
  std::vector<std::byte> bytes;
  protocol::RequestView view;
};

/// The oldest request to rank 2.
Sent take(RunnerWorld& world) {
  Sent sent;
  sent.bytes = world.endpoint(2).take();
  const auto view = protocol::decode_request(sent.bytes);
  REQUIRE(view.has_value());
  sent.view = *view;
  return sent;
}

bool is_part(const Sent& sent) {
  return (sent.view.header.flags & protocol::kMoreFlag) != 0;
}

/// A put of `size` bytes to rank 2, and words behind it.
std::vector<Step> put_and(const RunnerWorld& world,
                          std::size_t size,
                          std::vector<Step> words) {
  words.insert(words.begin(),
               bulk_step(Opcode::kPut, world.far(2, 4096), world.mine, size));
  return words;
}

}  // namespace

TEST_CASE(
    "runner parts: a large put is one request, whose last part is ordered",
    "[gma][runner]") {
  RunnerWorld world;
  const Operation& put =
      world.start({copy_step(world.far(2, 0), world.mine, 3 * kPart - 70)});
  auto& endpoint = world.endpoint(2);
  REQUIRE(endpoint.sent.size() == 3);
  CHECK(endpoint.orderings ==
        std::vector{Ordering::kFree, Ordering::kFree, Ordering::kOrdered});
  std::vector<Sent> sent;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(take(world));
    CHECK(sent[i].view.header.id == sent[0].view.header.id);
    CHECK(is_part(sent[i]) == (i < 2));
  }
  // The parts are as equal as possible.
  CHECK(sent[0].view.data.size() == sent[1].view.data.size());
  CHECK(sent[2].view.data.size() + 2 * 64 > sent[0].view.data.size());
  CHECK(world.ends_of(put) == 0);
  world.runner.on_reply(
      test::reply_message(sent[2].view.header.id, Status::kOk, 0, {}));
  CHECK(world.has_ended(put, Status::kOk));
}

// All parts but the last have one step. The sections give each answer that the
// last one can get.
TEST_CASE("runner parts: words behind a put go with its last part",
          "[gma][runner]") {
  RunnerWorld world;
  std::fill_n(world.memory.begin(), 64, std::byte{0xee});
  const Operation& chain = world.start(
      put_and(world, 2 * kPart,
              {word_step(Opcode::kPut8, world.far(2, 0), 0, 5),
               word_step(Opcode::kAdd, world.far(2, 8), world.mine + 16, 7)}));
  std::size_t bytes = 0;
  while (world.endpoint(2).sent.size() > 1) {
    const Sent part = take(world);
    CHECK(part.view.header.steps == 1);
    bytes += part.view.data.size();
  }
  const Sent last = take(world);
  CHECK(bytes + last.view.data.size() == 2 * kPart);
  REQUIRE(last.view.header.steps == 3);
  CHECK(last.view.step(1).operand == 5);
  CHECK(last.view.step(2).operand == 7);
  SECTION("all are done") {
    world.runner.on_reply(test::reply_message(last.view.header.id, Status::kOk,
                                              0, test::word_bytes(99)));
    CHECK(world.has_ended(chain, Status::kOk));
    CHECK(test::word_of(std::span(world.memory).subspan(16)) == 99);
    CHECK(world.endpoint(2).sent.empty());
  }
  SECTION("the put has failed") {
    world.runner.on_reply(
        test::reply_message(last.view.header.id, Status::kBadAddress, 0, {}));
    CHECK(world.has_ended(chain, Status::kBadAddress));
    CHECK(chain.current == 0);
    CHECK(world.memory[16] == std::byte{0xee});
  }
  SECTION("a word has failed") {
    world.runner.on_reply(
        test::reply_message(last.view.header.id, Status::kMisaligned, 2, {}));
    CHECK(world.has_ended(chain, Status::kMisaligned));
    CHECK(chain.current == 2);
  }
  SECTION("a result is missing") {
    world.runner.on_reply(
        test::reply_message(last.view.header.id, Status::kOk, 0, {}));
    CHECK(world.ends_of(chain) == 1);
    CHECK(chain.status != Status::kOk);
    CHECK(chain.current == 2);
  }
}

TEST_CASE("runner parts: several puts in turn are one request",
          "[gma][runner]") {
  RunnerWorld world;
  auto& endpoint = world.endpoint(2);
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.far(2, 0), world.mine + 512, 2 * kPart),
       bulk_step(Opcode::kPut, world.far(2, 64), world.mine, 0),
       bulk_step(Opcode::kPut, world.far(2, 128), world.mine, 600),
       bulk_step(Opcode::kPut, world.far(2, 4096), world.mine + 8, kPart + 1),
       word_step(Opcode::kAdd, world.far(2, 8), 0, 7)});
  // A put may not take effect before the put in front of it.
  CHECK(endpoint.orderings == std::vector{Ordering::kFree, Ordering::kFree,
                                          Ordering::kFree, Ordering::kOrdered,
                                          Ordering::kOrdered,
                                          Ordering::kOrdered});
  CHECK(endpoint.in_place.size() == 6);
  std::vector<std::uint64_t> indices;
  std::array<std::uint64_t, 4> bytes{};
  Sent sent;
  while (!endpoint.sent.empty()) {
    sent = take(world);
    CHECK(is_part(sent) == !endpoint.sent.empty());
    const Step put = sent.view.step(0);
    indices.push_back(put.operand);
    bytes.at(put.operand) += put.size;
  }
  CHECK(indices == std::vector<std::uint64_t>{0, 0, 0, 2, 3, 3});
  CHECK(bytes == std::array<std::uint64_t, 4>{2 * kPart, 0, 600, kPart + 1});
  CHECK(sent.view.header.steps == 2);
  CHECK(sent.view.step(1).operand == 7);
  const std::uint64_t id = sent.view.header.id;
  SECTION("all are done") {
    world.runner.on_reply(
        test::reply_message(id, Status::kOk, 0, test::word_bytes(1)));
    CHECK(world.has_ended(chain, Status::kOk));
    CHECK(endpoint.sent.empty());
  }
  SECTION("a put has failed") {
    world.runner.on_reply(test::reply_message(id, Status::kBadAddress, 2, {}));
    CHECK(world.has_ended(chain, Status::kBadAddress));
    CHECK(chain.current == 2);
  }
  SECTION("the word has failed") {
    world.runner.on_reply(test::reply_message(id, Status::kMisaligned, 4, {}));
    CHECK(world.has_ended(chain, Status::kMisaligned));
    CHECK(chain.current == 4);
  }
  CHECK(endpoint.in_place.empty());
}

// The agent numbers words from the index that the last part says, and an empty
// put has no part. So the words follow in a request of their own.
TEST_CASE("runner parts: words behind an empty put do not join the parts",
          "[gma][runner]") {
  RunnerWorld world;
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.far(2, 4096), world.mine, 2 * kPart),
       bulk_step(Opcode::kPut, world.far(2, 0), world.mine, 0),
       word_step(Opcode::kAdd, world.far(2, 8), 0, 7)});
  Sent last;
  while (!world.endpoint(2).sent.empty()) {
    last = take(world);
    CHECK(last.view.header.steps == 1);
    CHECK(last.view.step(0).operand == 0);
  }
  world.runner.on_reply(
      test::reply_message(last.view.header.id, Status::kOk, 0, {}));
  const Sent word = take(world);
  CHECK(word.view.step(0).opcode == Opcode::kAdd);
  world.runner.on_reply(
      test::reply_message(word.view.header.id, Status::kMisaligned, 0, {}));
  CHECK(world.has_ended(chain, Status::kMisaligned));
  CHECK(chain.current == 2);
}

// The memory is unregistered when a part of the second put has gone. The target
// waits for a last part, so an empty one ends the request, and the operation
// fails at the second put.
TEST_CASE("runner parts: the source of a later put is gone", "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 1;
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.far(2, 0), world.mine, kPart),
       bulk_step(Opcode::kPut, world.far(2, 4096), world.mine, kPart),
       word_step(Opcode::kAdd, world.far(2, 8), 0, 7)});
  while (take(world).view.step(0).operand == 0) {
    world.runner.pump();
  }
  REQUIRE(world.keys.remove(0, world.mine & ~std::uint64_t{63}) == Status::kOk);
  world.runner.pump();
  const Sent end = take(world);
  CHECK_FALSE(is_part(end));
  CHECK(end.view.header.steps == 1);
  CHECK(end.view.step(0).size == 0);
  world.runner.on_reply(
      test::reply_message(end.view.header.id, Status::kOk, 0, {}));
  CHECK(world.has_ended(chain, Status::kBadKey));
  CHECK(chain.current == 1);
}

// One word may go along with the last part, and the step behind it may not. It
// is sent only after the answer.
TEST_CASE("runner parts: what cannot go along follows the answer",
          "[gma][runner]") {
  RunnerWorld world;
  Step behind;
  SECTION("a get") {
    behind = bulk_step(Opcode::kGet, world.far(2, 0), world.mine, 8);
  }
  SECTION("a word of another rank") {
    behind = word_step(Opcode::kAdd, world.far(3, 0), world.mine);
  }
  SECTION("a word by another path") {
    behind = word_step(Opcode::kAdd, world.far(2, 0, 1), world.mine);
  }
  SECTION("a word whose result has no address") {
    behind = word_step(Opcode::kAdd, world.far(2, 0),
                       world.mine + RunnerWorld::kMemory);
  }
  const Operation& chain = world.start(
      put_and(world, 2 * kPart,
              {word_step(Opcode::kPut8, world.far(2, 0), 0), behind}));
  while (world.endpoint(2).sent.size() > 1) {
    world.answer(2);
  }
  CHECK(world.endpoint(3).sent.empty());
  CHECK(world.endpoint(2, 1).sent.empty());
  CHECK(protocol::decode_request(world.endpoint(2).sent[0])->header.steps == 2);
  world.answer(2);
  world.runner.pump();
  const bool has_place = world.space.own(behind.local, 8).ok();
  CHECK(world.ends_of(chain) == (has_place ? 0 : 1));
  CHECK(world.endpoint(2).sent.size() + world.endpoint(3).sent.size() +
            world.endpoint(2, 1).sent.size() ==
        (has_place ? 1 : 0));
}

TEST_CASE("runner parts: the smallest messages take some words along",
          "[gma][runner]") {
  RunnerWorld world(486);  // datagrams of 576 bytes
  const Operation& chain = world.start(put_and(
      world, 2000,
      std::vector<Step>(15, word_step(Opcode::kPut8, world.far(2, 0), 0))));
  std::size_t steps = 0;
  while (!world.endpoint(2).sent.empty()) {
    const auto request = protocol::decode_request(world.endpoint(2).sent[0]);
    REQUIRE(request.has_value());
    steps += is_part({{}, *request}) ? 0 : request->header.steps;
    world.answer(2);
    world.runner.pump();
  }
  CHECK(steps == 16);
  CHECK(world.has_ended(chain, Status::kOk));
}

TEST_CASE("runner parts: a full endpoint takes one part after the other",
          "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 1;
  const Operation& chain = world.start(
      put_and(world, 4 * kPart, {word_step(Opcode::kAdd, world.far(2, 0), 0)}));
  std::uint64_t next = world.far(2, 4096);
  for (bool is_last = false; !is_last; world.runner.pump()) {
    REQUIRE(world.endpoint(2).sent.size() == 1);
    const auto request = protocol::decode_request(world.endpoint(2).sent[0]);
    is_last = request->header.steps == 2;
    const auto step = world.answer(2, Status::kOk, test::word_bytes(0));
    CHECK(step.remote == next);
    next += step.size;
  }
  CHECK(next == world.far(2, 4096) + 4 * kPart);
  CHECK(world.has_ended(chain, Status::kOk));
  CHECK_FALSE(world.runner.has_unsent());
}

// The endpoint notes memory that it reads in place. It has to be reclaimed at
// each end of an operation, good or bad.
TEST_CASE("runner parts: the source is read in place, and not after the end",
          "[gma][runner]") {
  RunnerWorld world;
  auto& endpoint = world.endpoint(2);
  SECTION("in parts") {
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, 3 * kPart)});
    CHECK(endpoint.in_place.size() == 3);
    world.answer(2);
    world.answer(2);
    CHECK(endpoint.in_place.size() == 3);
    world.answer(2);
    CHECK(world.has_ended(put, Status::kOk));
  }
  SECTION("in one message, which is refused") {
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, kPart / 2)});
    CHECK(endpoint.in_place.size() == 1);
    world.answer(2, Status::kBadKey);
    CHECK(world.has_ended(put, Status::kBadKey));
  }
  SECTION("in a chain") {
    const Operation& chain = world.start(
        put_and(world, 100, {word_step(Opcode::kAdd, world.far(2, 0), 0)}));
    CHECK(endpoint.in_place.size() == 1);
    world.answer(2, Status::kOk, test::word_bytes(0));
    CHECK(world.has_ended(chain, Status::kOk));
  }
  SECTION("by a peer that dies") {
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, 3 * kPart)});
    world.runner.fail_peer(12, Status::kPeerDead);
    CHECK(world.has_ended(put, Status::kPeerDead));
  }
  CHECK(endpoint.in_place.empty());
}

TEST_CASE("runner parts: the end of one leaves the sources of others",
          "[gma][runner]") {
  RunnerWorld world;
  auto& endpoint = world.endpoint(2);
  const Operation& first =
      world.start({copy_step(world.far(2, 0), world.mine, kPart / 2)});
  const Operation& second = world.start(
      {copy_step(world.far(2, 0), world.mine + kPart / 2, 3 * kPart)});
  CHECK(endpoint.in_place.size() == 4);
  world.answer(2);
  CHECK(world.has_ended(first, Status::kOk));
  CHECK(endpoint.in_place.size() == 3);
  for (int i = 0; i < 3; ++i) {
    world.answer(2);
  }
  CHECK(world.has_ended(second, Status::kOk));
  CHECK(endpoint.in_place.empty());
}

TEST_CASE("runner parts: few bytes of a source are copied at once",
          "[gma][runner]") {
  RunnerWorld world;
  const auto& endpoint = world.endpoint(2);
  const Operation& put =
      world.start({copy_step(world.far(2, 0), world.mine, 432)});
  CHECK(endpoint.sent.size() == 1);
  CHECK(endpoint.in_place.empty());
  world.start({copy_step(world.far(2, 0), world.mine, 433)});
  CHECK(endpoint.in_place.size() == 1);
  world.answer(2);
  CHECK(world.has_ended(put, Status::kOk));
}

TEST_CASE("runner parts: requests without data have nothing to read in place",
          "[gma][runner]") {
  RunnerWorld world;
  world.start({word_step(Opcode::kAdd, world.far(2, 0), 0),
               word_step(Opcode::kAdd, world.far(2, 8), 0)});
  world.start({copy_step(world.mine, world.far(2, 0), 100)});
  CHECK(world.endpoint(2).sent.size() == 2);
  CHECK(world.endpoint(2).in_place.empty());
}

TEST_CASE("runner parts: a source unregistered under way ends what was begun",
          "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 1;
  const Operation& chain = world.start(
      put_and(world, 3 * kPart, {word_step(Opcode::kAdd, world.far(2, 0), 0)}));
  const GlobalAddress key = world.mine & ~std::uint64_t{63};
  REQUIRE(world.keys.remove(0, key) == Status::kOk);
  world.runner.pump();  // the endpoint is full: a later pump() sends
  CHECK(world.runner.has_unsent());
  CHECK(is_part(take(world)));
  world.runner.pump();
  const Sent end = take(world);
  CHECK_FALSE(is_part(end));
  CHECK(end.view.header.steps == 1);
  CHECK(end.view.step(0).size == 0);
  CHECK(world.ends_of(chain) == 0);
  world.runner.on_reply(
      test::reply_message(end.view.header.id, Status::kOk, 0, {}));
  CHECK(world.has_ended(chain, Status::kBadKey));
  CHECK_FALSE(world.runner.has_unsent());
}

TEST_CASE("runner parts: a source that comes back does not revive its put",
          "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 1;
  const Operation& chain = world.start(
      put_and(world, 3 * kPart, {word_step(Opcode::kAdd, world.far(2, 0), 0)}));
  const GlobalAddress key = world.mine & ~std::uint64_t{63};
  REQUIRE(world.keys.remove(0, key) == Status::kOk);
  world.runner.pump();  // finds the source gone, and the endpoint full
  // Entries are reused in turn, and their generations come round: after all of
  // both, a region gets the old key.
  const auto add = [&] {
    return world.keys.add(0, 0, world.memory.data(), RunnerWorld::kMemory)
        .value();
  };
  GlobalAddress again = add();
  for (int i = 0; i < 1'000'000 && again != key; ++i) {
    (void)world.keys.remove(0, again);
    again = add();
  }
  REQUIRE(again == key);
  CHECK(is_part(take(world)));
  world.runner.pump();
  const Sent end = take(world);
  CHECK_FALSE(is_part(end));
  CHECK(end.view.step(0).size == 0);
  world.runner.on_reply(
      test::reply_message(end.view.header.id, Status::kOk, 0, {}));
  CHECK(world.has_ended(chain, Status::kBadKey));
  CHECK_FALSE(world.runner.has_unsent());
}

TEST_CASE("runner parts: an endpoint that reaches memory is asked for pieces",
          "[gma][runner]") {
  RunnerWorld world(1024, 512);
  world.start({copy_step(world.far(2, 0), world.mine, 3 * kPart)});
  for (const auto& message : world.endpoint(2).sent) {
    CHECK(protocol::decode_request(message)->header.flags == 0);
  }
  CHECK(world.endpoint(2).sent.size() == 3);
}

}  // namespace acp::gma
