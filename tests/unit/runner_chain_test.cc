// Chains, cross-memory copies and direct steps of the runner.
#include <algorithm>
#include <cstring>

#include "unit/runner_world.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

std::uint64_t word_at(std::span<const std::byte> memory, std::size_t offset) {
  return test::word_of(memory.subspan(offset));
}

}  // namespace

// The chain has steps with data, with results, with both and with neither. The
// fake peer answers with results alone, so their places in memory show which
// step took which.
TEST_CASE("runner chain: goes in one message when it fits", "[gma][runner]") {
  RunnerWorld world;
  std::memcpy(world.memory.data(), "abcde", 5);
  const Operation& chain = world.start({
      bulk_step(Opcode::kPut, world.far(2, 0), world.mine, 5),
      word_step(Opcode::kAdd, world.far(2, 8), world.mine + 16),
      bulk_step(Opcode::kGet, world.far(2, 64), world.mine + 32, 3),
      bulk_step(Opcode::kGet, world.far(2, 64), world.mine + 40, 0),
      bulk_step(Opcode::kPut, world.far(2, 64), world.mine + 1, 2),
      word_step(Opcode::kSwap, world.far(2, 8), 0),
      word_step(Opcode::kPut8, world.far(2, 16), 0, 99),
  });
  REQUIRE(world.endpoint(2).sent.size() == 1);
  const auto message = world.endpoint(2).take();
  const auto request = protocol::decode_request(message);
  REQUIRE(request.has_value());
  REQUIRE(request->header.steps == 7);
  CHECK(std::memcmp(request->data.data(), "abcdebc", 7) == 0);
  CHECK(request->step(6).operand == 99);

  std::vector<std::byte> results = test::word_bytes(11);
  results.insert(results.end(),
                 {std::byte{'x'}, std::byte{'y'}, std::byte{'z'}});
  const auto swap_result = test::word_bytes(22);
  results.insert(results.end(), swap_result.begin(), swap_result.end());
  world.runner.on_reply(
      test::reply_message(request->header.id, Status::kOk, 0, results));
  CHECK(world.has_ended(chain, Status::kOk));
  CHECK(word_at(world.memory, 16) == 11);
  CHECK(std::memcmp(world.memory.data() + 32, "xyz\0", 4) == 0);
}

TEST_CASE("runner chain: runs step by step when it does not fit",
          "[gma][runner]") {
  RunnerWorld world;
  std::vector<Step> steps;
  SECTION("a get larger than a message") {
    steps = {bulk_step(Opcode::kGet, world.far(2, 0), world.mine, 2000)};
  }
  SECTION("gets whose reply is too large") {
    steps = {bulk_step(Opcode::kGet, world.far(2, 0), world.mine, 600),
             bulk_step(Opcode::kGet, world.far(2, 0), world.mine, 600)};
  }
  SECTION("a size that wraps when it is added up") {
    // The source does not have that much: it fails, but cleanly.
    steps = {bulk_step(Opcode::kPut, world.far(2, 0), world.mine,
                       ~std::uint64_t{0} - 8)};
  }
  steps.push_back(word_step(Opcode::kAdd, world.far(2, 8), 0));
  const Operation& chain = world.start(steps);
  std::vector<Opcode> seen;
  while (!world.endpoint(2).sent.empty()) {
    const auto request =
        protocol::decode_request(world.endpoint(2).sent.front());
    REQUIRE(request.has_value());
    CHECK(request->header.steps == 1);
    const auto step = request->step(0);
    const std::vector<std::byte> data(protocol::reply_bytes(step));
    world.answer(2, Status::kOk, data);
    world.runner.pump();
    seen.push_back(step.opcode);
  }
  CHECK(world.ends_of(chain) == 1);
  if (chain.status == Status::kOk) {
    CHECK(seen.back() == Opcode::kAdd);
    CHECK(std::count(seen.begin(), seen.end(), Opcode::kAdd) == 1);
  } else {
    CHECK(seen.empty());
  }
}

TEST_CASE("runner chain: the message may be filled to its last byte",
          "[gma][runner]") {
  constexpr std::size_t kHead =
      sizeof(protocol::RequestHeader) + 2 * protocol::kStepBytes;
  for (const bool fits : {true, false}) {
    RunnerWorld world;
    const std::size_t size = 1024 - kHead + (fits ? 0 : 1);
    world.start({bulk_step(Opcode::kPut, world.far(2, 0), world.mine, size),
                 word_step(Opcode::kPut8, world.far(2, 8), 0)});
    REQUIRE(world.endpoint(2).sent.size() == 1);
    const auto request =
        protocol::decode_request(world.endpoint(2).sent.front());
    REQUIRE(request.has_value());
    CHECK(request->header.steps == (fits ? 2 : 1));
  }
}

TEST_CASE("runner chain: a step that fails ends it, results before it count",
          "[gma][runner]") {
  RunnerWorld world;
  std::fill_n(world.memory.begin(), 64, std::byte{0xee});
  const std::vector<Step> steps = {
      word_step(Opcode::kAdd, world.far(2, 8), world.mine),
      word_step(Opcode::kAdd, world.far(2, 8), world.mine + 8),
      word_step(Opcode::kAdd, world.far(2, 8), world.mine + 16)};
  for (const std::uint16_t failed :
       std::initializer_list<std::uint16_t>{0, 1, 2, 3, 15}) {
    INFO("failed step " << failed);
    std::fill_n(world.memory.begin(), 64, std::byte{0xee});
    const Operation& chain = world.start(steps);
    const auto message = world.endpoint(2).take();
    const auto request = protocol::decode_request(message);
    REQUIRE(request.has_value());
    REQUIRE(request->header.steps == 3);
    // A step that the chain does not have must do no harm.
    const std::size_t done = std::min<std::size_t>(failed, 2);
    world.runner.on_reply(
        test::reply_message(request->header.id, Status::kBadAddress, failed,
                            std::vector<std::byte>(8 * done)));
    CHECK(world.has_ended(chain, Status::kBadAddress));
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(word_at(world.memory, 8 * i) ==
            (i < done ? 0 : 0xeeeeeeeeeeeeeeee));
    }
  }
}

TEST_CASE("runner chain: a failed step that it does not have is not looked up",
          "[gma][runner]") {
  // Steps without results: nothing else would end the walk over them.
  RunnerWorld world;
  const Operation& chain =
      world.start({word_step(Opcode::kPut8, world.far(2, 0), 0),
                   word_step(Opcode::kPut8, world.far(2, 8), 0)});
  const auto message = world.endpoint(2).take();
  const auto request = protocol::decode_request(message);
  REQUIRE(request.has_value());
  world.runner.on_reply(
      test::reply_message(request->header.id, Status::kBadAddress,
                          protocol::kMaxSteps - 1, std::vector<std::byte>(64)));
  CHECK(world.has_ended(chain, Status::kBadAddress));
  CHECK(chain.current < chain.steps.size());
}

TEST_CASE("runner chain: waits for room as a whole", "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(2).room = 0;
  const Operation& chain =
      world.start({word_step(Opcode::kPut8, world.far(2, 0), 0),
                   word_step(Opcode::kPut8, world.far(2, 8), 0)});
  CHECK(world.runner.has_unsent());
  world.endpoint(2).room = 1;
  world.runner.pump();
  CHECK_FALSE(world.runner.has_unsent());
  world.answer(2);
  CHECK(world.has_ended(chain, Status::kOk));
}

TEST_CASE("runner chain: a copy in it is a request of its own",
          "[gma][runner]") {
  // A put with signal from another rank's memory.
  RunnerWorld world;
  const Operation& chain =
      world.start({copy_step(world.far(2, 0), world.far(3, 0), 100),
                   word_step(Opcode::kAdd, world.far(2, 128), 0)});
  REQUIRE(world.endpoint(2).sent.empty());
  CHECK(world.answer(3).opcode == Opcode::kCopy);
  world.runner.pump();
  CHECK(world.answer(2, Status::kOk, test::word_bytes(0)).opcode ==
        Opcode::kAdd);
  CHECK(world.has_ended(chain, Status::kOk));

  const Operation& bad =
      world.start({copy_step(world.far(2, 0), world.far(3, 0), 100),
                   word_step(Opcode::kAdd, world.far(2, 128), 0)});
  world.answer(3, Status::kBadAddress);
  world.runner.pump();
  CHECK(world.has_ended(bad, Status::kBadAddress));
  CHECK(world.endpoint(2).sent.empty());
}

// The peer's starter memory is mapped, so the steps are done in the call. The
// sleeper is there to show that the signal rings without a message.
TEST_CASE("runner chain: on mapped memory needs no message", "[gma][runner]") {
  RunnerWorld world;
  const GlobalAddress starter =
      world.space.codec().encode(1, 0, gmm::kStarterKey, 0, 0);
  protocol::SliceHeader& slice = world.host.segment().slice_header(1);
  slice.asleep = protocol::kWaiterOne;
  std::memcpy(world.memory.data(), "abcdefgh", 8);
  Step signal = word_step(Opcode::kAdd, starter + 64, world.mine + 64, 3);
  signal.flags = protocol::kSignalFlag;
  const Operation& chain =
      world.start({bulk_step(Opcode::kPut, starter, world.mine, 8),
                   word_step(Opcode::kPut8, starter + 64, 0, 39), signal,
                   bulk_step(Opcode::kGet, starter, world.mine + 32, 8)});
  CHECK(world.has_ended(chain, Status::kOk));
  CHECK(world.endpoint(1).offers == 0);
  CHECK(word_at(world.memory, 64) == 39);
  CHECK(std::memcmp(world.memory.data() + 32, "abcdefgh", 8) == 0);
  CHECK(*reinterpret_cast<std::uint64_t*>(
            world.space.direct(starter + 64, 8)) == 42);
  CHECK(slice.doorbell == 1);
}

TEST_CASE("runner cross copy: memory of this host is moved by the kernel",
          "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(1).cross_memory_status = Status::kOk;
  std::memcpy(world.memory.data(), "abcdefgh", 8);
  const Operation& put =
      world.start({copy_step(world.theirs + 100, world.mine, 8)});
  CHECK(world.has_ended(put, Status::kOk));
  const Operation& get =
      world.start({copy_step(world.mine + 9, world.theirs + 100, 8)});
  CHECK(world.has_ended(get, Status::kOk));
  CHECK(std::memcmp(world.memory.data() + 9, "abcdefgh", 8) == 0);
  CHECK(world.endpoint(1).offers == 0);
  CHECK(world.endpoint(1).cross_memory_copies == 2);
  // Never atomics.
  world.start({word_step(Opcode::kAdd, world.theirs, world.mine)});
  CHECK(world.endpoint(1).sent.size() == 1);
  CHECK(world.endpoint(1).cross_memory_copies == 2);
}

// The endpoint refuses cross-memory copies first, and then finds a hole. The
// first is a reason for a message, and the second is an error.
TEST_CASE("runner cross copy: what the kernel refuses goes by message",
          "[gma][runner]") {
  RunnerWorld world;
  const Operation& put =
      world.start({copy_step(world.theirs, world.mine, 2000)});
  CHECK(world.ends_of(put) == 0);
  REQUIRE(world.endpoint(1).sent.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(world.answer(1).opcode == Opcode::kPut);
  }
  CHECK(world.has_ended(put, Status::kOk));
  const Operation& own_copy =
      world.start({copy_step(world.theirs + 64, world.theirs, 64)});
  CHECK(world.answer(1).opcode == Opcode::kCopy);
  CHECK(world.has_ended(own_copy, Status::kOk));

  world.endpoint(1).cross_memory_status = Status::kBadAddress;
  const Operation& hole =
      world.start({copy_step(world.theirs, world.mine, 2000)});
  CHECK(world.has_ended(hole, Status::kBadAddress));
}

TEST_CASE(
    "runner cross copy: overlapping memory of another rank is like memmove",
    "[gma][runner]") {
  RunnerWorld world;
  world.endpoint(1).cross_memory_status = Status::kOk;
  world.endpoint(1, 1).cross_memory_status = Status::kOk;
  // The same memory under a second key and a second color: global addresses
  // do not tell which end lies higher.
  std::byte* base = world.peer_memory.data();
  const GlobalAddress skew = reinterpret_cast<std::uintptr_t>(base) & 63;
  const GlobalAddress second =
      world.peer_keys.add(1, 0, base, RunnerWorld::kMemory).value() + skew;
  const GlobalAddress colored =
      world.peer_keys.add(1, 1, base, RunnerWorld::kMemory).value() + skew;
  constexpr std::size_t kSize = 300'000;
  for (const GlobalAddress to : {world.theirs, second, colored}) {
    for (const GlobalAddress from : {world.theirs, second, colored}) {
      for (const std::size_t shift : {1U, 50'000U, 70'000U}) {
        for (const bool is_up : {true, false}) {
          for (std::size_t i = 0; i < kSize + shift; ++i) {
            base[i] = static_cast<std::byte>(i * 7 / 3);
          }
          std::vector<std::byte> expected(base, base + kSize + shift);
          const std::size_t target = is_up ? shift : 0;
          const std::size_t source = is_up ? 0 : shift;
          std::memmove(expected.data() + target, expected.data() + source,
                       kSize);
          const Operation& copy =
              world.start({copy_step(to + target, from + source, kSize)});
          REQUIRE(world.has_ended(copy, Status::kOk));
          REQUIRE(std::equal(expected.begin(), expected.end(), base));
        }
      }
    }
  }
}

TEST_CASE("runner: nothing is done where an end is bad", "[gma][runner]") {
  RunnerWorld world;
  const auto& codec = world.space.codec();
  const GlobalAddress starter = codec.encode(1, 0, gmm::kStarterKey, 0, 0);
  const GlobalAddress bad[] = {
      0, codec.encode(4, 0, 0, 0, 0), codec.encode(0, 3, 0, 0, 0),
      codec.encode(1, 0, 77, 0, 0), world.mine + RunnerWorld::kMemory - 4};
  for (const GlobalAddress address : bad) {
    CHECK(world.start({copy_step(address, starter, 8)}).status != Status::kOk);
    CHECK(world.start({copy_step(starter, address, 8)}).status != Status::kOk);
    CHECK(world.start({word_step(Opcode::kAdd, address, 0)}).status !=
          Status::kOk);
  }
  CHECK(world.start({word_step(Opcode::kAdd, starter, starter)}).status ==
        Status::kBadRank);
  CHECK(world.start({bulk_step(Opcode::kGet, starter, 0, 8)}).status ==
        Status::kBadAddress);
  // Zero bytes: nothing to do, even at bad addresses.
  CHECK(world.start({bulk_step(Opcode::kPut, 0, 0, 0)}).status == Status::kOk);
  CHECK(world.endpoint(1).offers == 0);
}

}  // namespace acp::gma
