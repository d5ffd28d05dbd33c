// Words that follow a posted put in its chain. They go as a request behind the
// put's last post, and the operation ends when both are answered.
#include <algorithm>
#include <array>

#include "unit/runner_peer.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

constexpr std::size_t kPut = 2000;  // three posts
constexpr std::size_t kPosts = 3;
constexpr std::size_t kData = 4096;  // where the put goes
constexpr std::size_t kResult = kPut + 48;

/// A peer that takes posts and messages behind them, and one chain. The chain
/// is a put of several posts, a word, and a word with a result and a signal.
class JoinedWorld {
 public:
  JoinedWorld() {
    endpoint.post_status = always(Status::kOk);
    endpoint.post_then_send_status = always(Status::kOk);
    for (std::size_t i = 0; i < kPut; ++i) {
      world.memory[i] = static_cast<std::byte>(i * 7);
    }
    std::fill_n(world.memory.begin() + kResult, 8, std::byte{0xee});
  }

  std::vector<Step> steps() {
    Step add = word_step(Opcode::kAdd, world.far(2, 8), world.mine + kResult);
    add.flags = protocol::kSignalFlag;
    return {
        bulk_step(Opcode::kPut, world.far(2, kData), world.mine, kPut),
        word_step(Opcode::kPut8, world.far(2, 0), 0, 5),
        add,
    };
  }

  Operation& start() { return world.start(steps()); }

  /// Does all posts and returns the token of the last, whose message is in
  /// `sent` then. The completions of the others are reported.
  std::uint64_t run_posts() {
    while (endpoint.posted.size() > 1) {
      complete_oldest(world, peer);
    }
    return run_oldest(world, peer);
  }

  bool has_data() const {
    return std::equal(world.memory.begin(), world.memory.begin() + kPut,
                      peer.memory.begin() + kData);
  }

  std::uint64_t result() const {
    return test::word_of(std::span(world.memory).subspan(kResult));
  }

  /// Answers the request behind the last post.
  void reply() {
    world.runner.on_reply(peer.answer(endpoint.take(), world.space.codec()));
  }

  /// Does and answers all that is under way, and what follows it.
  void finish() {
    for (world.pump(); !endpoint.posted.empty() || !endpoint.sent.empty();
         world.pump()) {
      if (!endpoint.posted.empty()) {
        complete_oldest(world, peer);
      } else {
        reply();
      }
    }
  }

  void refuse(Status status, std::uint16_t failed_step) {
    const auto message = endpoint.take();
    const auto request = protocol::decode_request(message);
    REQUIRE(request.has_value());
    world.runner.on_reply(
        test::reply_message(request->header.id, status, failed_step, {}));
  }

  RunnerWorld world{kMaxMessage, kMaxPosted};
  Peer peer{8192};
  test::FakeEndpoint& endpoint = world.endpoint(2);
};

}  // namespace

// Both orders of the completion and the reply have to end the operation once,
// with the result.
TEST_CASE("runner joined: the words go behind the last post of their put",
          "[gma][runner]") {
  JoinedWorld joined;
  const Operation& chain = joined.start();
  REQUIRE(joined.endpoint.posted.size() == kPosts);
  CHECK(joined.endpoint.posted[0].message.empty());
  CHECK(joined.endpoint.posted[1].message.empty());
  const auto request =
      protocol::decode_request(joined.endpoint.posted[2].message);
  REQUIRE(request.has_value());
  REQUIRE(request->header.steps == 2);
  CHECK(request->step(0).opcode == Opcode::kPut8);
  CHECK(request->step(1).opcode == Opcode::kAdd);
  CHECK(request->step(1).flags == protocol::kSignalFlag);
  CHECK(joined.endpoint.offers == 0);
  CHECK_FALSE(joined.world.runner.has_unsent());

  const std::uint64_t token = joined.run_posts();
  CHECK(joined.world.ends_of(chain) == 0);
  SECTION("the completion comes before the reply") {
    joined.world.runner.on_posted_done(token);
    CHECK(joined.world.ends_of(chain) == 0);
    joined.reply();
  }
  SECTION("the reply comes before the completion") {
    joined.reply();
    CHECK(joined.world.ends_of(chain) == 0);
    joined.world.runner.on_posted_done(token);
  }
  CHECK(joined.world.has_ended(chain, Status::kOk));
  CHECK(joined.has_data());
  CHECK(test::word_of(joined.peer.memory) == 5);
  CHECK(joined.result() == 0);
  CHECK(joined.endpoint.sent.empty());
}

TEST_CASE("runner joined: a refused word is the step that has failed",
          "[gma][runner]") {
  JoinedWorld joined;
  const Operation& chain = joined.start();
  const std::uint64_t token = joined.run_posts();
  const bool is_reply_first = GENERATE(true, false);
  if (!is_reply_first) {
    joined.world.runner.on_posted_done(token);
  }
  joined.refuse(Status::kMisaligned, 1);
  if (is_reply_first) {
    CHECK(joined.world.ends_of(chain) == 0);  // the source is still in use
    joined.world.runner.on_posted_done(token);
  }
  CHECK(joined.world.has_ended(chain, Status::kMisaligned));
  CHECK(chain.current == 2);
  CHECK(joined.world.memory[kResult] == std::byte{0xee});
}

TEST_CASE("runner joined: a reply without the result fails its word",
          "[gma][runner]") {
  JoinedWorld joined;
  const Operation& chain = joined.start();
  joined.world.runner.on_posted_done(joined.run_posts());
  joined.refuse(Status::kOk, 0);
  CHECK(joined.world.ends_of(chain) == 1);
  CHECK(chain.status != Status::kOk);
  CHECK(chain.current == 2);
}

TEST_CASE("runner joined: without room the last post waits with its words",
          "[gma][runner]") {
  JoinedWorld joined;
  joined.endpoint.post_then_send_status = always(Status::kAgain);
  const Operation& chain = joined.start();
  CHECK(joined.endpoint.posted.size() == kPosts - 1);
  CHECK(joined.world.runner.has_unsent());
  // The posts are complete long before there is room.
  complete_oldest(joined.world, joined.peer);
  complete_oldest(joined.world, joined.peer);
  joined.world.pump();
  CHECK(joined.world.ends_of(chain) == 0);
  CHECK(joined.endpoint.posted.empty());
  CHECK(joined.endpoint.offers == 0);

  joined.endpoint.post_then_send_status = always(Status::kOk);
  joined.world.pump();
  REQUIRE(joined.endpoint.posted.size() == 1);
  joined.world.runner.on_posted_done(joined.run_posts());
  joined.reply();
  CHECK(joined.world.has_ended(chain, Status::kOk));
  CHECK(joined.has_data());
}

TEST_CASE("runner joined: without room for its reply nothing is posted",
          "[gma][runner]") {
  // One reply brings more than all replies together may.
  RunnerWorld large(4 << 20, kMaxPosted);
  auto& endpoint = large.endpoint(2);
  endpoint.post_status = always(Status::kUnsupported);
  const Operation& get =
      large.start({copy_step(large.mine, large.far(2, 0), 2 << 20)});
  REQUIRE(endpoint.sent.size() == 1);
  endpoint.post_status = always(Status::kOk);
  endpoint.post_then_send_status = always(Status::kOk);
  const Operation& chain = large.start(
      {bulk_step(Opcode::kPut, large.far(2, kData), large.mine, 8),
       word_step(Opcode::kAdd, large.far(2, 8), large.mine),
       bulk_step(Opcode::kPut, large.far(2, kData), large.mine, 5 << 20)});
  CHECK(endpoint.posted.empty());
  std::vector<std::byte> data(2 << 20);
  large.answer(2, Status::kOk, data);
  CHECK(large.has_ended(get, Status::kOk));
  large.pump();
  CHECK(endpoint.posted.size() == 1);
  CHECK(large.ends_of(chain) == 0);
}

TEST_CASE("runner joined: an endpoint without it gets the words later",
          "[gma][runner]") {
  JoinedWorld joined;
  joined.endpoint.post_then_send_status = nullptr;
  const Operation& chain = joined.start();
  REQUIRE(joined.endpoint.posted.size() == kPosts);
  for (std::size_t left = kPosts; left > 0; --left) {
    joined.world.pump();
    CHECK(joined.endpoint.posted.size() == left);
    CHECK(joined.endpoint.posted.front().message.empty());
    complete_oldest(joined.world, joined.peer);
  }
  CHECK(test::word_of(joined.peer.memory) == 0);
  joined.finish();
  CHECK(joined.world.has_ended(chain, Status::kOk));
  CHECK(joined.has_data());
  CHECK(test::word_of(joined.peer.memory) == 5);
}

// The agent may refuse a piece that goes as a request. The chain stops there,
// so no word may be under way by then.
TEST_CASE("runner joined: after a piece by request the words wait",
          "[gma][runner]") {
  JoinedWorld joined;
  int offers = 0;
  joined.endpoint.post_status = [&offers] {
    return ++offers == 2 ? Status::kUnsupported : Status::kOk;
  };
  const Operation& chain = joined.start();
  for (const auto& posted : joined.endpoint.posted) {
    CHECK(posted.message.empty());
  }
  REQUIRE(joined.endpoint.sent.size() == 1);
  SECTION("it is refused") {
    joined.refuse(Status::kBadKey, 0);
    while (!joined.endpoint.posted.empty()) {
      complete_oldest(joined.world, joined.peer);
    }
    CHECK(joined.world.has_ended(chain, Status::kBadKey));
    CHECK(chain.current == 0);
    CHECK(joined.endpoint.sent.empty());
  }
  SECTION("it is done") {
    while (!joined.endpoint.posted.empty()) {
      complete_oldest(joined.world, joined.peer);
    }
    joined.world.pump();
    CHECK(joined.endpoint.posted.empty());
    CHECK(joined.endpoint.sent.size() == 1);
    joined.finish();
    CHECK(joined.world.has_ended(chain, Status::kOk));
    CHECK(test::word_of(joined.peer.memory) == 5);
    CHECK(joined.has_data());
  }
}

// The put is posted alone in each section, because the step behind it may not
// join its last post.
TEST_CASE("runner joined: what cannot go along follows", "[gma][runner]") {
  JoinedWorld joined;
  RunnerWorld& world = joined.world;
  std::vector<Step> steps = joined.steps();
  SECTION("a get") {
    steps[1] = bulk_step(Opcode::kGet, world.far(2, 0), world.mine, 8);
  }
  SECTION("a word by another path") {
    steps[1] = word_step(Opcode::kPut8, world.far(2, 0, 1), 0);
  }
  SECTION("a word of another rank") {
    steps[1] = word_step(Opcode::kPut8, world.far(3, 0), 0);
  }
  SECTION("a word whose result has no address") {
    steps[1] = word_step(Opcode::kAdd, world.far(2, 0),
                         world.mine + RunnerWorld::kMemory);
  }
  world.start(std::move(steps));
  REQUIRE(joined.endpoint.posted.size() == kPosts);
  CHECK(joined.endpoint.posted.back().message.empty());
}

TEST_CASE("runner joined: an earlier put is complete before its chain goes on",
          "[gma][runner]") {
  JoinedWorld joined;
  std::vector<Step> steps = joined.steps();
  steps.insert(steps.begin(), bulk_step(Opcode::kPut, joined.world.far(2, 1024),
                                        joined.world.mine, kMaxPosted));
  const Operation& chain = joined.world.start(std::move(steps));
  REQUIRE(joined.endpoint.posted.size() == 1);
  complete_oldest(joined.world, joined.peer);
  joined.world.pump();
  REQUIRE(joined.endpoint.posted.size() == kPosts);
  joined.world.runner.on_posted_done(joined.run_posts());
  joined.refuse(Status::kBadAddress, 1);
  CHECK(joined.world.has_ended(chain, Status::kBadAddress));
  CHECK(chain.current == 3);
}

TEST_CASE("runner joined: the source is gone before the last post",
          "[gma][runner]") {
  JoinedWorld joined;
  joined.endpoint.post_then_send_status = always(Status::kAgain);
  const Operation& chain = joined.start();
  REQUIRE(joined.world.keys.remove(0, joined.world.mine & ~std::uint64_t{63}) ==
          Status::kOk);
  joined.endpoint.post_then_send_status = always(Status::kOk);
  joined.world.pump();
  CHECK(joined.endpoint.posted.size() == kPosts - 1);
  CHECK(joined.world.ends_of(chain) == 0);  // these use the source
  complete_oldest(joined.world, joined.peer);
  complete_oldest(joined.world, joined.peer);
  CHECK(joined.world.has_ended(chain, Status::kBadKey));
  CHECK(joined.endpoint.sent.empty());
}

// The peer is lost after each number of answers. Answers that come later must
// change nothing.
TEST_CASE("runner joined: a lost peer ends the operation once",
          "[gma][runner]") {
  JoinedWorld joined;
  const int answers = GENERATE(0, 1, 2, 3, 4);
  const bool has_room = GENERATE(true, false);
  if (!has_room) {
    joined.endpoint.post_then_send_status = always(Status::kAgain);
  }
  const Operation& chain = joined.start();
  std::vector<std::uint64_t> late;
  for (int i = 0; !joined.endpoint.posted.empty(); ++i) {
    const std::uint64_t token = run_oldest(joined.world, joined.peer);
    if (i < answers && i < 2) {
      joined.world.runner.on_posted_done(token);
    } else {
      late.push_back(token);
    }
  }
  if (has_room && answers == 3) {
    joined.reply();
  } else if (has_room && answers == 4) {
    joined.world.runner.on_posted_done(late.front());
  }
  CHECK(joined.world.ends_of(chain) == 0);
  joined.world.runner.fail_peer(12, Status::kPeerDead);
  CHECK(joined.world.has_ended(chain, Status::kPeerDead));
  for (const std::uint64_t token : late) {
    joined.world.runner.on_posted_done(token);
  }
  while (!joined.endpoint.sent.empty()) {
    joined.reply();
  }
  joined.world.pump();
  CHECK(joined.world.ends_of(chain) == 1);
  CHECK_FALSE(joined.world.runner.has_unsent());
}

TEST_CASE("runner joined: the endpoint says that the peer is lost",
          "[gma][runner]") {
  JoinedWorld joined;
  joined.endpoint.post_then_send_status = always(Status::kPeerDead);
  const Operation& chain = joined.start();
  CHECK(joined.world.ends_of(chain) == 0);  // two posts are under way
  joined.world.runner.fail_peer(12, Status::kPeerDead);
  CHECK(joined.world.has_ended(chain, Status::kPeerDead));
}

}  // namespace acp::gma
