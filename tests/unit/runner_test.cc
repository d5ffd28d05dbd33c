// Pieces, full endpoints, replies and failures of the runner.
#include <algorithm>
#include <numeric>
#include <random>

#include "unit/runner_world.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

void fill_randomly(std::span<std::byte> bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
}

/// Bytes of the replies that the requests on an endpoint ask for.
std::uint64_t reply_bytes_on(const test::FakeEndpoint& endpoint) {
  std::uint64_t bytes = 0;
  for (const auto& message : endpoint.sent) {
    const auto request = protocol::decode_request(message);
    REQUIRE(request.has_value());
    for (std::size_t i = 0; i < request->header.steps; ++i) {
      bytes += protocol::reply_bytes(request->step(i));
    }
  }
  return bytes;
}

}  // namespace

// The sizes lie around one message. Each byte has a count of the pieces that
// have brought it.
TEST_CASE("runner: the pieces of a large put cover each byte once",
          "[gma][runner]") {
  for (const std::size_t size : {1U, 975U, 976U, 977U, 100'001U}) {
    RunnerWorld world;
    fill_randomly(world.memory, 1);
    const Operation& put =
        world.start({copy_step(world.far(2, 1000), world.mine + 7, size)});
    CHECK(world.ends_of(put) == 0);
    std::vector<int> covered(size);
    auto& endpoint = world.endpoint(2);
    const std::size_t pieces = endpoint.sent.size();
    CHECK(pieces == (size + 975) / 976);
    for (std::size_t i = 0; i < pieces; ++i) {
      CHECK(world.ends_of(put) == 0);
      const auto request = protocol::decode_request(endpoint.sent.front());
      REQUIRE(request.has_value());
      const std::vector<std::byte> data(request->data.begin(),
                                        request->data.end());
      const auto step = world.answer(2);
      REQUIRE(step.opcode == Opcode::kPut);
      const std::uint64_t at = step.remote - world.far(2, 1000);
      REQUIRE(at + data.size() <= size);
      CHECK(std::equal(data.begin(), data.end(), world.memory.data() + 7 + at));
      for (std::size_t byte = 0; byte < data.size(); ++byte) {
        ++covered[at + byte];
      }
    }
    CHECK(std::all_of(covered.begin(), covered.end(),
                      [](int times) { return times == 1; }));
    CHECK(world.has_ended(put, Status::kOk));
  }
}

// The second operation has room, but has to stay behind the first, which had
// none.
TEST_CASE("runner: the call that starts an operation sends its request",
          "[gma][runner]") {
  RunnerWorld world;
  auto& endpoint = world.endpoint(2);
  SECTION("a put") {
    world.runner.start(
        world.prepare({copy_step(world.far(2, 64), world.mine, 8)}));
    CHECK(endpoint.sent.size() == 1);
  }
  SECTION("a get") {
    world.runner.start(
        world.prepare({copy_step(world.mine, world.far(2, 64), 8)}));
    CHECK(endpoint.sent.size() == 1);
  }
  SECTION("but not in front of an operation that waits for room") {
    endpoint.room = 0;
    Operation& first =
        world.prepare({copy_step(world.far(2, 64), world.mine, 8)});
    world.runner.start(first);
    endpoint.room = 1;
    Operation& second =
        world.prepare({copy_step(world.far(2, 128), world.mine, 8)});
    world.runner.start(second);
    CHECK(endpoint.sent.empty());
    world.pump();
    CHECK(world.answer(2).remote == world.far(2, 64));
    CHECK(world.has_ended(first, Status::kOk));
    CHECK(world.ends_of(second) == 0);
  }
}

TEST_CASE("runner: a post waits for the pass, since its endpoint may be in one",
          "[gma][runner]") {
  RunnerWorld world(1024, 700);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = [] {
    return Status::kOk;
  };
  world.runner.start(
      world.prepare({copy_step(world.far(2, 64), world.mine, 8)}));
  CHECK(endpoint.posted.empty());
  world.pump();
  CHECK(endpoint.posted.size() == 1);
}

// The requests are shuffled before they are answered. The bytes beside the
// destination must stay.
TEST_CASE("runner: the pieces of a large get arrive in any order",
          "[gma][runner]") {
  constexpr std::size_t kSize = 50'001;
  RunnerWorld world;
  std::vector<std::byte> source(kSize);
  fill_randomly(source, 2);
  const Operation& get =
      world.start({copy_step(world.mine + 3, world.far(3, 64), kSize)});
  auto& sent = world.endpoint(3).sent;
  std::shuffle(sent.begin(), sent.end(), std::mt19937(5));
  while (!sent.empty()) {
    CHECK(world.ends_of(get) == 0);
    const auto request = protocol::decode_request(sent.front());
    REQUIRE(request.has_value());
    const auto step = request->step(0);
    REQUIRE(step.opcode == Opcode::kGet);
    const std::uint64_t at = step.remote - world.far(3, 64);
    REQUIRE(at + step.size <= kSize);
    world.answer(3, Status::kOk, std::span(source).subspan(at, step.size));
  }
  CHECK(world.has_ended(get, Status::kOk));
  CHECK(std::equal(source.begin(), source.end(), world.memory.data() + 3));
  CHECK(world.memory[2] == std::byte{0});
  CHECK(world.memory[3 + kSize] == std::byte{0});
}

// The endpoint takes two messages at a time. Operations to another rank do not
// wait, and operations to this rank stay in order.
TEST_CASE("runner: a full endpoint is offered the rest later, in order",
          "[gma][runner]") {
  RunnerWorld world;
  auto& endpoint = world.endpoint(2);
  endpoint.room = 2;
  const Operation& large =
      world.start({copy_step(world.far(2, 0), world.mine, 5 * 976)});
  const Operation& small =
      world.start({word_step(Opcode::kAdd, world.far(2, 8), world.mine + 8)});
  const Operation& elsewhere =
      world.start({word_step(Opcode::kAdd, world.far(3, 8), 0)});
  CHECK(world.runner.has_unsent());
  CHECK(endpoint.sent.size() == 2);
  CHECK(world.endpoint(3).sent.size() == 1);
  world.answer(3, Status::kOk, test::word_bytes(0));
  CHECK(world.has_ended(elsewhere, Status::kOk));

  std::uint64_t next = world.far(2, 0);
  for (int piece = 0; piece < 5; ++piece) {
    const auto step = world.answer(2);
    CHECK(step.opcode == Opcode::kPut);
    CHECK(step.remote == next);
    next += step.size;
    world.runner.pump();
    CHECK(endpoint.sent.size() <= 2);
  }
  CHECK(world.has_ended(large, Status::kOk));
  CHECK_FALSE(world.runner.has_unsent());
  CHECK(world.answer(2, Status::kOk, test::word_bytes(5)).opcode ==
        Opcode::kAdd);
  CHECK(world.has_ended(small, Status::kOk));
  CHECK(test::word_of(std::span(world.memory).subspan(8)) == 5);
}

TEST_CASE("runner: bytes that replies may bring are bounded per path",
          "[gma][runner]") {
  constexpr std::uint64_t kBound = 1 << 20;
  RunnerWorld world(64 << 10);
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 8 << 20)});
  const Operation& other =
      world.start({copy_step(world.mine, world.far(3, 0), 4096)});
  CHECK(world.endpoint(3).sent.size() == 1);  // a path of its own
  const std::vector<std::byte> bytes(64 << 10);
  std::size_t most = 0;
  std::uint64_t received = 0;
  while (world.ends_of(get) == 0) {
    const std::uint64_t asked = reply_bytes_on(world.endpoint(2));
    REQUIRE(asked <= kBound);
    REQUIRE(asked > 0);
    most = std::max(most, asked);
    const auto request =
        protocol::decode_request(world.endpoint(2).sent.front());
    const auto size = request->step(0).size;
    received += size;
    world.answer(2, Status::kOk, std::span(bytes).first(size));
    world.runner.pump();
  }
  CHECK(most > kBound / 2);
  CHECK(received == 8 << 20);
  CHECK(world.has_ended(get, Status::kOk));
  world.answer(3, Status::kOk, std::span(bytes).first(4096));
  CHECK(world.has_ended(other, Status::kOk));
  // Puts bring nothing back: they are not held up.
  world.start({copy_step(world.far(2, 0), world.mine, 8 << 20)});
  CHECK_FALSE(world.runner.has_unsent());
}

TEST_CASE("runner: one reply larger than the bound may be under way",
          "[gma][runner]") {
  RunnerWorld world(3 << 20);
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 8 << 20)});
  const std::vector<std::byte> bytes(3 << 20);
  int replies = 0;
  while (world.ends_of(get) == 0) {
    REQUIRE(world.endpoint(2).sent.size() == 1);
    const auto request =
        protocol::decode_request(world.endpoint(2).sent.front());
    world.answer(2, Status::kOk, std::span(bytes).first(request->step(0).size));
    world.runner.pump();
    ++replies;
  }
  CHECK(replies == 3);
}

TEST_CASE("runner: replies to no request are dropped", "[gma][runner]") {
  RunnerWorld world;
  std::fill(world.memory.begin(), world.memory.end(), std::byte{9});
  const auto before = world.memory;
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 4)});
  const auto request = protocol::decode_request(world.endpoint(2).sent.front());
  REQUIRE(request.has_value());
  const std::uint64_t id = request->header.id;
  const std::vector<std::byte> data(4);
  for (const std::uint64_t wrong :
       {id + 1, id + 1000, id + (std::uint64_t{1} << 32), ~std::uint64_t{0},
        id ^ std::uint64_t{1} << 63}) {
    world.runner.on_reply(test::reply_message(wrong, Status::kOk, 0, data));
  }
  const auto good = test::reply_message(id, Status::kOk, 0, data);
  for (std::size_t size = 0; size < good.size(); ++size) {
    if (size != sizeof(protocol::ReplyHeader)) {  // see the case below
      world.runner.on_reply(std::span(good).first(size));
    }
  }
  CHECK(world.ends_of(get) == 0);
  CHECK(world.memory == before);
  world.runner.on_reply(good);
  CHECK(world.has_ended(get, Status::kOk));

  // A late duplicate comes while the record serves another request.
  const Operation& next =
      world.start({copy_step(world.mine + 8, world.far(2, 0), 4)});
  world.runner.on_reply(good);
  CHECK(world.ends_of(get) == 1);
  CHECK(world.ends_of(next) == 0);
  world.endpoint(2).take();
  world.answer(2, Status::kOk, data);
  CHECK(world.has_ended(next, Status::kOk));
}

TEST_CASE("runner: a get whose reply comes without data has failed",
          "[gma][runner]") {
  RunnerWorld world;
  const auto before = world.memory;
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 4)});
  const auto request = protocol::decode_request(world.endpoint(2).sent.front());
  REQUIRE(request.has_value());
  const auto reply = test::reply_message(request->header.id, Status::kOk, 0,
                                         std::vector<std::byte>(4));
  world.runner.on_reply(std::span(reply).first(sizeof(protocol::ReplyHeader)));
  CHECK(world.has_ended(get, Status::kBadAddress));
  CHECK(world.memory == before);
}

// Three puts and a get are open at one peer. A shared reply has no results, so
// it may not end the get as a success.
TEST_CASE("runner: a shared reply ends each of its requests", "[gma][runner]") {
  RunnerWorld world;
  const auto id_of_last = [&] {
    const auto request =
        protocol::decode_request(world.endpoint(2).sent.back());
    REQUIRE(request.has_value());
    return request->header.id;
  };
  std::vector<const Operation*> puts;
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 3; ++i) {
    puts.push_back(&world.start({copy_step(world.far(2, 0), world.mine, 8)}));
    ids.push_back(id_of_last());
  }
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 8)});
  const std::uint64_t get_id = id_of_last();

  SECTION("and skips ids that are not") {
    ids.insert(ids.begin() + 1, {ids[0] + 1000, ids[0]});
    const auto reply = test::shared_reply_message(ids);
    world.runner.on_shared_reply(reply);
    for (const Operation* put : puts) {
      CHECK(world.has_ended(*put, Status::kOk));
    }
    world.runner.on_shared_reply(reply);
    for (const Operation* put : puts) {
      CHECK(world.ends_of(*put) == 1);
    }
    CHECK(world.ends_of(get) == 0);
  }
  SECTION("but a request that waits for results fails by it") {
    world.runner.on_shared_reply(
        test::shared_reply_message(std::array{ids[1], get_id}));
    CHECK(world.has_ended(*puts[1], Status::kOk));
    CHECK(world.ends_of(*puts[0]) == 0);
    CHECK(world.ends_of(get) == 1);
    CHECK(get.status != Status::kOk);
  }
  SECTION("and a damaged one ends nothing") {
    auto reply = test::shared_reply_message(ids);
    reply.pop_back();
    world.runner.on_shared_reply(reply);
    CHECK(world.ends_of(*puts[0]) == 0);
  }
}

TEST_CASE("runner: a reply that is too short is a failure", "[gma][runner]") {
  RunnerWorld world;
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 100)});
  world.answer(2, Status::kOk, std::vector<std::byte>(99));
  CHECK(world.ends_of(get) == 1);
  CHECK(get.status != Status::kOk);
}

TEST_CASE("runner: a piece that fails stops the rest", "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 3;
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 100 * 976),
                   copy_step(world.far(2, 0), world.mine, 8)});
  const Operation& behind =
      world.start({word_step(Opcode::kPut8, world.far(2, 8), 0)});
  const std::vector<std::byte> data(976);
  world.answer(2, Status::kOk, data);
  world.answer(2, Status::kBadAddress);
  world.runner.pump();
  CHECK(world.ends_of(get) == 0);  // one piece is still under way
  world.answer(2, Status::kOk, data);
  CHECK(world.has_ended(get, Status::kBadAddress));
  // The next operation of the path goes on, and nothing else was sent.
  world.runner.pump();
  REQUIRE(world.endpoint(2).sent.size() == 1);
  CHECK(world.answer(2).opcode == Opcode::kPut8);
  CHECK(world.has_ended(behind, Status::kOk));
  CHECK_FALSE(world.runner.has_unsent());
}

TEST_CASE("runner: the first failure of several pieces is told",
          "[gma][runner]") {
  RunnerWorld world;
  const Operation& get =
      world.start({copy_step(world.mine, world.far(2, 0), 3 * 976)});
  world.answer(2, Status::kBadKey);
  world.answer(2, Status::kBadAddress);
  world.answer(2, Status::kOk, std::vector<std::byte>(976));
  CHECK(world.has_ended(get, Status::kBadKey));
}

// A get ends only when the pieces that were sent are answered, since the peer
// may still write. A put ends at once.
TEST_CASE("runner: an endpoint that refuses ends the operation",
          "[gma][runner]") {
  RunnerWorld world;
  SECTION("while sending") {
    world.endpoint(2).failure = Status::kPeerDead;
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, 3000)});
    CHECK(world.has_ended(put, Status::kPeerDead));
  }
  SECTION("in the middle of a get") {
    world.endpoint(2).room = 1;
    const Operation& get =
        world.start({copy_step(world.mine, world.far(2, 0), 3000)});
    world.endpoint(2).failure = Status::kPeerDead;
    world.runner.pump();
    CHECK(world.ends_of(get) == 0);
    world.answer(2);
    CHECK(world.has_ended(get, Status::kPeerDead));
  }
  SECTION("in the middle of a put") {
    world.endpoint(2).room = 1;
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, 3000)});
    world.endpoint(2).failure = Status::kPeerDead;
    world.runner.pump();
    CHECK(world.has_ended(put, Status::kPeerDead));
    world.answer(2);
    CHECK(world.ends_of(put) == 1);
  }
  SECTION("there is no endpoint") {
    world.endpoint_failure = Status::kUnsupported;
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, 3000)});
    CHECK(world.has_ended(put, Status::kUnsupported));
  }
  CHECK_FALSE(world.runner.has_unsent());
}

// One operation of each kind goes to the peer, and one goes to another rank. An
// answer that comes too late must end nothing twice.
TEST_CASE("runner: a dead peer ends everything that goes there",
          "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 2;
  const Operation& half =
      world.start({copy_step(world.far(2, 0), world.mine, 5000)});
  const Operation& unsent =
      world.start({word_step(Opcode::kAdd, world.far(2, 0), 0)});
  const Operation& chain =
      world.start({word_step(Opcode::kAdd, world.far(2, 0), 0),
                   word_step(Opcode::kAdd, world.far(2, 0), 0)});
  const Operation& colored =
      world.start({copy_step(world.far(2, 0, 1), world.mine, 8)});
  const Operation& delegated =
      world.start({copy_step(world.far(3, 0), world.far(2, 0), 8)});
  const Operation& other =
      world.start({copy_step(world.far(3, 0), world.mine, 8)});
  const auto late = world.endpoint(2).sent.front();
  const std::uint64_t late_id = protocol::decode_request(late)->header.id;

  world.runner.fail_peer(12, Status::kPeerDead);
  for (const Operation* operation :
       {&half, &unsent, &chain, &colored, &delegated}) {
    CHECK(world.has_ended(*operation, Status::kPeerDead));
  }
  CHECK(world.ends_of(other) == 0);
  world.runner.pump();
  CHECK_FALSE(world.runner.has_unsent());
  world.runner.on_reply(test::reply_message(late_id, Status::kOk, 0, {}));
  CHECK(world.ends_of(half) == 1);
  world.answer(3);
  CHECK(world.has_ended(other, Status::kOk));
  world.runner.forget_peers();
}

TEST_CASE("runner: memory unregistered under way is not touched",
          "[gma][runner]") {
  RunnerWorld world;
  const GlobalAddress key = world.mine & ~std::uint64_t{63};
  SECTION("the source of a put") {
    world.endpoint(2).room = 1;
    const Operation& put =
        world.start({copy_step(world.far(2, 0), world.mine, 3000)});
    REQUIRE(world.keys.remove(0, key) == Status::kOk);
    world.runner.pump();
    world.answer(2);
    world.runner.pump();
    CHECK(world.ends_of(put) == 0);  // pieces under way end first
    CHECK(world.answer(2).size == 0);
    CHECK(world.has_ended(put, Status::kBadKey));
  }
  SECTION("the destination of a get") {
    std::fill(world.memory.begin(), world.memory.end(), std::byte{9});
    const Operation& get =
        world.start({copy_step(world.mine, world.far(2, 0), 100)});
    REQUIRE(world.keys.remove(0, key) == Status::kOk);
    world.answer(2, Status::kOk, std::vector<std::byte>(100));
    CHECK(world.has_ended(get, Status::kBadKey));
    CHECK(world.memory[0] == std::byte{9});
  }
  SECTION("the result of an atomic") {
    const Operation& add =
        world.start({word_step(Opcode::kAdd, world.far(2, 0), world.mine)});
    REQUIRE(world.keys.remove(0, key) == Status::kOk);
    world.answer(2, Status::kOk, test::word_bytes(77));
    CHECK(world.has_ended(add, Status::kBadKey));
    CHECK(world.memory[0] == std::byte{0});
  }
  CHECK_FALSE(world.runner.has_unsent());
}

TEST_CASE("runner: a copy between others is asked of the source's rank",
          "[gma][runner]") {
  RunnerWorld world;
  const Operation& copy =
      world.start({copy_step(world.far(2, 64), world.far(3, 128), 1 << 20)});
  CHECK(world.endpoint(2).sent.empty());
  const auto step = world.answer(3);
  CHECK(step.opcode == Opcode::kCopy);
  CHECK(step.remote == world.far(2, 64));
  CHECK(step.local == world.far(3, 128));
  CHECK(step.size == 1 << 20);
  CHECK(world.has_ended(copy, Status::kOk));

  const Operation& bad =
      world.start({copy_step(world.far(2, 0), world.far(3, 0), 8)});
  world.answer(3, Status::kBadKey);
  CHECK(world.has_ended(bad, Status::kBadKey));
}

TEST_CASE("runner: paths of different colors are different endpoints",
          "[gma][runner]") {
  RunnerWorld world;
  world.start({copy_step(world.far(2, 0, 1), world.mine, 8)});
  CHECK(world.endpoint(2, 0).sent.empty());
  CHECK(world.endpoint(2, 1).sent.size() == 1);
}

}  // namespace acp::gma
