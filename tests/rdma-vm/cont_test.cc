// Tests of steps that are posted behind all that is under way (post_behind):
// each takes effect as if it had waited. With spoof.cc's kind `overtakes`,
// writes and atomics without a fence overtake the reads and atomics before
// them.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

/// A pair whose end 0 knows the memory of end 1. Its first post has token 1,
/// and the test's posts have tokens from 2 on.
class ContPair : public Pair {
 public:
  explicit ContPair(Executor atomics = Executor::kAgent,
                    WriteOrder writes = WriteOrder::kOrdered)
      : Pair(atomics, kMaxReceives, {}, 0, writes) {
    REQUIRE(post(step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
    REQUIRE(is_done(1));
  }

  /// Posts a step of end 0 behind all before, and leaves it in the batch.
  Status behind(const RemoteStep& step) {
    const Status status = ends[0].endpoint().post_behind({&step, 1}, next_);
    next_ += status == Status::kOk ? 1 : 0;
    return status;
  }

  /// Posts a step as the engine does: behind what is under way, or when all of
  /// it is complete.
  void behind_or_after(const RemoteStep& step) {
    if (behind(step) == Status::kOk) {
      ++followed;
      return;
    }
    REQUIRE(all_done());
    Status status = Status::kAgain;
    REQUIRE(until([&] {
      status = ends[0].endpoint().post({&step, 1}, next_);
      return status != Status::kAgain;
    }));
    REQUIRE(status == Status::kOk);
    ++next_;
  }

  bool all_done() { return is_done(next_ - 1); }

  /// An addition to the aligned word at or behind offset `far` of end 1. The
  /// old value goes to the aligned word at or behind offset `near` of end 0.
  RemoteStep add(std::uint64_t far, std::uint64_t near, std::uint64_t operand) {
    RemoteStep made = step(Opcode::kAdd, far, near, 0);
    made.offset = (made.offset + 7) & ~std::uint64_t{7};
    made.local_memory +=
        (8 - (reinterpret_cast<std::uintptr_t>(made.local_memory) & 7)) % 8;
    made.operand = operand;
    return made;
  }

  std::byte* near(std::size_t at) { return ends[0].memory.data() + at; }

  std::byte* far(std::size_t at) { return ends[1].memory.data() + at; }

  const Counters& counts() const { return ends[0].transport->counters(); }

  std::size_t followed = 0;  ///< Steps that behind_or_after() posted behind.

 private:
  std::uint64_t next_ = 2;
};

bool are_equal(const std::byte* one, const std::byte* other, std::size_t size) {
  return std::memcmp(one, other, size) == 0;
}

}  // namespace

TEST_CASE("verbs cont: gets follow each other with one doorbell",
          "[verbs][post]") {
  ContPair pair;
  fill(std::span(pair.ends[1].memory).first(16'000), 1);
  const Counters before = pair.counts();
  for (std::size_t i = 0; i < 16; ++i) {
    REQUIRE(pair.behind(pair.step(Opcode::kGet, 1000 * i, 1000 * i, 1000)) ==
            Status::kOk);
  }
  pair.ends[0].transport->flush();
  CHECK(pair.counts().requests - before.requests == 16);
  CHECK(pair.counts().doorbells - before.doorbells == 1);
  REQUIRE(pair.all_done());
  CHECK(are_equal(pair.near(0), pair.far(0), 16'000));
}

TEST_CASE("verbs cont: a get behind puts brings what they have put",
          "[verbs][post]") {
  ContPair pair;
  for (std::uint32_t round = 0; round < 10; ++round) {
    fill(std::span(pair.ends[0].memory).first(4000), round);
    REQUIRE(pair.behind(pair.step(Opcode::kPut, 1000, 0, 4000)) == Status::kOk);
    REQUIRE(pair.behind(pair.step(Opcode::kPut, 1100, 9, 100)) == Status::kOk);
    REQUIRE(pair.behind(pair.step(Opcode::kGet, 1000, 9000, 4000)) ==
            Status::kOk);
    REQUIRE(pair.all_done());
    CHECK(are_equal(pair.near(9000), pair.near(0), 100));
    CHECK(are_equal(pair.near(9100), pair.near(9), 100));
    CHECK(are_equal(pair.near(9200), pair.near(200), 3800));
  }
}

TEST_CASE("verbs cont: a put behind a get puts what the get brings",
          "[verbs][post]") {
  created_pairs().clear();
  ContPair pair;
  const std::size_t size = GENERATE(16, 5000);  // inline, and from the source
  for (std::uint32_t round = 0; round < 10; ++round) {
    fill(std::span(pair.ends[1].memory).first(5000), round);
    const std::vector<std::byte> old(pair.far(0), pair.far(size));
    fill(std::span(pair.ends[0].memory).first(5000), 100 + round);
    const std::vector<std::byte> other(pair.near(0), pair.near(size));
    REQUIRE(pair.behind(pair.step(Opcode::kGet, 0, 9000, size)) == Status::kOk);
    if (is_rxe(*created_pairs().front())) {
      CHECK(pair.behind(pair.step(Opcode::kPut, 0, 0, size)) ==
            Status::kUnsupported);
      REQUIRE(pair.all_done());
      continue;
    }
    // The first put overwrites bytes that the get reads. The second one sends
    // bytes that the get brings.
    REQUIRE(pair.behind(pair.step(Opcode::kPut, 0, 0, size)) == Status::kOk);
    REQUIRE(pair.behind(pair.step(Opcode::kPut, 9000, 9000, size)) ==
            Status::kOk);
    REQUIRE(pair.all_done());
    CHECK(are_equal(pair.near(9000), old.data(), size));
    CHECK(are_equal(pair.far(9000), old.data(), size));
    CHECK(are_equal(pair.far(0), other.data(), size));
  }
}

TEST_CASE("verbs cont: the result of an atomic is not touched before it is",
          "[verbs][atomics]") {
  ContPair pair(Executor::kDevice);
  const RemoteStep add = pair.add(64, 64, 1);
  const auto at =
      static_cast<std::uint64_t>(add.local_memory - pair.ends[0].memory.data());
  REQUIRE(pair.behind(add) == Status::kOk);
  CHECK(pair.behind(pair.step(Opcode::kPut, 1000, at + 7, 16)) ==
        Status::kUnsupported);
  CHECK(pair.behind(pair.step(Opcode::kGet, 1000, at - 15, 16)) ==
        Status::kUnsupported);
  CHECK(pair.behind(pair.step(Opcode::kPut, 1000, at + 8, 16)) == Status::kOk);
  REQUIRE(pair.all_done());
  CHECK(pair.behind(pair.step(Opcode::kPut, 1000, at, 16)) == Status::kOk);
  REQUIRE(pair.all_done());
}

// The put lies over the word of both atomics. So the values show that it came
// between them.
TEST_CASE("verbs cont: a put and an atomic behind an atomic come after it",
          "[verbs][atomics]") {
  created_pairs().clear();
  ContPair pair(Executor::kDevice);
  const auto word_of = [](const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  const RemoteStep first = pair.add(64, 64, 3);
  const RemoteStep second = pair.add(64, 128, 5);
  const std::uint64_t skew = reinterpret_cast<std::uintptr_t>(pair.far(0)) & 63;
  const std::uint64_t at = first.offset - skew;
  for (std::uint32_t round = 0; round < 10; ++round) {
    fill(std::span(pair.ends[1].memory).first(256), round);
    fill(std::span(pair.ends[0].memory).first(1024), 100 + round);
    const std::uint64_t old = word_of(pair.far(at));
    const std::uint64_t other = word_of(pair.near(508));
    REQUIRE(pair.behind(first) == Status::kOk);
    REQUIRE(pair.behind(pair.step(Opcode::kPut, at - 8, 500, 24)) ==
            Status::kOk);
    pair.behind_or_after(second);
    REQUIRE(pair.all_done());
    CHECK(word_of(first.local_memory) == old);
    CHECK(word_of(second.local_memory) == other);
    CHECK(word_of(pair.far(at)) == other + 5);
  }
  CHECK((pair.followed == 0) == is_rxe(*created_pairs().front()));
}

TEST_CASE("verbs cont: nothing is behind a loop", "[verbs][atomics]") {
  ContPair pair(Executor::kDevice);
  RemoteStep swap = pair.add(64, 64, 5);
  swap.opcode = Opcode::kSwap;
  REQUIRE(pair.behind(pair.step(Opcode::kPut, 1000, 500, 16)) == Status::kOk);
  REQUIRE(pair.behind(swap) == Status::kOk);
  CHECK(pair.behind(pair.step(Opcode::kPut, 1000, 500, 16)) ==
        Status::kUnsupported);
  CHECK(pair.behind(pair.step(Opcode::kGet, 1000, 500, 16)) ==
        Status::kUnsupported);
  REQUIRE(pair.all_done());
}

TEST_CASE("verbs cont: memory is as if each step had waited",
          "[verbs][atomics]") {
  constexpr std::size_t kBytes = 256;  // few, so that many steps meet
  ContPair pair(Executor::kDevice);
  std::mt19937 random(11);
  fill(std::span(pair.ends[0].memory).first(kBytes), 1);
  fill(std::span(pair.ends[1].memory).first(kBytes), 2);
  std::vector<std::byte> near(pair.near(0), pair.near(kBytes));
  std::vector<std::byte> far(pair.far(0), pair.far(kBytes));
  for (int round = 0; round < 600; ++round) {
    const std::size_t at = random() % (kBytes - 16);
    const std::size_t from = random() % (kBytes - 16);
    const std::size_t most =
        random() % 4 == 0 ? kBytes - std::max(at, from) : 17;
    const std::size_t size = 9 + random() % (most - 8);
    const std::uint32_t dice = random() % 8;
    if (dice == 0) {
      const RemoteStep add = pair.add(at & ~std::size_t{63}, from, random());
      const std::uint64_t skew =
          reinterpret_cast<std::uintptr_t>(pair.ends[1].memory.data()) & 63;
      std::byte* word = far.data() + (add.offset - skew);
      std::uint64_t old = 0;
      std::memcpy(&old, word, sizeof old);
      std::memcpy(near.data() + (add.local_memory - pair.near(0)), &old,
                  sizeof old);
      old += add.operand;
      std::memcpy(word, &old, sizeof old);
      pair.behind_or_after(add);
    } else if (dice < 5) {
      std::memcpy(far.data() + at, near.data() + from, size);
      pair.behind_or_after(pair.step(Opcode::kPut, at, from, size));
    } else {
      std::memcpy(near.data() + from, far.data() + at, size);
      pair.behind_or_after(pair.step(Opcode::kGet, at, from, size));
    }
    if (random() % 8 == 0) {
      pair.ends[0].transport->flush();
    }
  }
  REQUIRE(pair.all_done());
  CHECK(are_equal(pair.near(0), near.data(), kBytes));
  CHECK(are_equal(pair.far(0), far.data(), kBytes));
  CHECK(pair.followed > 50);
}

TEST_CASE("verbs cont: refused where writes have no order", "[verbs][post]") {
  ContPair pair(Executor::kAgent, WriteOrder::kUnordered);
  CHECK(pair.behind(pair.step(Opcode::kPut, 0, 0, 16)) == Status::kUnsupported);
  CHECK(pair.behind(pair.step(Opcode::kGet, 0, 0, 16)) == Status::kUnsupported);
}

TEST_CASE("verbs cont: a revoked registration takes no more steps",
          "[verbs][keys]") {
  ContPair pair;
  End& far = pair.ends[1];
  fill(std::span(pair.ends[0].memory).first(100), 3);
  REQUIRE(pair.behind(pair.step(Opcode::kPut, 500, 0, 100)) == Status::kOk);
  REQUIRE(pair.behind(pair.step(Opcode::kGet, 500, 900, 100)) == Status::kOk);
  REQUIRE(pair.until(
      [&] { return far.transport->on_unregistered(2, far.region().state); }));
  CHECK(pair.behind(pair.step(Opcode::kGet, 0, 0, 16)) == Status::kUnsupported);
  REQUIRE(pair.all_done());
  CHECK(are_equal(pair.near(900), pair.near(0), 100));
}

TEST_CASE("verbs cont: all under way ends with the peer", "[verbs][failure]") {
  ContPair pair;
  pair.ends[1].transport.reset();
  const RemoteStep get = pair.step(Opcode::kGet, 0, 0, 5000);
  expect_end_with_peer(pair.ends[0], [&] { return pair.behind(get); });
}

}  // namespace acp::verbs
