// Operations with ACP_HANDLE_CONT: posted behind those before them where that
// is as good as waiting, and else started when all before is complete.
#include <vector>

#include "support/messages.h"
#include "unit/engine_world.h"

namespace acp::gma {

namespace {

constexpr std::uint64_t kFar = 256;
constexpr std::uint64_t kWord = 8;

/// An engine whose peer is reached by posts that keep the order of puts.
class ContWorld {
 public:
  ContWorld() {
    world.max_posted = 4096;
    world.orders_posts = true;
    endpoint.post_status = [this] {
      return post_status;
    };
  }

  Handle put(Handle order, Rank rank = 1) {
    const auto& codec = world.space.codec();
    const Result<Handle> handle = world.engine.copy(
        codec.encode(rank, 0, gmm::kStarterKey, 0, kFar),
        codec.encode(0, 0, gmm::kStarterKey, 0, 0), kWord, order);
    REQUIRE(handle.ok());
    return handle.value();
  }

  Handle get(Handle order, Rank rank = 1) {
    const auto& codec = world.space.codec();
    const Result<Handle> handle = world.engine.copy(
        codec.encode(0, 0, gmm::kStarterKey, 0, 0),
        codec.encode(rank, 0, gmm::kStarterKey, 0, kFar), kWord, order);
    REQUIRE(handle.ok());
    return handle.value();
  }

  Handle add(Handle order) {
    const auto& codec = world.space.codec();
    const Result<Handle> handle = world.engine.atomic(
        protocol::Opcode::kAdd, 8, codec.encode(0, 0, gmm::kStarterKey, 0, 0),
        codec.encode(1, 0, gmm::kStarterKey, 0, kFar), 1, 0, order);
    REQUIRE(handle.ok());
    return handle.value();
  }

  /// A put of no bytes, which only a chain can be.
  Handle put_nothing(Handle order) {
    const auto& codec = world.space.codec();
    Step put;
    put.opcode = protocol::Opcode::kPut;
    put.remote = codec.encode(1, 0, gmm::kStarterKey, 0, kFar);
    put.local = codec.encode(0, 0, gmm::kStarterKey, 0, 0);
    const Result<Handle> handle = world.engine.chain({&put, 1}, order);
    REQUIRE(handle.ok());
    return handle.value();
  }

  Handle signal(Handle order) {
    Step add;
    add.opcode = protocol::Opcode::kAdd;
    add.flags = protocol::kSignalFlag;
    add.remote = world.space.codec().encode(1, 0, gmm::kStarterKey, 0, kFar);
    const Result<Handle> handle = world.engine.chain({&add, 1}, order);
    REQUIRE(handle.ok());
    return handle.value();
  }

  /// A pass in which the oldest post completes.
  void complete_oldest() {
    world.pass_with([this] {
      const std::uint64_t token = endpoint.posted.front().token;
      endpoint.posted.pop_front();
      world.engine.runner().on_posted_done(token);
    });
  }

  Status result(Handle handle) {
    return world.engine.complete(handle, TimePoint{});
  }

  std::size_t posted() const { return endpoint.posted.size(); }

  Status post_status = Status::kOk;
  EngineUnderTest world;
  test::FakeEndpoint& endpoint = world.endpoint();
};

}  // namespace

TEST_CASE("engine cont: puts to one endpoint do not wait for each other",
          "[gma][order]") {
  ContWorld cont;
  const Handle first = cont.put(kHandleNull);
  const Handle second = cont.put(kHandleCont);
  const Handle third = cont.put(kHandleCont);
  CHECK(cont.posted() == 3);
  CHECK(first < second);
  CHECK(second < third);
  CHECK_FALSE(cont.world.engine.is_complete(first));
  cont.complete_oldest();
  CHECK(cont.world.engine.is_complete(first));
  CHECK_FALSE(cont.world.engine.is_complete(second));
  cont.complete_oldest();
  // A put behind a run of which only the last is left.
  const Handle fourth = cont.put(kHandleCont);
  CHECK(cont.posted() == 2);
  cont.complete_oldest();
  cont.complete_oldest();
  CHECK(cont.result(fourth) == Status::kOk);
  CHECK(cont.endpoint.offers == 0);
}

// All of them are posted, each but the first behind the one before. Their
// completions come in that order.
TEST_CASE("engine cont: gets, puts and atomics do not wait for each other",
          "[gma][order]") {
  ContWorld cont;
  std::vector<Handle> handles;
  handles.push_back(cont.get(kHandleNull));
  handles.push_back(cont.get(kHandleCont));
  handles.push_back(cont.put(kHandleCont));
  handles.push_back(cont.add(kHandleCont));
  handles.push_back(cont.add(kHandleCont));
  handles.push_back(cont.get(kHandleCont));
  handles.push_back(cont.put(kHandleCont));
  CHECK(cont.posted() == handles.size());
  CHECK_FALSE(cont.endpoint.posted.front().is_behind);
  for (std::size_t i = 1; i < cont.posted(); ++i) {
    CHECK(cont.endpoint.posted[i].is_behind);
  }
  for (const Handle handle : handles) {
    CHECK_FALSE(cont.world.engine.is_complete(handle));
    cont.complete_oldest();
    CHECK(cont.result(handle) == Status::kOk);
  }
  CHECK(cont.endpoint.offers == 0);
}

TEST_CASE("engine cont: a put of no bytes waits, and is complete",
          "[gma][order]") {
  ContWorld cont;
  cont.put(kHandleNull);
  const Handle nothing = cont.put_nothing(kHandleCont);
  CHECK(cont.posted() == 1);
  cont.complete_oldest();
  CHECK(cont.world.engine.is_complete(nothing));
}

TEST_CASE("engine cont: the other orders wait", "[gma][order]") {
  ContWorld cont;
  const Handle first = cont.put(kHandleNull);
  Handle second = kHandleNull;
  SECTION("ALL") {
    second = cont.put(kHandleAll);
  }
  SECTION("a handle") {
    second = cont.put(first);
  }
  CHECK(cont.posted() == 1);
  // The put that waits is not posted, so none can be posted behind it.
  const Handle third = cont.put(kHandleCont);
  CHECK(cont.posted() == 1);
  cont.complete_oldest();
  CHECK(cont.posted() == 1);
  cont.complete_oldest();
  CHECK(cont.result(second) == Status::kOk);
  CHECK(cont.posted() == 1);
  cont.complete_oldest();
  CHECK(cont.result(third) == Status::kOk);
}

TEST_CASE("engine cont: it waits behind what may fail by itself",
          "[gma][order]") {
  ContWorld cont;
  std::size_t posted = 0;  // with the put that waits, but without its post
  SECTION("an endpoint that does not order puts") {
    cont.world.orders_posts = false;
    cont.put(kHandleNull);
    posted = 1;
  }
  SECTION("a put that went as a message") {
    cont.post_status = Status::kUnsupported;
    cont.put(kHandleNull);
    cont.post_status = Status::kOk;
  }
  SECTION("a word that the agent executes") {
    cont.post_status = Status::kUnsupported;
    cont.signal(kHandleNull);
    cont.post_status = Status::kOk;
  }
  SECTION("two operations without an order between them") {
    cont.put(kHandleNull);
    cont.put(kHandleNull);
    posted = 2;
  }
  SECTION("a put that found no room") {
    cont.post_status = Status::kAgain;
    cont.put(kHandleNull);
    cont.post_status = Status::kOk;
    posted = 1;  // has found it since
  }
  cont.put(kHandleCont);
  CHECK(cont.posted() == posted);
}

// A refusal leaves the put with the engine until the first one is done. Then it
// goes by message, or it is posted again.
TEST_CASE("engine cont: a refused put waits, and is sent when it may",
          "[gma][order]") {
  ContWorld cont;
  cont.put(kHandleNull);
  const Status refusal = GENERATE(Status::kUnsupported, Status::kAgain);
  cont.post_status = refusal;
  const Handle second = cont.put(kHandleCont);
  CHECK(cont.posted() == 1);
  CHECK(cont.endpoint.offers == 0);
  cont.complete_oldest();
  if (refusal == Status::kUnsupported) {
    REQUIRE(cont.endpoint.sent.size() == 1);
    cont.world.pass_with([&] {
      const auto request = protocol::decode_request(cont.endpoint.take());
      REQUIRE(request.has_value());
      cont.world.engine.runner().on_reply(
          test::reply_message(request->header.id, Status::kOk, 0, {}));
    });
  } else {
    cont.post_status = Status::kOk;
    cont.world.pass(Arrivals::kNone);
    cont.complete_oldest();
  }
  CHECK(cont.result(second) == Status::kOk);
}

TEST_CASE("engine cont: a signal behind a put waits for it", "[gma][order]") {
  ContWorld cont;
  cont.put(kHandleNull);
  cont.post_status = Status::kUnsupported;
  const Handle signal = cont.signal(kHandleCont);
  CHECK(cont.endpoint.offers == 0);
  cont.complete_oldest();
  CHECK(cont.endpoint.sent.size() == 1);
  CHECK_FALSE(cont.world.engine.is_complete(signal));
}

TEST_CASE("engine cont: all fail with the peer, and the next one is not posted",
          "[gma][order]") {
  ContWorld cont;
  const Handle first = cont.put(kHandleNull);
  const Handle second = cont.put(kHandleCont);
  cont.world.pass_with([&] { cont.world.engine.fail_peer(0); });
  cont.endpoint.posted.clear();
  CHECK(cont.world.engine.is_complete(second));
  const Handle third = cont.put(kHandleCont);
  CHECK(cont.posted() == 0);  // a failure before it is not collected
  CHECK(cont.result(first) == Status::kPeerDead);
  CHECK(cont.result(second) == Status::kPeerDead);
  CHECK(cont.result(third) == Status::kOrderFailed);
}

TEST_CASE("engine cont: a failure that nobody has collected stops it",
          "[gma][order]") {
  ContWorld cont;
  cont.post_status = Status::kPeerDead;
  cont.put(kHandleNull);  // fails
  cont.post_status = Status::kOk;
  cont.put(kHandleNull);
  CHECK(cont.posted() == 1);
  const Handle third = cont.put(kHandleCont);
  CHECK(cont.posted() == 1);
  cont.complete_oldest();
  CHECK(cont.posted() == 0);
  CHECK(cont.world.engine.is_complete(third));
}

}  // namespace acp::gma
