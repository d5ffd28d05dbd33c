// Long copies that this process does by itself: portion by portion, so that
// others get their turn.
#include <algorithm>
#include <cstring>

#include "unit/runner_world.h"

namespace acp::gma {

namespace {

constexpr std::size_t kPortion = 1 << 20;

void fill(std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 / 3 + i / 4096);
  }
}

}  // namespace

// The short copy is started while the long one has portions to go, and must not
// wait for them.
TEST_CASE("runner portions: a long copy moves a portion a turn",
          "[gma][runner]") {
  RunnerWorld world;
  fill(world.peer_memory);
  world.endpoint(1).cross_memory_status = Status::kOk;
  const std::size_t size = 4 * kPortion + 5;
  Operation& get = world.prepare({copy_step(world.mine, world.theirs, size)});
  world.runner.start(get);
  Operation& small =
      world.prepare({copy_step(world.mine + 8 * kPortion, world.theirs, 100)});
  world.runner.start(small);
  CHECK(world.has_ended(small, Status::kOk));
  for (int turn = 1; turn <= 4; ++turn) {
    CHECK(world.ends_of(get) == 0);
    CHECK(world.runner.has_unsent());
    CHECK(world.runner.pump());
  }
  CHECK(world.has_ended(get, Status::kOk));
  CHECK_FALSE(world.runner.pump());
  CHECK_FALSE(world.runner.has_unsent());
  CHECK(std::memcmp(world.memory.data(), world.peer_memory.data(), size) == 0);
  CHECK(world.memory[size] == std::byte{0});
}

TEST_CASE("runner portions: overlapping memory of mine is like memmove",
          "[gma][runner]") {
  const std::size_t size = 3 * kPortion + 77;
  for (const std::size_t shift :
       {std::size_t{1}, kPortion - 1, 2 * kPortion + 9}) {
    for (const bool is_up : {true, false}) {
      RunnerWorld world;
      fill(world.memory);
      std::vector<std::byte> expected = world.memory;
      const std::size_t to = is_up ? shift : 0;
      const std::size_t from = is_up ? 0 : shift;
      std::memmove(expected.data() + to, expected.data() + from, size);
      const Operation& copy =
          world.start({copy_step(world.mine + to, world.mine + from, size)});
      CHECK(world.has_ended(copy, Status::kOk));
      CHECK(world.memory == expected);
    }
  }
}

TEST_CASE("runner portions: the steps of a chain stay in order",
          "[gma][runner]") {
  RunnerWorld world;
  fill(world.memory);
  const std::size_t size = 2 * kPortion + 1;
  const GlobalAddress second = world.mine + 3 * kPortion;
  const GlobalAddress third = world.mine + 6 * kPortion;
  const Operation& chain =
      world.start({bulk_step(protocol::Opcode::kPut, second, world.mine, size),
                   bulk_step(protocol::Opcode::kPut, third, second, size)});
  CHECK(world.has_ended(chain, Status::kOk));
  CHECK(std::memcmp(world.memory.data() + 6 * kPortion, world.memory.data(),
                    size) == 0);
}

TEST_CASE("runner portions: refused in the middle, the rest goes by message",
          "[gma][runner]") {
  RunnerWorld world(1 << 20);
  fill(world.memory);
  world.endpoint(1).cross_memory_status = Status::kOk;
  const std::size_t size = 2 * kPortion + 500;
  Operation& put = world.prepare({copy_step(world.theirs, world.mine, size)});
  world.runner.start(put);
  CHECK(world.runner.pump());
  world.endpoint(1).cross_memory_status = Status::kUnsupported;
  world.runner.pump();  // takes its turn, and finds that
  world.runner.pump();  // sends
  REQUIRE(world.endpoint(1).sent.size() == 1);
  const auto request = protocol::decode_request(world.endpoint(1).sent.front());
  REQUIRE(request.has_value());
  const std::vector<std::byte> data(request->data.begin(), request->data.end());
  const protocol::Step step = world.answer(1);
  CHECK(step.opcode == protocol::Opcode::kPut);
  CHECK(step.remote == world.theirs + 2 * kPortion);
  REQUIRE(data.size() == 500);
  CHECK(std::memcmp(data.data(), world.memory.data() + 2 * kPortion, 500) == 0);
  CHECK(world.has_ended(put, Status::kOk));
  CHECK(std::memcmp(world.memory.data(), world.peer_memory.data(),
                    2 * kPortion) == 0);
}

TEST_CASE("runner portions: memory unregistered between two is not touched",
          "[gma][runner]") {
  RunnerWorld world;
  fill(world.memory);
  world.endpoint(1).cross_memory_status = Status::kOk;
  Operation& put =
      world.prepare({copy_step(world.theirs, world.mine, 3 * kPortion)});
  world.runner.start(put);
  const GlobalAddress key = world.mine & ~std::uint64_t{63};
  REQUIRE(world.keys.remove(0, key) == Status::kOk);
  world.runner.pump();
  CHECK(world.has_ended(put, Status::kBadKey));
  CHECK(world.peer_memory[kPortion] == std::byte{0});
  CHECK_FALSE(world.runner.has_unsent());
}

}  // namespace acp::gma
