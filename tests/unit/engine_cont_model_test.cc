// Random operations with ACP_HANDLE_CONT against a model that does one after
// the other. The device may do a step that was posted without an order at any
// time. It does all other steps behind the steps before them.
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "support/messages.h"
#include "support/seeds.h"
#include "unit/engine_world.h"
#include "unit/runner_peer.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

/// Bytes of each rank that the operations use: few, so that many operations
/// touch the same ones.
constexpr std::size_t kBytes = 64;

/// An operation between the bytes of rank 0 and those of rank 1. Offsets and
/// sizes of words are multiples of 8.
struct Made {
  Opcode opcode = Opcode::kPut;
  std::size_t near = 0;
  std::size_t far = 0;
  std::size_t size = 8;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

template <typename Random>
Made make(Random& random) {
  constexpr std::array kOpcodes = {Opcode::kPut, Opcode::kPut, Opcode::kPut,
                                   Opcode::kGet, Opcode::kGet, Opcode::kGet,
                                   Opcode::kAdd, Opcode::kCas, Opcode::kPut8};
  Made made;
  made.opcode = kOpcodes[random() % kOpcodes.size()];
  made.near = random() % (kBytes / 8) * 8;
  made.far = random() % (kBytes / 8) * 8;
  if (protocol::is_bulk(made.opcode)) {
    made.size = 1 + random() % (kBytes - std::max(made.near, made.far));
  }
  made.operand = random();
  made.compare = random() % 2;
  return made;
}

/// Two memories on which operations are done one after the other.
struct Model {
  std::array<std::byte, kBytes> near{};
  std::array<std::byte, kBytes> far{};

  void apply(const Made& made) {
    std::byte* word = far.data() + made.far;
    if (made.opcode == Opcode::kPut) {
      std::memcpy(word, near.data() + made.near, made.size);
    } else if (made.opcode == Opcode::kGet) {
      std::memcpy(near.data() + made.near, word, made.size);
    } else if (made.opcode == Opcode::kPut8) {
      std::memcpy(word, &made.operand, sizeof made.operand);
    } else {
      std::uint64_t old = 0;
      std::memcpy(&old, word, sizeof old);
      const std::uint64_t changed = made.opcode == Opcode::kAdd
                                        ? old + made.operand
                                    : old == made.compare ? made.operand
                                                          : old;
      std::memcpy(word, &changed, sizeof changed);
      std::memcpy(near.data() + made.near, &old, sizeof old);
    }
  }
};

/// An engine of rank 0, and the device and the agent of rank 1.
class ContModelWorld {
 public:
  explicit ContModelWorld(std::uint32_t seed) : random_(seed) {
    world.max_posted = 4096;
    world.orders_posts = true;
    for (std::size_t i = 0; i < kBytes; ++i) {
      model.near[i] = static_cast<std::byte>(random_());
      model.far[i] = static_cast<std::byte>(random_() % 2);
    }
    std::memcpy(near(), model.near.data(), kBytes);
    std::memcpy(far_.memory.data() + kFirst, model.far.data(), kBytes);
    endpoint.post_status = [this] {
      return refusal ? *refusal : Status::kOk;
    };
  }

  Handle issue(const Made& made, Handle order) {
    const auto& codec = world.space.codec();
    Step step;
    step.opcode = made.opcode;
    step.remote = codec.encode(1, 0, gmm::kStarterKey, 0, kFirst + made.far);
    step.local = made.opcode == Opcode::kPut8
                     ? 0
                     : codec.encode(0, 0, gmm::kStarterKey, 0, made.near);
    step.size = protocol::is_bulk(made.opcode) ? made.size : 0;
    step.operand = made.operand;
    step.compare = made.compare;
    const Result<Handle> handle = world.engine.chain({&step, 1}, order);
    REQUIRE(handle.ok());
    return handle.value();
  }

  /// The device does the step at `at` of those that are posted. The steps that
  /// are done and have no other step before them complete.
  void execute(std::size_t at) {
    far_.run(endpoint.posted[at].steps.front());
    endpoint.posted[at].steps.clear();
    while (!endpoint.posted.empty() && endpoint.posted.front().steps.empty()) {
      const std::uint64_t token = endpoint.posted.front().token;
      endpoint.posted.pop_front();
      world.pass_with([&] { world.engine.runner().on_posted_done(token); });
    }
  }

  /// The device may do any step that is not behind others, or the first one
  /// that is not done.
  void execute_any() {
    std::vector<std::size_t> possible;
    for (std::size_t i = 0; i < endpoint.posted.size(); ++i) {
      const auto& posted = endpoint.posted[i];
      if (!posted.steps.empty() && (!posted.is_behind || i == 0)) {
        possible.push_back(i);
      }
    }
    if (!possible.empty()) {
      execute(possible[random_() % possible.size()]);
    }
  }

  /// The agent answers the oldest request: does it, or fails it.
  void answer(Status status = Status::kOk) {
    const auto request = endpoint.take();
    const auto reply =
        status == Status::kOk
            ? far_.answer(request, world.space.codec())
            : test::reply_message(protocol::decode_request(request)->header.id,
                                  status, 0, {});
    world.pass_with([&] { world.engine.runner().on_reply(reply); });
  }

  /// Lets the device and the agent do all that they have.
  void finish() {
    while (!endpoint.posted.empty() || !endpoint.sent.empty()) {
      if (endpoint.sent.empty()) {
        execute_any();
      } else {
        answer();
      }
    }
  }

  bool agrees() {
    return std::memcmp(near(), model.near.data(), kBytes) == 0 &&
           std::memcmp(far_.memory.data() + kFirst, model.far.data(), kBytes) ==
               0;
  }

  Status result(Handle handle) {
    return world.engine.complete(handle, TimePoint{});
  }

  EngineUnderTest world;
  test::FakeEndpoint& endpoint = world.endpoint();
  Model model;
  std::optional<Status> refusal;  ///< Result of all posts; none: taken.

 private:
  static constexpr std::size_t kFirst = 256;

  std::byte* near() {
    return world.space.direct(
        world.space.codec().encode(0, 0, gmm::kStarterKey, 0, 0), kBytes);
  }

  std::mt19937 random_;
  Peer far_{kFirst + kBytes};
};

constexpr std::size_t kOperations = 10;

/// Calls `test(world, random, at)` for each operation `at` that may fail, with
/// ten seeds and a new world each time.
template <typename Test>
void for_each_operation(Test test) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    for (std::size_t at = 0; at < kOperations; ++at) {
      INFO("seed " << seed << ", operation " << at);
      std::mt19937 random(seed);
      ContModelWorld cont(seed);
      test(cont, random, at);
    }
  }
}

}  // namespace

// The peer executes the posted steps in any order that the device may take. The
// model executes each operation at its issue.
TEST_CASE("engine cont: memory is as if each operation had waited",
          "[gma][order][model]") {
  const std::uint32_t seeds = test::seeds_of_one_thread(400);
  std::size_t most_posted = 0;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    ContModelWorld cont(seed);
    Handle last = kHandleNull;
    for (int i = 0; i < 40; ++i) {
      const Made made = make(random);
      const std::uint32_t dice = random() % 16;
      cont.refusal.reset();
      if (dice < 2) {
        cont.refusal = dice == 0 ? Status::kUnsupported : Status::kAgain;
      }
      last = cont.issue(made, dice == 2 ? kHandleAll : kHandleCont);
      cont.model.apply(made);
      most_posted = std::max(most_posted, cont.endpoint.posted.size());
      for (auto n = random() % 3; n != 0; --n) {
        cont.execute_any();
      }
      if (random() % 3 == 0 && !cont.endpoint.sent.empty()) {
        cont.answer();
      }
    }
    cont.refusal.reset();
    cont.world.pass(Arrivals::kNone);
    cont.finish();
    REQUIRE(cont.world.engine.is_complete(last));
    REQUIRE(cont.result(last) == Status::kOk);
    REQUIRE(cont.agrees());
  }
  CHECK(most_posted > 4);
}

// The peer fails after each number of operations that are done. Later
// operations with this order must not be posted any more.
TEST_CASE("engine cont: with the peer, an operation and all behind it fail",
          "[gma][order][model]") {
  for_each_operation(
      [](ContModelWorld& cont, std::mt19937& random, std::size_t at) {
        std::vector<Handle> handles;
        for (std::size_t i = 0; i < kOperations; ++i) {
          const Made made = make(random);
          handles.push_back(cont.issue(made, kHandleCont));
          if (i < at) {
            cont.model.apply(made);
          }
        }
        REQUIRE(cont.endpoint.posted.size() == kOperations);
        for (std::size_t i = 0; i < at; ++i) {
          cont.execute(0);
        }
        cont.world.pass_with([&] { cont.world.engine.fail_peer(0); });
        cont.endpoint.posted.clear();
        const Handle behind = cont.issue(make(random), kHandleCont);
        CHECK(cont.endpoint.posted.empty());
        for (std::size_t i = 0; i < kOperations; ++i) {
          CHECK(cont.result(handles[i]) ==
                (i < at ? Status::kOk : Status::kPeerDead));
        }
        CHECK(cont.result(behind) == Status::kOrderFailed);
        CHECK(cont.agrees());
      });
}

TEST_CASE("engine cont: an operation that fails alone has none behind it",
          "[gma][order][model]") {
  for_each_operation(
      [](ContModelWorld& cont, std::mt19937& random, std::size_t at) {
        std::vector<Handle> handles;
        for (std::size_t i = 0; i < kOperations; ++i) {
          const Made made = make(random);
          cont.refusal.reset();
          if (i == at) {
            cont.refusal = Status::kUnsupported;
          }
          handles.push_back(cont.issue(made, kHandleCont));
          if (i < at) {
            cont.model.apply(made);
          }
        }
        // The steps before it, and it alone, are under way.
        CHECK(cont.endpoint.posted.size() == at);
        cont.refusal = Status::kUnsupported;
        for (std::size_t i = 0; i < at; ++i) {
          cont.execute(0);
        }
        REQUIRE(cont.endpoint.sent.size() == 1);
        cont.answer(Status::kBadKey);
        CHECK(cont.endpoint.posted.empty());
        CHECK(cont.endpoint.sent.empty());
        REQUIRE(cont.world.engine.is_complete(handles.back()));
        for (std::size_t i = 0; i < kOperations; ++i) {
          const Status status = cont.result(handles[i]);
          CHECK(status == (i < at    ? Status::kOk
                           : i == at ? Status::kBadKey
                                     : Status::kOrderFailed));
        }
        CHECK(cont.agrees());
      });
}

}  // namespace acp::gma
