// Tests of 8-byte atomics that RDMA devices execute: between two verbs
// transports of this process, and of a transport on its own memory.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"
#include "support/stderr_capture.h"

namespace acp::verbs {

namespace {

/// Offset of an end's aligned word `index`; its memory may begin unaligned.
std::size_t word_place(const End& end, std::size_t index) {
  const auto begin = reinterpret_cast<std::uintptr_t>(end.memory.data());
  return (8 - (begin & 7)) % 8 + index * 8;
}

std::uint64_t& word(End& end, std::size_t index) {
  return *reinterpret_cast<std::uint64_t*>(end.memory.data() +
                                           word_place(end, index));
}

/// Reads a word that a device may be writing.
std::uint64_t look(End& end, std::size_t index) {
  return std::atomic_ref(word(end, index)).load();
}

void set(End& end, std::size_t index, std::uint64_t value) {
  std::atomic_ref(word(end, index)).store(value);
}

/// An atomic of `from` on word `at` of `to`. The old value goes to word
/// `result` of `from`.
RemoteStep atomic_step(Opcode opcode,
                       End& from,
                       End& to,
                       std::size_t at,
                       std::size_t result,
                       std::uint64_t operand,
                       std::uint64_t compare = 0) {
  RemoteStep step;
  step.opcode = opcode;
  step.key = 2;
  step.state = to.region().state;
  step.state_mask = ~std::uint64_t{0};
  step.offset = (reinterpret_cast<std::uintptr_t>(to.memory.data()) & 63) +
                word_place(to, at);
  step.local_memory = from.memory.data() + word_place(from, result);
  step.local_key = 2;
  step.operand = operand;
  step.compare = compare;
  return step;
}

transport::Endpoint& endpoint(End& from, const End& to) {
  return &from == &to ? from.endpoint_to_myself() : from.endpoint();
}

/// Posts the steps again and again while the endpoint answers kAgain.
Status post(Pair& pair, End& from, End& to, std::span<const RemoteStep> steps) {
  Status status = Status::kAgain;
  REQUIRE(pair.until([&] {
    status = endpoint(from, to).post(steps, 7);
    return status != Status::kAgain;
  }));
  return status;
}

/// Does one atomic and returns the old value of its word.
std::uint64_t run(Pair& pair, End& from, End& to, const RemoteStep& step) {
  const std::size_t before = from.done.size();
  REQUIRE(post(pair, from, to, {&step, 1}) == Status::kOk);
  REQUIRE(pair.until([&] { return from.done.size() == before + 1; }));
  std::uint64_t old = 0;
  std::memcpy(&old, step.local_memory, sizeof old);
  return old;
}

}  // namespace

TEST_CASE("verbs atomics: every one, on a peer's memory and on my own",
          "[verbs][atomics]") {
  Pair pair(Executor::kDevice);
  End& near = pair.ends[0];
  for (End* to : {&pair.ends[1], &pair.ends[0]}) {
    INFO((to == &near ? "my own" : "a peer's"));
    const std::uint64_t begin = 0xf0f0'0000'1234'5678;
    std::uint64_t value = begin;
    set(*to, 1, 0x1111);
    set(*to, 2, value);
    set(*to, 3, 0x3333);
    const auto check = [&](Opcode opcode, std::uint64_t operand,
                           std::uint64_t compare, std::uint64_t after) {
      INFO(static_cast<int>(opcode));
      const RemoteStep step =
          atomic_step(opcode, near, *to, 2, 100, operand, compare);
      CHECK(run(pair, near, *to, step) == value);
      CHECK(look(*to, 2) == after);
      value = after;
    };
    check(Opcode::kAdd, 8, 0, value + 8);
    check(Opcode::kAdd, ~std::uint64_t{0}, 0, value - 1);
    check(Opcode::kCas, 99, value, 99);
    check(Opcode::kCas, 7, value + 1, 99);
    check(Opcode::kSwap, 0x0ff0, 0, 0x0ff0);
    check(Opcode::kOr, 0xf000, 0, 0xfff0);
    check(Opcode::kAnd, 0xf0f0, 0, 0xf0f0);
    check(Opcode::kXor, 0x00ff, 0, 0xf00f);
    CHECK(look(*to, 1) == 0x1111);
    CHECK(look(*to, 3) == 0x3333);

    RemoteStep blind = atomic_step(Opcode::kAdd, near, *to, 2, 100, 1);
    blind.local_memory = nullptr;
    const std::size_t before = near.done.size();
    REQUIRE(post(pair, near, *to, {&blind, 1}) == Status::kOk);
    REQUIRE(pair.until([&] { return near.done.size() == before + 1; }));
    CHECK(look(*to, 2) == value + 1);
  }
  // The connection to the peer, and both ends of the connection to itself.
  CHECK(near.transport->counters().connected == 3);
  CHECK(near.messages + pair.ends[1].messages == 1);
}

TEST_CASE("verbs atomics: a loop that guesses right is one work request",
          "[verbs][atomics]") {
  Pair pair(Executor::kDevice);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  set(far, 0, 5);
  run(pair, near, far, atomic_step(Opcode::kAdd, near, far, 0, 100, 1));
  const Counters before = near.transport->counters();
  CHECK(run(pair, near, far,
            atomic_step(Opcode::kSwap, near, far, 0, 100, 9)) == 6);
  CHECK(near.transport->counters().atomics - before.atomics == 1);
  set(far, 0, 50);  // a change that the initiator does not know of
  CHECK(run(pair, near, far, atomic_step(Opcode::kOr, near, far, 0, 100, 1)) ==
        50);
  CHECK(near.transport->counters().atomics - before.atomics == 3);
  CHECK(near.transport->counters().repeated - before.repeated == 1);
}

TEST_CASE("verbs atomics: the owner and a peer at once lose nothing",
          "[verbs][atomics]") {
  Pair pair(Executor::kDevice);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  constexpr std::uint64_t kRounds = 100;
  set(far, 0, 0);
  set(far, 1, 0);
  // Each end swaps numbers of its own in. Every number comes out once, but for
  // the last, which stays.
  std::array<std::uint64_t, 2> issued{};
  std::array<std::uint64_t, 2> done{};
  std::vector<std::uint64_t> seen;
  for (End* end : {&near, &far}) {
    end->done.clear();
  }
  REQUIRE(pair.until([&] {
    for (std::size_t i = 0; i < 2; ++i) {
      End& from = pair.ends[i];
      if (from.done.size() == 2 && done[i] != issued[i]) {
        from.done.clear();
        ++done[i];
        seen.push_back(look(from, 101));
      }
      if (done[i] == issued[i] && issued[i] < kRounds) {
        const RemoteStep add =
            atomic_step(Opcode::kAdd, from, far, 0, 100, i + 1);
        const RemoteStep swap = atomic_step(Opcode::kSwap, from, far, 1, 101,
                                            2 * issued[i] + 1 + i);
        ++issued[i];
        REQUIRE(post(pair, from, far, {&add, 1}) == Status::kOk);
        REQUIRE(post(pair, from, far, {&swap, 1}) == Status::kOk);
      }
    }
    return done[0] == kRounds && done[1] == kRounds;
  }));
  CHECK(look(far, 0) == kRounds * 3);
  seen.push_back(look(far, 1));
  std::ranges::sort(seen);
  REQUIRE(seen.size() == 2 * kRounds + 1);
  for (std::uint64_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i] == i);
  }
}

// kUnsupported makes the engine send a message, so the agent finds the reason.
// The device must have got no request.
TEST_CASE("verbs atomics: what is wrong is for the agent to say",
          "[verbs][atomics]") {
  Pair pair(Executor::kDevice);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  const RemoteStep good = atomic_step(Opcode::kAdd, near, far, 0, 100, 1);
  run(pair, near, far, good);
  const std::uint64_t before = near.transport->counters().requests;
  const auto says = [&](const RemoteStep& step) {
    return post(pair, near, far, {&step, 1});
  };
  RemoteStep wrong = good;
  SECTION("outside its region") {
    wrong.offset += End::kBytes;
    CHECK(says(wrong) == Status::kUnsupported);
  }
  SECTION("across its end") {
    wrong.offset += (End::kBytes - word_place(far, 0)) / 8 * 8;
    CHECK(says(wrong) == Status::kUnsupported);
  }
  SECTION("an unknown key") {
    wrong.key = 77;
    CHECK(says(wrong) == Status::kUnsupported);
  }
  SECTION("a stale key") {
    wrong.state ^= std::uint64_t{1} << protocol::kKeyCounterShift;
    CHECK(says(wrong) == Status::kUnsupported);
    CHECK(says(wrong) == Status::kUnsupported);
  }
  SECTION("misaligned") {
    wrong.offset += 4;
    CHECK(says(wrong) == Status::kUnsupported);
  }
  SECTION("4 bytes") {
    wrong.width = 4;
    CHECK(says(wrong) == Status::kUnsupported);
  }
  SECTION("with a signal") {
    wrong.flags = protocol::kSignalFlag;
    CHECK(says(wrong) == Status::kUnsupported);
  }
  CHECK(near.transport->counters().requests == before);
  CHECK(says(good) == Status::kOk);
  REQUIRE(pair.is_done(2));
}

TEST_CASE("verbs atomics: a chain is one flight, in order",
          "[verbs][atomics]") {
  created_pairs().clear();
  Pair pair(Executor::kDevice);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  run(pair, near, far, atomic_step(Opcode::kAdd, near, far, 0, 100, 0));
  set(far, 0, 0);
  const auto bulk = [&](Opcode opcode, std::size_t at, std::size_t from) {
    RemoteStep step = atomic_step(opcode, near, far, at, from, 0);
    step.size = 16;
    return step;
  };
  const Counters before = near.transport->counters();
  SECTION("put, add, cas, get") {
    set(near, 10, 1234);
    const std::array steps = {
        bulk(Opcode::kPut, 10, 10),
        atomic_step(Opcode::kAdd, near, far, 0, 100, 3),
        atomic_step(Opcode::kCas, near, far, 0, 101, 8, 3),
        bulk(Opcode::kGet, 10, 20)};
    REQUIRE(post(pair, near, far, steps) == Status::kOk);
    REQUIRE(pair.is_done(2));
    CHECK(look(far, 0) == 8);
    CHECK(look(near, 100) == 0);
    CHECK(look(near, 101) == 3);
    CHECK(look(near, 20) == 1234);
    // rxe takes the atomics only when the put is acknowledged.
    CHECK(near.transport->counters().doorbells - before.doorbells ==
          (is_rxe(*created_pairs().front()) ? 2 : 1));
    CHECK(near.transport->counters().requests - before.requests == 4);
  }
  SECTION("a loop shares none") {
    const std::array steps = {bulk(Opcode::kPut, 10, 10),
                              atomic_step(Opcode::kSwap, near, far, 0, 100, 3)};
    CHECK(post(pair, near, far, steps) == Status::kUnsupported);
    CHECK(near.transport->counters().requests == before.requests);
  }
}

TEST_CASE("verbs atomics: unregistering waits for them", "[verbs][atomics]") {
  Pair pair(Executor::kDevice);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  run(pair, near, far, atomic_step(Opcode::kAdd, near, far, 0, 100, 1));
  run(pair, far, far, atomic_step(Opcode::kAdd, far, far, 0, 100, 1));
  const RemoteStep step = atomic_step(Opcode::kXor, near, far, 0, 100, 1);
  REQUIRE(post(pair, near, far, {&step, 1}) == Status::kOk);
  CHECK_FALSE(far.transport->on_unregistered(2, far.region().state));
  REQUIRE(pair.until(
      [&] { return far.transport->on_unregistered(2, far.region().state); }));
  CHECK(near.done.size() == 2);
  CHECK(look(far, 0) == 3);
  CHECK(post(pair, near, far, {&step, 1}) == Status::kUnsupported);
  const RemoteStep own = atomic_step(Opcode::kAdd, far, far, 0, 100, 1);
  CHECK(post(pair, far, far, {&own, 1}) == Status::kUnsupported);
}

TEST_CASE(
    "verbs atomics: to a peer that is gone they end, after the launcher's time",
    "[verbs][failure]") {
  Pair pair(Executor::kDevice);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  const RemoteStep step = atomic_step(Opcode::kSwap, near, far, 0, 100, 1);
  run(pair, near, far, step);
  const TimePoint begin = SteadyClock().now();
  far.transport.reset();
  Status status = Status::kOk;
  REQUIRE(test::eventually([&] {
    status = near.endpoint().post({&step, 1}, 2);
    near.transport->poll(near);
    near.transport->flush();
    return status == Status::kPeerDead;
  }));
  // The other tests of deaths leave less time.
  CHECK(SteadyClock().now() - begin >= Timers{}.launcher_time);
  CHECK(near.failures == 1);
  REQUIRE(test::eventually([&] {
    near.transport->poll(near);
    return near.transport->on_unregistered(2, near.region().state);
  }));
}

TEST_CASE("verbs atomics: beside the agents where a device agrees with CPUs",
          "[verbs][atomics]") {
  // spoof.cc says so of the device; rxe by itself does not.
  const char* kinds = std::getenv("RDMA_SPOOF");
  const bool do_agree = kinds != nullptr && std::string_view(kinds).find(
                                                "glob") != std::string::npos;
  Pair pair(Executor::kBoth);
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  CHECK_FALSE(near.transport->capabilities().executes_atomics);
  CHECK(near.transport->endpoint(0, 0).status() == Status::kUnsupported);
  set(far, 0, 40);
  const RemoteStep add = atomic_step(Opcode::kAdd, near, far, 0, 100, 2);
  if (!do_agree) {
    CHECK(near.endpoint().post({&add, 1}, 1) == Status::kUnsupported);
    CHECK(near.transport->counters().control.wanted == 0);
    return;
  }
  // Until the registration is known the step goes as a message: the agent may
  // do it.
  CHECK(near.endpoint().post({&add, 1}, 1) == Status::kUnsupported);
  REQUIRE(pair.post(add, 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  CHECK(look(near, 100) == 40);
  const RemoteStep cas = atomic_step(Opcode::kCas, near, far, 0, 100, 7, 42);
  CHECK(run(pair, near, far, cas) == 42);
  CHECK(look(far, 0) == 7);
  CHECK(near.transport->counters().atomics == 2);
  // A loop of the device would take several round trips.
  const RemoteStep swap = atomic_step(Opcode::kSwap, near, far, 0, 100, 1);
  CHECK(near.endpoint().post({&swap, 1}, 1) == Status::kUnsupported);
}

TEST_CASE("verbs atomics: a peer that leaves them to its agent is obeyed",
          "[verbs][atomics]") {
  End near(0, nullptr, Executor::kBoth);
  End far(1, &near, Executor::kAgent);
  near.meet(far);
  near.transport->on_registered(near.region());
  far.transport->on_registered(far.region());
  REQUIRE(test::eventually([&] {
    for (End* end : {&near, &far}) {
      end->transport->poll(*end);
      end->transport->flush();
    }
    return near.send_one() == Status::kOk;
  }));
  const RemoteStep add = atomic_step(Opcode::kAdd, near, far, 0, 100, 2);
  CHECK(near.endpoint().post({&add, 1}, 1) == Status::kUnsupported);
  CHECK(near.transport->counters().control.wanted == 0);
}

TEST_CASE("verbs atomics: ranks that disagree on the executor are told",
          "[verbs][atomics]") {
  End near(0, nullptr, Executor::kDevice);
  End far(1, &near, Executor::kAgent);
  near.meet(far);
  spmd::StderrCapture capture;
  CHECK(near.transport->endpoint(1, 0).status() == Status::kBadOption);
  const std::string text = capture.stop();
  CHECK(text.find("rank 1 has ACP_VERBS_ATOMICS=agent, this one device") !=
        std::string::npos);
  CHECK(near.failures == 0);
  CHECK(near.transport->next_deadline() == TimePoint{});
  CHECK_FALSE(near.transport->arm());
  near.transport->poll(near);
  CHECK(near.failures == 1);  // which ends the job
  CHECK(far.transport->endpoint(1, 0).status() == Status::kUnsupported);
}

}  // namespace acp::verbs
