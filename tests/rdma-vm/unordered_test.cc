// Tests of writes without an order (ACP_VERBS_WRITES=unordered): a list of
// writes ends with a proof, and nothing that relies on an order is one list. On
// a network that spoof.cc makes unordered, data of acknowledged writes are
// missing until the proof.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/late_queue.h"
#include "rdma-vm/pair.h"
#include "support/stderr_capture.h"

namespace acp::verbs {

namespace {

/// A pair whose end 0 knows the memory of end 1. Its first post has token 1.
class UnorderedPair : public Pair {
 public:
  explicit UnorderedPair(WriteOrder writes = WriteOrder::kUnordered,
                         Executor atomics = Executor::kAgent)
      : Pair(atomics, kMaxReceives, {}, 0, writes) {
    REQUIRE(post(step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
    REQUIRE(is_done(1));
  }

  /// Posts a chain of end 0.
  Status post_chain(std::span<const RemoteStep> steps, std::uint64_t token) {
    return ends[0].endpoint().post(steps, token);
  }

  const Counters& counts() const { return ends[0].transport->counters(); }

  /// Whether the memory of end 1 has the bytes that a put copies.
  bool is_placed(const RemoteStep& put) const {
    const std::uint64_t skew =
        reinterpret_cast<std::uintptr_t>(ends[1].memory.data()) &
        (transport::kOffsetAlignment - 1);
    return std::memcmp(ends[1].memory.data() + (put.offset - skew),
                       put.local_memory, put.size) == 0;
  }
};

}  // namespace

// The counters show that the proof is one request of the same list, however
// many puts precede it.
TEST_CASE("verbs unordered: one proof ends a list of puts", "[verbs][post]") {
  UnorderedPair pair;
  End& near = pair.ends[0];
  CHECK_FALSE(near.transport->capabilities().orders_posts);
  const Counters before = pair.counts();
  std::size_t puts = 1;
  SECTION("of one") {
    puts = 1;
  }
  SECTION("of sixteen") {
    puts = 16;
  }
  for (std::size_t i = 0; i < puts; ++i) {
    const RemoteStep put = pair.step(Opcode::kPut, 64 * i, 0, i + 16);
    REQUIRE(pair.post_chain({&put, 1}, 2) == Status::kOk);
  }
  near.transport->flush();
  CHECK(pair.counts().requests - before.requests == puts);
  CHECK(pair.counts().proofs - before.proofs == 1);
  CHECK(pair.counts().doorbells - before.doorbells == 1);
  REQUIRE(pair.is_done(1 + puts));
}

// Lists of puts of many sizes are posted with flushes at random. What the
// transport reports as done is looked up in the peer's memory at once.
TEST_CASE("verbs unordered: puts that are done are in the peer's memory",
          "[verbs][post]") {
  UnorderedPair pair;
  End& near = pair.ends[0];
  std::mt19937 random(3);
  std::uint64_t token = 1;
  for (std::uint32_t round = 0; round < 12; ++round) {
    fill(std::span(near.memory).first(40'000), round);
    std::vector<RemoteStep> puts;
    std::size_t at = 7;
    for (std::size_t i = 0; i <= round % 5; ++i) {
      const std::size_t size = 1 + random() % (i == 0 ? 30'000 : 300);
      puts.push_back(pair.step(Opcode::kPut, at, at + i, size));
      at += size + random() % 64;
      REQUIRE(pair.post_chain({&puts.back(), 1}, ++token) == Status::kOk);
      if (random() % 2 == 0) {
        near.transport->flush();
      }
    }
    REQUIRE(pair.is_done(token));
    for (const RemoteStep& put : puts) {
      CHECK(pair.is_placed(put));
    }
  }
  CHECK(pair.counts().proofs != 0);
}

TEST_CASE("verbs unordered: what needs the order of writes is refused",
          "[verbs][post]") {
  UnorderedPair pair;
  End& near = pair.ends[0];
  const Counters before = pair.counts();
  const std::array<RemoteStep, 2> puts = {pair.step(Opcode::kPut, 64, 0, 100),
                                          pair.step(Opcode::kPut, 200, 0, 8)};
  CHECK(pair.post_chain(puts, 2) == Status::kUnsupported);
  const std::array<std::byte, 3> message{};
  const std::span<const std::byte> part = message;
  CHECK(near.endpoint().post_then_send({&puts[0], 1}, 2, {&part, 1}) ==
        Status::kUnsupported);
  near.transport->flush();
  CHECK(pair.counts().requests == before.requests);
  CHECK(pair.counts().sent == before.sent);
}

TEST_CASE("verbs unordered: a read behind a put sees it, and proves it",
          "[verbs][post]") {
  UnorderedPair pair;
  End& near = pair.ends[0];
  for (std::uint32_t round = 0; round < 10; ++round) {
    fill(std::span(near.memory).first(4096), 10 + round);
    const Counters before = pair.counts();
    const std::array<RemoteStep, 2> steps = {
        pair.step(Opcode::kPut, 1000, 0, 4000),
        pair.step(Opcode::kGet, 1000, 10'000, 4000)};
    REQUIRE(pair.post_chain(steps, 2) == Status::kOk);
    REQUIRE(pair.is_done(2 + round));
    CHECK(std::memcmp(near.memory.data() + 10'000, near.memory.data(), 4000) ==
          0);
    CHECK(pair.is_placed(steps[0]));
    // rxe gets the read in a list of its own, behind a list with a proof.
    CHECK(pair.counts().proofs - before.proofs ==
          (is_rxe(*created_pairs().back()) ? 1 : 0));
  }
}

TEST_CASE("verbs unordered: an atomic behind a put proves it",
          "[verbs][atomics]") {
  UnorderedPair pair(WriteOrder::kUnordered, Executor::kDevice);
  End& near = pair.ends[0];
  RemoteStep add = pair.step(Opcode::kAdd, 0, 0, 0);
  add.offset = (add.offset + 64) & ~std::uint64_t{7};
  add.local_memory = nullptr;
  add.operand = 1;
  for (std::uint32_t round = 0; round < 10; ++round) {
    fill(std::span(near.memory).first(4096), 20 + round);
    const std::array<RemoteStep, 2> steps = {
        pair.step(Opcode::kPut, 1000, 0, 4000), add};
    REQUIRE(pair.post_chain(steps, 2) == Status::kOk);
    REQUIRE(pair.is_done(2 + round));
    CHECK(pair.is_placed(steps[0]));
  }
}

TEST_CASE("verbs unordered: proofs have room in the send queue",
          "[verbs][queue]") {
  created_pairs().clear();
  UnorderedPair pair;
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  fill(std::span(near.memory).first(std::size_t{64} * 200), 1);
  LateQueue late(*created_pairs().front());
  std::uint64_t posted = 0;
  Status status = Status::kOk;
  const auto post_all = [&] {
    for (;;) {
      const RemoteStep put =
          pair.step(Opcode::kPut, 64 * (posted % 200), 64 * (posted % 200), 64);
      status = pair.post_chain({&put, 1}, posted + 2);
      if (status != Status::kOk || posted == 400) {
        break;
      }
      ++posted;
      near.transport->flush();  // so that each put is a list
    }
    return posted == 400;
  };
  CHECK_FALSE(post_all());
  CHECK(status == Status::kAgain);
  CHECK(late.most_outstanding() <= kSendQueue - kEmptyPackets);
  late.release();
  REQUIRE(pair.until(post_all));
  REQUIRE(pair.is_done(401));
  CHECK(late.most_outstanding() <= kSendQueue - kEmptyPackets);
  CHECK(std::memcmp(far.memory.data(), near.memory.data(),
                    std::size_t{64} * 200) == 0);
  CHECK(near.failures + far.failures == 0);
}

// The send queue is filled until one or two entries are left. A put needs two,
// its own and that of its proof.
TEST_CASE("verbs unordered: a put without room for its proof waits",
          "[verbs][queue]") {
  created_pairs().clear();
  UnorderedPair pair;
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  LateQueue late(*created_pairs().front());
  std::size_t room = 1;
  SECTION("room for the put alone") {
    room = 1;
  }
  SECTION("room for both") {
    room = 2;
  }
  const std::size_t usable = kSendQueue - kEmptyPackets;
  REQUIRE(pair.until([&] {
    while (late.outstanding() < usable - room &&
           near.send_one() == Status::kOk) {
      near.transport->flush();
    }
    return late.outstanding() == usable - room;
  }));
  fill(std::span(near.memory).first(5000), 6);
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 5000);
  CHECK(pair.post_chain({&put, 1}, 2) ==
        (room == 1 ? Status::kAgain : Status::kOk));
  near.transport->flush();
  CHECK(late.outstanding() == (room == 1 ? usable - 1 : usable));
  late.release();
  REQUIRE(pair.until([&] {
    return room == 2 || pair.post_chain({&put, 1}, 2) == Status::kOk;
  }));
  REQUIRE(pair.is_done(2));
  CHECK(pair.is_placed(put));
  CHECK(near.failures + far.failures == 0);
}

TEST_CASE("verbs unordered: memory is unregistered after the proofs",
          "[verbs][keys]") {
  UnorderedPair pair;
  End& near = pair.ends[0];
  End& far = pair.ends[1];
  fill(std::span(near.memory).first(kMaxStepBytes), 2);
  const RemoteStep put = pair.step(Opcode::kPut, 5, 0, kMaxStepBytes);
  REQUIRE(pair.post_chain({&put, 1}, 2) == Status::kOk);
  REQUIRE(pair.until(
      [&] { return far.transport->on_unregistered(2, far.region().state); }));
  CHECK(pair.is_placed(put));
  CHECK(pair.is_done(2));
  // The registration is not known any more, so the endpoint asks and is denied.
  CHECK(pair.post_chain({&put, 1}, 3) == Status::kAgain);
  CHECK(pair.until([&] {
    return pair.post_chain({&put, 1}, 3) == Status::kUnsupported;
  }));
}

TEST_CASE(
    "verbs unordered: memory for relaxed ordering, where the device "
    "takes it",
    "[verbs][keys]") {
  UnorderedPair pair(WriteOrder::kRelaxed);
  fill(std::span(pair.ends[0].memory).first(5000), 4);
  const std::array<RemoteStep, 1> put = {pair.step(Opcode::kPut, 100, 0, 5000)};
  REQUIRE(pair.post_chain(put, 2) == Status::kOk);
  REQUIRE(pair.is_done(2));
  CHECK(pair.is_placed(put[0]));
}

TEST_CASE("verbs unordered: a peer that dies with a list under way",
          "[verbs][failure]") {
  UnorderedPair pair;
  pair.ends[1].transport.reset();
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 5000);
  expect_end_with_peer(pair.ends[0], [&] {
    return pair.post_chain({&put, 1}, 2);
  });
}

TEST_CASE("verbs unordered: ranks that disagree on the order are told",
          "[verbs][post]") {
  End near(0, nullptr, Executor::kAgent, kMaxReceives, {}, 0,
           WriteOrder::kRelaxed);
  End far(1, &near, Executor::kAgent);
  near.meet(far);
  CHECK(near.transport->fabric() != far.transport->fabric());
  spmd::StderrCapture capture;
  CHECK(near.transport->endpoint(1, 0).status() == Status::kBadOption);
  CHECK(capture.stop().find(
            "rank 1 has ACP_VERBS_WRITES=ordered, this one relaxed") !=
        std::string::npos);
  near.transport->poll(near);
  CHECK(near.failures == 1);  // which ends the job
}

}  // namespace acp::verbs
