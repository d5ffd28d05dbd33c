// Steps that the runner posts to an endpoint which reaches the peer's memory by
// itself.
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include "gmm/memory_ops.h"
#include "support/seeds.h"
#include "unit/runner_peer.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

}  // namespace

TEST_CASE("runner post: a put is one posted step and no message",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = always(Status::kOk);
  const Operation& put =
      world.start({copy_step(world.far(2, 100), world.mine + 8, 64)});
  REQUIRE(endpoint.posted.size() == 1);
  REQUIRE(endpoint.posted.front().steps.size() == 1);
  const transport::RemoteStep step = endpoint.posted.front().steps[0];
  CHECK(step.opcode == Opcode::kPut);
  CHECK(step.key == 5);
  CHECK(step.offset == 100);
  CHECK(step.size == 64);
  CHECK(step.local_memory == world.memory.data() + 8);
  CHECK(step.local_key == world.space.codec().index(world.mine));
  // A live entry without color and generation, with any counter.
  CHECK(((step.state ^ 0x80000001) & step.state_mask) == 0);
  CHECK(((step.state ^ 0x80000000) & step.state_mask) != 0);
  CHECK(endpoint.offers == 0);
  CHECK(world.ends_of(put) == 0);
  const std::uint64_t token = endpoint.posted.front().token;
  world.runner.on_posted_done(token);
  CHECK(world.has_ended(put, Status::kOk));
  // Once is enough.
  world.runner.on_posted_done(token);
  CHECK(world.ends_of(put) == 1);
}

TEST_CASE("runner post: a chain is posted whole, steps of no bytes left out",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  Peer peer(4096);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = always(Status::kOk);
  std::memcpy(world.memory.data(), "abcdefgh", 8);
  const Operation& chain = world.start(
      {bulk_step(Opcode::kPut, world.far(2, 0), world.mine, 8),
       bulk_step(Opcode::kGet, world.far(2, 64), world.mine + 32, 0),
       word_step(Opcode::kAdd, world.far(2, 0), world.mine + 16),
       word_step(Opcode::kPut8, world.far(2, 8), 0, 99),
       bulk_step(Opcode::kGet, world.far(2, 0), world.mine + 64, 16)});
  REQUIRE(endpoint.posted.size() == 1);
  CHECK(endpoint.posted.front().steps.size() == 4);
  complete_oldest(world, peer);
  CHECK(world.has_ended(chain, Status::kOk));
  CHECK(std::memcmp(world.memory.data() + 16, "abcdefgh", 8) == 0);
  CHECK(std::memcmp(world.memory.data() + 64, "bbcdefgh\x63\0", 10) == 0);

  // Nothing but steps of no bytes: nothing to post.
  const Operation& empty =
      world.start({bulk_step(Opcode::kGet, world.far(2, 64), world.mine, 0),
                   bulk_step(Opcode::kPut, world.far(2, 64), world.mine, 0)});
  CHECK(endpoint.posted.empty());
  world.answer(2);
  CHECK(world.has_ended(empty, Status::kOk));
}

TEST_CASE("runner post: what the endpoint does not do goes by message",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  auto& endpoint = world.endpoint(2);
  int offers = 0;
  endpoint.post_status = [&offers] {
    ++offers;
    return Status::kUnsupported;
  };
  const Operation& add =
      world.start({word_step(Opcode::kAdd, world.far(2, 8), world.mine)});
  const Operation& chain =
      world.start({word_step(Opcode::kPut8, world.far(2, 8), 0),
                   word_step(Opcode::kPut8, world.far(2, 16), 0)});
  CHECK(offers == 2);
  REQUIRE(endpoint.sent.size() == 2);
  world.answer(2, Status::kOk, test::word_bytes(7));
  world.answer(2, Status::kBadKey);
  CHECK(world.has_ended(add, Status::kOk));
  CHECK(world.has_ended(chain, Status::kBadKey));
  CHECK(test::word_of(world.memory) == 7);
  // A copy inside of another rank is never offered to an endpoint.
  world.start({copy_step(world.far(2, 8), world.far(2, 0), 8)});
  CHECK(offers == 2);
}

// A transport looks for the own end in the key table of its own process. The
// key of another rank names other memory there, or none.
TEST_CASE("runner post: memory of another rank of this host goes by message",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = always(Status::kOk);
  const GlobalAddress neighbour = world.space.codec().encode(1, 0, 0, 0, 0);
  std::byte* const memory = world.space.direct(neighbour, 16);
  REQUIRE(memory != nullptr);
  std::memcpy(memory, "neighbour", 9);

  const Operation& put =
      world.start({copy_step(world.far(2, 100), neighbour, 9)});
  CHECK(endpoint.posted.empty());
  REQUIRE(endpoint.sent.size() == 1);
  world.answer(2);
  CHECK(world.has_ended(put, Status::kOk));

  const Operation& get =
      world.start({copy_step(neighbour, world.far(2, 100), 8)});
  CHECK(endpoint.posted.empty());
  REQUIRE(endpoint.sent.size() == 1);
  world.answer(2, Status::kOk, test::word_bytes(7));
  CHECK(world.has_ended(get, Status::kOk));
  CHECK(memory[0] == std::byte{7});
}

// The endpoint takes two of three posts. The rest has to follow when one is
// complete.
TEST_CASE("runner post: a full endpoint is offered the rest later",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  Peer peer(4096);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = [&endpoint] {
    return endpoint.posted.size() < 2 ? Status::kOk : Status::kAgain;
  };
  for (std::size_t i = 0; i < 2000; ++i) {
    world.memory[i] = static_cast<std::byte>(i * 7);
  }
  const Operation& put =
      world.start({copy_step(world.far(2, 1), world.mine, 2000)});
  CHECK(world.runner.has_unsent());
  CHECK(endpoint.posted.size() == 2);
  complete_oldest(world, peer);
  CHECK(world.ends_of(put) == 0);
  world.pump();
  complete_oldest(world, peer);
  complete_oldest(world, peer);
  CHECK(world.has_ended(put, Status::kOk));
  CHECK(std::equal(peer.memory.begin() + 1, peer.memory.begin() + 2001,
                   world.memory.begin()));
  CHECK(endpoint.offers == 0);
}

// Each number is given to the function for the other kind, where it must end
// nothing.
TEST_CASE("runner post: a token is nobody's reply, and a reply's id no token",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = always(Status::kOk);
  const Operation& put =
      world.start({copy_step(world.far(2, 0), world.mine, 8)});
  world.runner.on_reply(
      test::reply_message(endpoint.posted.front().token, Status::kOk, 0, {}));
  CHECK(world.ends_of(put) == 0);
  endpoint.post_status = always(Status::kUnsupported);
  const Operation& by_message =
      world.start({copy_step(world.far(2, 0), world.mine, 8)});
  const auto request = protocol::decode_request(endpoint.sent.front());
  world.runner.on_posted_done(request->header.id);
  CHECK(world.ends_of(by_message) == 0);
  world.runner.on_posted_done(~std::uint64_t{0});
  world.answer(2);
  world.runner.on_posted_done(endpoint.posted.front().token);
  CHECK(world.has_ended(put, Status::kOk));
  CHECK(world.has_ended(by_message, Status::kOk));
}

TEST_CASE("runner post: memory unregistered before its piece was posted",
          "[gma][runner]") {
  RunnerWorld world(kMaxMessage, kMaxPosted);
  auto& endpoint = world.endpoint(2);
  endpoint.post_status = [&endpoint] {
    return endpoint.posted.empty() ? Status::kOk : Status::kAgain;
  };
  const Operation& put =
      world.start({copy_step(world.far(2, 0), world.mine, 2000)});
  REQUIRE(world.keys.remove(0, world.mine & ~std::uint64_t{63}) == Status::kOk);
  const std::uint64_t token = endpoint.posted.front().token;
  endpoint.posted.clear();
  world.pump();
  CHECK(endpoint.posted.empty());
  CHECK(world.ends_of(put) == 0);  // its first piece is still under way
  world.runner.on_posted_done(token);
  CHECK(world.has_ended(put, Status::kBadKey));
}

namespace {

/// Random operations, each on memory of its own at both ends, over an endpoint
/// that takes some steps, puts off others and refuses the rest.
class RandomRun {
 public:
  static constexpr std::size_t kOperations = 60;
  static constexpr std::size_t kOwn = 8192;  ///< Bytes of each at each end.
  static constexpr std::size_t kLocal = kOwn / 5 / 8 * 8;  ///< Limit of a step.

  explicit RandomRun(std::uint32_t seed)
      : random_(seed), peer_(kOperations * kOwn), far_(peer_.memory) {
    const auto any_status = [this] {
      const std::uint32_t dice = random_() % 8;
      return dice < 4   ? Status::kOk
             : dice < 6 ? Status::kAgain
                        : Status::kUnsupported;
    };
    world_.endpoint(2).post_status = any_status;
    world_.endpoint(2).post_then_send_status = any_status;
    world_.endpoint(2).room = 5;
    for (std::size_t i = 0; i < kOperations * kOwn; ++i) {
      world_.memory[i] = static_cast<std::byte>(random_());
      peer_.memory[i] = static_cast<std::byte>(random_());
    }
    far_ = peer_.memory;
    near_.assign(world_.memory.begin(),
                 world_.memory.begin() + kOperations * kOwn);
  }

  /// `fails_after` events the peer is lost.
  void run(std::size_t fails_after) {
    std::size_t started = 0;
    std::size_t events = 0;
    for (; events < fails_after; ++events) {
      if (random_() % 4 == 0 && started < kOperations) {
        start(started++);
      } else if (!deliver() && started == kOperations && is_quiet()) {
        return;
      }
      world_.pump();
      REQUIRE(events < 1'000'000);
    }
    auto& endpoint = world_.endpoint(2);
    const auto late = endpoint.posted;
    world_.runner.fail_peer(12, Status::kPeerDead);
    for (const auto& chain : late) {
      world_.runner.on_posted_done(chain.token);
    }
    for (const std::uint64_t token : done_) {
      world_.runner.on_posted_done(token);
    }
    world_.pump();
    has_failed_ = true;
  }

  void check() {
    for (const Operation* operation : operations_) {
      REQUIRE(world_.ends_of(*operation) == 1);
      REQUIRE((operation->status == Status::kOk ||
               (has_failed_ && operation->status == Status::kPeerDead)));
    }
    if (!has_failed_) {
      REQUIRE(std::equal(far_.begin(), far_.end(), peer_.memory.begin()));
      REQUIRE(std::equal(near_.begin(), near_.end(), world_.memory.begin()));
    }
    REQUIRE_FALSE(world_.runner.has_unsent());
    world_.runner.forget_peers();
  }

 private:
  bool is_quiet() {
    return world_.endpoint(2).posted.empty() && done_.empty() &&
           world_.endpoint(2).sent.empty() && !world_.runner.has_unsent();
  }

  /// One event at the endpoint: requests in any order, chains in order of
  /// posting. A completion may come much later than its chain is done, so that
  /// the reply to a message behind the chain comes first.
  bool deliver() {
    auto& endpoint = world_.endpoint(2);
    if (!endpoint.posted.empty() &&
        (endpoint.sent.empty() || random_() % 2 == 0)) {
      done_.push_back(run_oldest(world_, peer_));
      return true;
    }
    if (!done_.empty() && (endpoint.sent.empty() || random_() % 2 == 0)) {
      world_.runner.on_posted_done(done_.front());
      done_.pop_front();
      return true;
    }
    if (endpoint.sent.empty()) {
      return false;
    }
    std::swap(endpoint.sent.front(),
              endpoint.sent[random_() % endpoint.sent.size()]);
    world_.runner.on_reply(peer_.answer(endpoint.take(), world_.space.codec()));
    return true;
  }

  void start(std::size_t number) {
    const std::size_t base = number * kOwn;
    std::vector<Step> steps;
    const std::size_t count = 1 + random_() % 5;
    for (std::size_t i = 0; i < count; ++i) {
      steps.push_back(count == 1 && random_() % 2 == 0 ? any_copy(base)
                                                       : any_step(base, i));
      foresee(steps.back());
    }
    operations_.push_back(&world_.start(std::move(steps)));
  }

  Step any_copy(std::size_t base) {
    const std::size_t size = 1 + random_() % (kOwn / 2);
    const GlobalAddress far = world_.far(2, base + random_() % (kOwn / 2));
    const GlobalAddress near = world_.mine + base + random_() % (kOwn / 2);
    return random_() % 2 == 0 ? copy_step(far, near, size)
                              : copy_step(near, far, size);
  }

  /// Each step with local memory of its own: in one flight none can use the
  /// result of another.
  Step any_step(std::size_t base, std::size_t index) {
    const std::size_t far = base + random_() % (kOwn / 2 / 8) * 8;
    const std::size_t near = base + index * kLocal;
    if (random_() % 2 == 0) {
      return bulk_step(
          random_() % 2 == 0 ? Opcode::kPut : Opcode::kGet, world_.far(2, far),
          world_.mine + near,
          random_() % 4 == 0 ? random_() % kLocal : random_() % 100);
    }
    constexpr Opcode kWords[] = {Opcode::kPut8, Opcode::kAdd, Opcode::kCas,
                                 Opcode::kSwap, Opcode::kXor};
    Step step = word_step(kWords[random_() % std::size(kWords)],
                          world_.far(2, far), 0, random_());
    if (step.opcode != Opcode::kPut8) {
      step.width = random_() % 2 == 0 ? 4 : 8;
      step.local = random_() % 3 == 0 ? 0 : world_.mine + near;
    }
    return step;
  }

  /// Applies the expected effect of the step.
  void foresee(const Step& step) {
    const auto& codec = world_.space.codec();
    const bool is_get =
        step.opcode == Opcode::kGet ||
        (step.opcode == Opcode::kCopy && codec.rank(step.remote) == 0);
    const bool is_copy = step.opcode == Opcode::kCopy;
    const GlobalAddress far = is_copy && is_get ? step.local : step.remote;
    const GlobalAddress near = is_copy && is_get ? step.remote : step.local;
    std::byte* at = far_.data() + codec.offset(far);
    std::byte* local =
        near == 0 ? nullptr : near_.data() + (near - world_.mine);
    if (is_get) {
      std::memcpy(local, at, step.size);
    } else if (is_copy || step.opcode == Opcode::kPut) {
      std::memcpy(at, local, step.size);
    } else if (step.opcode == Opcode::kPut8) {
      std::memcpy(at, &step.operand, 8);
    } else {
      const std::uint64_t old = gmm::apply_atomic(step.opcode, step.width, at,
                                                  step.operand, step.compare);
      if (local != nullptr) {
        gmm::store_word(local, step.width, old);
      }
    }
  }

  std::mt19937 random_;
  RunnerWorld world_{kMaxMessage, kMaxPosted};
  Peer peer_;
  std::deque<std::uint64_t> done_;  ///< Tokens of chains, not reported yet.
  std::vector<std::byte> far_;      ///< Expected bytes there.
  std::vector<std::byte> near_;     ///< Expected bytes here.
  std::vector<const Operation*> operations_;
  bool has_failed_ = false;
};

}  // namespace

TEST_CASE("runner post: whatever the endpoint takes, the results are the same",
          "[gma][runner]") {
  for (std::uint32_t seed = 1; seed <= test::seeds_of_one_thread(100); ++seed) {
    INFO("seed " << seed);
    RandomRun run(seed);
    run.run(SIZE_MAX);
    run.check();
  }
}

TEST_CASE("runner post: when the peer is lost each operation ends once",
          "[gma][runner]") {
  for (std::uint32_t seed = 1; seed <= test::seeds_of_one_thread(100); ++seed) {
    INFO("seed " << seed);
    RandomRun run(seed);
    run.run(1 + seed * 3 % 211);
    run.check();
  }
}

}  // namespace acp::gma
