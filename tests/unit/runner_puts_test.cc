// Chains of puts above one message, with words behind them. The puts go as one
// post. The words go in the request behind it where the endpoint joins them.
#include <algorithm>
#include <array>

#include "unit/runner_peer.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

constexpr std::size_t kLargePut = 600;  // two exceed a message
constexpr std::size_t kPuts = 3;
constexpr std::size_t kFirstPut = 4096;  // where the first put goes
constexpr std::size_t kStride = 1024;
constexpr std::size_t kOldWord = kPuts * kLargePut + 48;

/// A peer whose endpoint posts puts and joins words, which its agent executes.
/// The chain is puts, an empty one, a word, and a word with a result and a
/// signal.
class PutsWorld {
 public:
  PutsWorld() {
    endpoint.post_status = always(Status::kOk);
    endpoint.posts_words = false;
    endpoint.post_then_send_status = always(Status::kOk);
    for (std::size_t i = 0; i < kPuts * kLargePut; ++i) {
      world.memory[i] = static_cast<std::byte>(i * 7);
    }
  }

  std::vector<Step> steps() {
    std::vector<Step> all;
    for (std::size_t i = 0; i < kPuts; ++i) {
      all.push_back(bulk_step(Opcode::kPut,
                              world.far(2, kFirstPut + i * kStride),
                              world.mine + i * kLargePut, kLargePut));
    }
    all.push_back(
        bulk_step(Opcode::kPut, world.far(2, kFirstPut), world.mine, 0));
    all.push_back(word_step(Opcode::kPut8, world.far(2, 0), 0, 5));
    Step add = word_step(Opcode::kAdd, world.far(2, 8), world.mine + kOldWord);
    add.flags = protocol::kSignalFlag;
    all.push_back(add);
    return all;
  }

  bool has_data() const {
    for (std::size_t i = 0; i < kPuts; ++i) {
      const auto from = world.memory.begin() + static_cast<long>(i * kLargePut);
      if (!std::equal(from, from + kLargePut,
                      peer.memory.begin() +
                          static_cast<long>(kFirstPut + i * kStride))) {
        return false;
      }
    }
    return test::word_of(peer.memory) == 5;
  }

  void reply() {
    world.runner.on_reply(peer.answer(endpoint.take(), world.space.codec()));
  }

  RunnerWorld world{kMaxMessage, kMaxPosted};
  Peer peer{8192};
  test::FakeEndpoint& endpoint = world.endpoint(2);
};

}  // namespace

// Both orders of the completion and the reply have to end the chain once.
TEST_CASE("runner puts: puts and words of a large chain leave together",
          "[gma][runner]") {
  PutsWorld puts;
  const Operation& chain = puts.world.start(puts.steps());
  REQUIRE(puts.endpoint.posted.size() == 1);
  CHECK(puts.endpoint.posted.front().steps.size() == kPuts);
  const auto request =
      protocol::decode_request(puts.endpoint.posted.front().message);
  REQUIRE(request.has_value());
  REQUIRE(request->header.steps == 2);
  CHECK(request->step(0).opcode == Opcode::kPut8);
  CHECK(request->step(1).opcode == Opcode::kAdd);
  CHECK(request->step(1).flags == protocol::kSignalFlag);
  CHECK(puts.endpoint.offers == 0);
  CHECK_FALSE(puts.world.runner.has_unsent());

  const std::uint64_t token = run_oldest(puts.world, puts.peer);
  CHECK(puts.world.ends_of(chain) == 0);
  SECTION("the completion comes before the reply") {
    puts.world.runner.on_posted_done(token);
    CHECK(puts.world.ends_of(chain) == 0);
    puts.reply();
  }
  SECTION("the reply comes before the completion") {
    puts.reply();
    CHECK(puts.world.ends_of(chain) == 0);
    puts.world.runner.on_posted_done(token);
  }
  CHECK(puts.world.has_ended(chain, Status::kOk));
  CHECK(puts.has_data());
  CHECK(puts.endpoint.posted.empty());
  CHECK(puts.endpoint.sent.empty());
}

TEST_CASE("runner puts: a refused word is the step that has failed",
          "[gma][runner]") {
  PutsWorld puts;
  const Operation& chain = puts.world.start(puts.steps());
  puts.world.runner.on_posted_done(run_oldest(puts.world, puts.peer));
  const auto request = protocol::decode_request(puts.endpoint.take());
  REQUIRE(request.has_value());
  puts.world.runner.on_reply(
      test::reply_message(request->header.id, Status::kMisaligned, 1, {}));
  CHECK(puts.world.has_ended(chain, Status::kMisaligned));
  CHECK(chain.current == kPuts + 2);
}

TEST_CASE("runner puts: an endpoint that joins no words gets them later",
          "[gma][runner]") {
  PutsWorld puts;
  puts.endpoint.post_then_send_status = nullptr;
  const Operation& chain = puts.world.start(puts.steps());
  REQUIRE(puts.endpoint.posted.size() == 1);
  CHECK(puts.endpoint.posted.front().steps.size() == kPuts);
  CHECK(puts.endpoint.posted.front().message.empty());
  CHECK(puts.endpoint.offers == 0);
  complete_oldest(puts.world, puts.peer);
  for (int word = 0; word < 2; ++word) {
    puts.world.pump();
    CHECK(puts.world.ends_of(chain) == 0);
    REQUIRE(puts.endpoint.sent.size() == 1);
    puts.reply();
  }
  CHECK(puts.world.has_ended(chain, Status::kOk));
  CHECK(puts.has_data());
}

TEST_CASE("runner puts: without room a chain waits whole", "[gma][runner]") {
  PutsWorld puts;
  puts.endpoint.post_then_send_status = always(Status::kAgain);
  const Operation& chain = puts.world.start(puts.steps());
  CHECK(puts.endpoint.posted.empty());
  CHECK(puts.endpoint.offers == 0);
  CHECK(puts.world.runner.has_unsent());
  puts.endpoint.post_then_send_status = always(Status::kOk);
  puts.world.pump();
  REQUIRE(puts.endpoint.posted.size() == 1);
  complete_oldest(puts.world, puts.peer);
  puts.reply();
  CHECK(puts.world.has_ended(chain, Status::kOk));
  CHECK(puts.has_data());
}

TEST_CASE("runner puts: an endpoint that takes no post gets step after step",
          "[gma][runner]") {
  PutsWorld puts;
  puts.endpoint.post_then_send_status = nullptr;
  puts.endpoint.post_status = nullptr;
  const Operation& chain = puts.world.start(puts.steps());
  int messages = 0;
  for (puts.world.pump(); !puts.endpoint.sent.empty(); puts.world.pump()) {
    CHECK(puts.endpoint.sent.size() == 1);
    puts.reply();
    ++messages;
  }
  CHECK(messages == static_cast<int>(kPuts) + 2);
  CHECK(puts.world.has_ended(chain, Status::kOk));
  CHECK(puts.has_data());
}

// An endpoint whose peer denies the memory: each offer of a post is refused, in
// whatever way, and the agent gets messages.
TEST_CASE("runner puts: a chain that waited for a denied registration goes on",
          "[gma][runner]") {
  PutsWorld puts;
  puts.endpoint.post_then_send_status = nullptr;
  puts.endpoint.post_status = always(Status::kAgain);
  const Operation& chain = puts.world.start(puts.steps());
  CHECK(puts.world.runner.has_unsent());
  CHECK(puts.endpoint.posted.empty());
  CHECK(puts.endpoint.sent.empty());
  puts.endpoint.post_status = nullptr;
  for (puts.world.pump(); !puts.endpoint.sent.empty(); puts.world.pump()) {
    puts.reply();
  }
  CHECK(puts.world.has_ended(chain, Status::kOk));
  CHECK(puts.has_data());
}

TEST_CASE("runner puts: a lost peer ends a chain whose words are joined",
          "[gma][runner]") {
  PutsWorld puts;
  const Operation& chain = puts.world.start(puts.steps());
  const std::uint64_t token = puts.endpoint.posted.front().token;
  const bool is_reply_here = GENERATE(true, false);
  if (is_reply_here) {
    run_oldest(puts.world, puts.peer);
    puts.reply();
  }
  puts.world.runner.fail_peer(12, Status::kPeerDead);
  CHECK(puts.world.has_ended(chain, Status::kPeerDead));
  puts.world.runner.on_posted_done(token);  // too late, and to nobody
  CHECK(puts.world.ends_of(chain) == 1);
}

// Only the first put may be posted alone, because the steps behind it depend on
// the order. All of them are done in the end.
TEST_CASE("runner puts: a get, or a put behind a word, is not in front",
          "[gma][runner]") {
  PutsWorld puts;
  std::vector<Step> steps = puts.steps();
  SECTION("a get between puts") {
    steps.insert(steps.begin() + 1,
                 bulk_step(Opcode::kGet, puts.world.far(2, 128),
                           puts.world.mine + 4096, 8));
  }
  SECTION("a put behind the words") {
    steps.push_back(
        bulk_step(Opcode::kPut, puts.world.far(2, 128), puts.world.mine, 8));
  }
  const Operation& chain = puts.world.start(steps);
  REQUIRE(puts.endpoint.posted.size() == 1);
  CHECK(puts.endpoint.posted.front().steps.size() == 1);
  CHECK(puts.endpoint.posted.front().message.empty());
  for (puts.world.pump();
       !puts.endpoint.posted.empty() || !puts.endpoint.sent.empty();
       puts.world.pump()) {
    if (!puts.endpoint.posted.empty()) {
      complete_oldest(puts.world, puts.peer);
    } else {
      puts.reply();
    }
  }
  CHECK(puts.world.has_ended(chain, Status::kOk));
  CHECK(puts.has_data());
}

}  // namespace acp::gma
