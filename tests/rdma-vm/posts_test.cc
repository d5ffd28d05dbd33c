// Tests of steps that the device executes without the peer's processor. They
// put and get between two transports of this process, and count the work
// requests for that. They also unregister memory under the steps.
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "rdma-vm/pair.h"

namespace acp::verbs {

// The near end puts bytes, overwrites its own, and gets them back. The far end
// tells of its memory once, however many steps use it.
TEST_CASE("verbs post: writes and reads of all sizes", "[verbs][post]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  fill(near.memory, 1);
  fill(far.memory, 2);
  std::uint64_t token = 0;
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{7}, std::size_t{16}, std::size_t{255},
        std::size_t{257}, std::size_t{4096}, std::size_t{70'001},
        kMaxStepBytes}) {
    INFO(size);
    const std::size_t at = 3 * size + 5;
    REQUIRE(pair.post(pair.step(Opcode::kPut, at, 1, size), ++token) ==
            Status::kOk);
    REQUIRE(pair.is_done(token));
    CHECK(std::memcmp(far.memory.data() + at, near.memory.data() + 1, size) ==
          0);
    fill(std::span(near.memory).first(size + 1), 7);
    REQUIRE(pair.post(pair.step(Opcode::kGet, at, 1, size), ++token) ==
            Status::kOk);
    REQUIRE(pair.is_done(token));
    CHECK(std::memcmp(far.memory.data() + at, near.memory.data() + 1, size) ==
          0);
  }
  CHECK(near.done.back() == token);
  CHECK(far.transport->counters().control.told == 1);
  CHECK(near.messages + far.messages == 1);
}

TEST_CASE("verbs post: what a put costs", "[verbs][post]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  const Counters before = near.transport->counters();
  near.done.clear();
  const RemoteStep put = pair.step(Opcode::kPut, 64, 0, 16);

  SECTION("alone: a work request and a doorbell") {
    REQUIRE(near.endpoint().post({&put, 1}, 2) == Status::kOk);
    near.transport->flush_idle();
    CHECK(near.transport->counters().requests - before.requests == 1);
    CHECK(near.transport->counters().doorbells - before.doorbells == 1);
    REQUIRE(pair.is_done(1));
  }
  SECTION(
      "a window of 16 while one is under way: one doorbell, one "
      "completion") {
    for (int i = 0; i < 17; ++i) {
      REQUIRE(near.endpoint().post({&put, 1}, 2) == Status::kOk);
      near.transport->flush_idle();
    }
    CHECK(near.transport->counters().requests - before.requests == 1);
    near.transport->flush();
    CHECK(near.transport->counters().requests - before.requests == 17);
    CHECK(near.transport->counters().doorbells - before.doorbells == 2);
    REQUIRE(pair.is_done(17));
  }
  SECTION("without room: later") {
    Status status = Status::kOk;
    std::size_t taken = 0;
    while (status == Status::kOk) {
      const RemoteStep step = pair.step(Opcode::kPut, 64, 0, 16);
      status = near.endpoint().post({&step, 1}, 2);
      taken += status == Status::kOk ? 1 : 0;
    }
    CHECK(status == Status::kAgain);
    CHECK(taken == kStepWindow);
    REQUIRE(pair.is_done(taken));
  }
  CHECK(near.transport->counters().sent == before.sent);
  // A message, the question for the registration, and credit for its answer.
  CHECK(far.transport->counters().received == 3);
}

TEST_CASE("verbs post: what is refused", "[verbs][post]") {
  Pair pair;
  auto& near = pair.ends[0];
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  const auto says = [&](const RemoteStep& step) {
    return near.endpoint().post({&step, 1}, 9);
  };
  const std::size_t end = End::kBytes;
  CHECK(says(pair.step(Opcode::kPut, end - 15, 0, 16)) == Status::kUnsupported);
  CHECK(says(pair.step(Opcode::kGet, end, 0, 1)) == Status::kUnsupported);
  CHECK(says(pair.step(Opcode::kPut, 0, 0, 16, 1)) == Status::kUnsupported);
  RemoteStep step = pair.step(Opcode::kPut, 0, 0, 16);
  step.flags = protocol::kSignalFlag;
  CHECK(says(step) == Status::kUnsupported);
  step = pair.step(Opcode::kPut, 0, 0, 16);
  step.local_key = 3;
  CHECK(says(step) == Status::kUnsupported);
  CHECK(says(pair.step(Opcode::kAdd, 0, 0, 8)) == Status::kUnsupported);
  // A put to the last byte works. It is the second work request: the refused
  // steps above have posted none.
  REQUIRE(pair.post(pair.step(Opcode::kPut, end - 16, 0, 16), 2) ==
          Status::kOk);
  REQUIRE(pair.is_done(2));
  CHECK(near.transport->counters().requests == 2);
}

// The second put overwrites a part of the first, and the get reads both. So a
// chain out of order would show in the bytes that come back.
TEST_CASE("verbs post: a chain is done as a whole, in order", "[verbs][post]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  fill(near.memory, 3);
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  for (int round = 0; round < 20; ++round) {
    fill(std::span(near.memory).first(4096), 100 + round);
    const std::array<RemoteStep, 3> steps = {
        pair.step(Opcode::kPut, 1000, 0, 3000),
        pair.step(Opcode::kPut, 1500, 50, 100),
        pair.step(Opcode::kGet, 1000, 10'000, 3000)};
    REQUIRE(near.endpoint().post(steps, 2) == Status::kOk);
    REQUIRE(pair.is_done(static_cast<std::size_t>(round) + 2));
    CHECK(std::memcmp(near.memory.data() + 10'000, near.memory.data(), 500) ==
          0);
    CHECK(std::memcmp(near.memory.data() + 10'500, near.memory.data() + 50,
                      100) == 0);
    CHECK(std::memcmp(far.memory.data() + 1000, near.memory.data() + 10'000,
                      3000) == 0);
  }
}

TEST_CASE("verbs post: sparse memory is registered where it is used",
          "[verbs][keys]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  transport::Region sparse = far.region();
  sparse.key = 1;
  sparse.is_sparse = true;
  far.transport->on_registered(sparse);
  fill(near.memory, 5);
  const auto at = [&](std::uint64_t far_at, std::uint64_t size) {
    RemoteStep step = pair.step(Opcode::kPut, far_at, far_at, size);
    step.key = 1;
    return step;
  };
  REQUIRE(pair.post(at(100, 1000), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  CHECK(far.transport->counters().control.told == 1);
  // A put across the end of a registration needs two registrations and two work
  // requests.
  const std::uint64_t before = near.transport->counters().requests;
  REQUIRE(pair.post(at(transport::kSparseRegistrationBytes - 500, 1000), 2) ==
          Status::kOk);
  REQUIRE(pair.is_done(2));
  CHECK(near.transport->counters().requests - before == 2);
  CHECK(far.transport->counters().control.told == 2);
  REQUIRE(pair.post(at(End::kBytes - 100, 100), 3) == Status::kOk);
  REQUIRE(pair.is_done(3));
  CHECK(far.transport->counters().control.told == 3);
  for (const std::size_t begin :
       {std::size_t{100}, transport::kSparseRegistrationBytes - 500,
        End::kBytes - 100}) {
    const std::size_t size = std::min<std::size_t>(1000, End::kBytes - begin);
    CHECK(std::memcmp(far.memory.data() + begin, near.memory.data() + begin,
                      size) == 0);
  }
}

TEST_CASE("verbs post: unregistering waits for flights of both sides",
          "[verbs][keys]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  const RemoteStep large = pair.step(Opcode::kPut, 0, 0, kMaxStepBytes);
  REQUIRE(near.endpoint().post({&large, 1}, 2) == Status::kOk);
  SECTION("the source") {
    CHECK_FALSE(near.transport->on_unregistered(2, near.region().state));
    CHECK(near.endpoint().post({&large, 1}, 3) == Status::kUnsupported);
    REQUIRE(pair.until([&] {
      return near.transport->on_unregistered(2, near.region().state);
    }));
    CHECK(near.done.size() == 2);
  }
  SECTION("the destination") {
    CHECK_FALSE(far.transport->on_unregistered(2, far.region().state));
    REQUIRE(pair.until(
        [&] { return far.transport->on_unregistered(2, far.region().state); }));
    CHECK(near.done.size() == 2);
    // The registration is not known any more, so the endpoint asks and is
    // denied.
    CHECK(near.endpoint().post({&large, 1}, 3) == Status::kAgain);
    CHECK(pair.until([&] {
      return near.endpoint().post({&large, 1}, 3) == Status::kUnsupported;
    }));
    CHECK(far.transport->counters().control.revoked == 1);
  }
  CHECK(near.failures + far.failures == 0);
}

// A copy just below the limit may go by message, and one at the limit has to
// wait. The sections end the wait in each way in which it can end.
TEST_CASE("verbs post: a large copy waits for its registration",
          "[verbs][keys]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(pair.until([&] { return pair.is_ready(); }));
  const RemoteStep small = pair.step(Opcode::kPut, 0, 0, (64 << 10) - 1);
  const RemoteStep large = pair.step(Opcode::kPut, 0, 0, 64 << 10);
  fill(near.memory, 5);

  SECTION("a smaller one goes by message, and asks") {
    CHECK(near.endpoint().post({&small, 1}, 1) == Status::kUnsupported);
    CHECK(near.transport->counters().control.wanted == 1);
  }
  SECTION("until the owner tells") {
    CHECK(near.endpoint().post({&large, 1}, 1) == Status::kAgain);
    CHECK(near.endpoint().post({&large, 1}, 1) == Status::kAgain);
    CHECK(near.transport->counters().control.wanted == 1);
    Status status = Status::kAgain;
    REQUIRE(pair.until([&] {
      status = near.endpoint().post({&large, 1}, 1);
      return status != Status::kAgain;
    }));
    CHECK(status == Status::kOk);
    REQUIRE(pair.is_done(1));
    CHECK(std::memcmp(near.memory.data(), far.memory.data(), large.size) == 0);
  }
  SECTION("until the owner denies") {
    const RemoteStep stale = pair.step(Opcode::kGet, 0, 0, 64 << 10, 1);
    CHECK(near.endpoint().post({&stale, 1}, 1) == Status::kAgain);
    REQUIRE(pair.until([&] {
      return near.endpoint().post({&stale, 1}, 1) != Status::kAgain;
    }));
    CHECK(near.done.empty());
  }
  SECTION("until the owner denies, where each pass offers it twice") {
    const RemoteStep stale = pair.step(Opcode::kPut, 0, 0, 64 << 10, 1);
    const std::array<std::byte, 8> word{};
    const std::span<const std::byte> message = word;
    REQUIRE(pair.until([&] {
      CHECK(near.endpoint().post_then_send({&stale, 1}, 1, {&message, 1}) ==
            Status::kUnsupported);
      return near.endpoint().post({&stale, 1}, 1) != Status::kAgain;
    }));
    CHECK(near.transport->counters().control.wanted == 1);
    CHECK(near.done.empty());
  }
  SECTION("until the peer fails") {
    CHECK(near.endpoint().post({&large, 1}, 1) == Status::kAgain);
    far.transport.reset();
    REQUIRE(test::eventually([&] {
      near.transport->poll(near);
      near.transport->flush();
      return near.endpoint().post({&large, 1}, 1) != Status::kAgain;
    }));
  }
  CHECK(near.failures + far.failures <= 1);
}

TEST_CASE("verbs post: announced memory is not asked for", "[verbs][keys]") {
  Pair pair;
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  const RemoteStep small = pair.step(Opcode::kPut, 0, 0, 4096);
  const transport::LocalBytes all{
      .key = 2, .offset = small.offset, .size = End::kBytes};
  REQUIRE(pair.until([&] { return pair.is_ready(); }));
  fill(near.memory, 6);
  far.endpoint().announce(all);
  far.endpoint().announce(all);
  REQUIRE(far.send_one() == Status::kOk);
  REQUIRE(pair.until([&] { return near.messages != 0; }));
  // The announcement was sent before the message, so it has arrived as well.
  REQUIRE(near.endpoint().post({&small, 1}, 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  CHECK(std::memcmp(near.memory.data(), far.memory.data(), small.size) == 0);
  CHECK(near.transport->counters().control.wanted == 0);
  CHECK(far.transport->counters().control.told == 1);
}

TEST_CASE("verbs post: a thousand regions come and go", "[verbs][keys]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(far.transport->on_unregistered(2, far.region().state));
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    far.transport->on_registered(far.region(i));
    std::memset(near.memory.data(), static_cast<int>(i), 16);
    // The address of the region before it is refused, although both have the
    // same key.
    const RemoteStep stale = pair.step(Opcode::kPut, 0, 0, 16, i - 1);
    REQUIRE(near.endpoint().post({&stale, 1}, i) == Status::kUnsupported);
    REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16, i), i) == Status::kOk);
    // The put may be under way when its memory is unregistered.
    REQUIRE(pair.until([&] {
      return far.transport->on_unregistered(2, far.region(i).state);
    }));
    REQUIRE(pair.is_done(i));
    REQUIRE(far.memory[15] == static_cast<std::byte>(i));
    std::memset(far.memory.data(), 0, 16);
  }
  CHECK(far.transport->counters().control.told == 1000);
  CHECK(near.failures + far.failures == 0);
}

TEST_CASE("verbs post: after a reset nothing is known of before",
          "[verbs][keys]") {
  Pair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  // A question for a key that is sent before the reset and arrives after it.
  RemoteStep other = pair.step(Opcode::kPut, 0, 0, 16);
  other.key = 7;
  CHECK(near.endpoint().post({&other, 1}, 2) == Status::kUnsupported);
  near.transport->flush();
  for (End* end : {&near, &far}) {
    end->transport->forget_regions();
    end->transport->on_registered(end->region());
  }
  const RemoteStep step = pair.step(Opcode::kPut, 0, 0, 16);
  CHECK(near.endpoint().post({&step, 1}, 2) == Status::kUnsupported);
  REQUIRE(pair.post(step, 2) == Status::kOk);
  REQUIRE(pair.is_done(2));
}

TEST_CASE("verbs post: a peer that is gone is told of once",
          "[verbs][failure]") {
  Pair pair(Executor::kAgent, kMaxReceives, kNoLauncher);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  far.transport.reset();
  const RemoteStep step = pair.step(Opcode::kPut, 0, 0, 16);
  REQUIRE(test::eventually([&] {
    static_cast<void>(near.endpoint().post({&step, 1}, 2));
    near.transport->poll(near);
    near.transport->flush();
    return near.failures != 0 ||
           near.endpoint().post({&step, 1}, 2) == Status::kUnsupported;
  }));
  // Work requests that will never complete do not keep the memory for ever.
  REQUIRE(test::eventually([&] {
    near.transport->poll(near);
    near.transport->flush();
    return near.transport->on_unregistered(2, near.region().state);
  }));
  CHECK(near.failures <= 1);
}

}  // namespace acp::verbs
