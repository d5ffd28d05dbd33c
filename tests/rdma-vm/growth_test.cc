// Tests of connections whose first queue pair is small. They show how much an
// idle connection pins, and that a busy one moves to a large queue pair without
// losing or reordering anything. The move may fail, or an end may die on the
// way.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

constexpr std::uint32_t kSmallCompletions = completions_of(PairSize::kSmall);
constexpr std::uint32_t kLargeCompletions = completions_of(PairSize::kLarge);

/// Two ends whose connection begins with small queue pairs.
struct SmallPair : Pair {
  explicit SmallPair(Timers timers = {})
      : Pair(Executor::kAgent,
             kMaxReceives,
             timers,
             0,
             WriteOrder::kOrdered,
             PairSize::kSmall) {}

  Growth growth(std::size_t end) {
    return static_cast<Endpoint&>(ends[end].endpoint()).growth();
  }

  std::uint64_t grown(std::size_t end) const {
    return ends[end].transport->counters().grown;
  }

  bool is_grown() const { return grown(0) == 1 && grown(1) == 1; }

  /// Whether both ends have released their small queue pairs.
  bool is_settled() const {
    return ends[0].transport->completions(0).taken() == kLargeCompletions &&
           ends[1].transport->completions(0).taken() == kLargeCompletions;
  }
};

/// Sends numbered messages, and checks the order of those that arrive.
class Numbered {
 public:
  Numbered(End& from, End& to) : from_(from) {
    to.look = [this](std::span<const std::byte> bytes) {
      std::uint32_t number = 0;
      REQUIRE(bytes.size() >= sizeof number);
      std::memcpy(&number, bytes.data(), sizeof number);
      REQUIRE(number == heard_++);
    };
  }

  /// Sends until it is refused; each in a packet of its own.
  void send_all(std::uint32_t most) {
    while (sent_ < most) {
      std::array<std::byte, 300> message{};  // not inline in any queue pair
      std::memcpy(message.data(), &sent_, sizeof sent_);
      const std::span<const std::byte> part = message;
      const Status status =
          from_.endpoint().send({&part, 1}, transport::Ordering::kFree);
      if (status != Status::kOk) {
        REQUIRE(status == Status::kAgain);
        return;
      }
      ++sent_;
      from_.transport->flush();
    }
  }

  std::uint32_t sent() const { return sent_; }

  std::uint32_t heard() const { return heard_; }

 private:
  End& from_;
  std::uint32_t sent_ = 0;
  std::uint32_t heard_ = 0;
};

/// Bytes of this process's mappings of device memory: queues that user space
/// and a software device share.
std::size_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/infiniband/uverbs") == std::string::npos) {
      continue;
    }
    std::istringstream fields(line);
    std::size_t begin = 0;
    std::size_t end = 0;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end;
    sum += end - begin;
  }
  return sum;
}

/// The bytes that one connection pins in each of its two processes: mappings
/// and room for completions.
struct Cost {
  std::size_t queues = 0;
  std::size_t completions = 0;
};

Cost cost_of_pair(PairSize size) {
  End first(0, nullptr, Executor::kAgent, kMaxReceives, {}, 0,
            WriteOrder::kOrdered, size);
  End second(1, &first, Executor::kAgent, kMaxReceives, {}, 0,
             WriteOrder::kOrdered, size);
  first.meet(second);
  const std::size_t before = mapped_bytes();
  REQUIRE(test::eventually([&] {
    for (End* end : {&first, &second}) {
      end->transport->poll(*end);
      end->transport->flush();
    }
    return second.messages != 0 || (first.send_one(), false);
  }));
  return {.queues = (mapped_bytes() - before) / 2,
          .completions = 64 * second.transport->completions(0).taken()};
}

}  // namespace

TEST_CASE("verbs growth: an idle connection has small queues",
          "[verbs][memory][growth]") {
  const Cost small = cost_of_pair(PairSize::kSmall);
  const Cost large = cost_of_pair(PairSize::kLarge);
  std::printf("queue pair: small %zu + %zu bytes, large %zu + %zu bytes\n",
              small.queues, small.completions, large.queues, large.completions);
  CHECK(small.completions == 64 * kSmallCompletions);
  CHECK(large.completions == 64 * kLargeCompletions);
  // rxe rounds entries and their number up, so its queues are larger than those
  // of adapters; docs/verbs.md has a table.
  CHECK(4 * small.queues <= large.queues);
}

TEST_CASE(
    "verbs growth: idle connections share receive buffers until they run "
    "low",
    "[verbs][memory][growth]") {
  Pair pair;  // opens a device
  ibv_context& context = *created_pairs().back()->context;
  ibv_device_attr limits{};
  REQUIRE(ibv_query_device(&context, &limits) == 0);
  const ProtectionDomain domain(ibv_alloc_pd(&context));
  REQUIRE(domain != nullptr);
  Receives receives(*domain, kMaxReceives);
  REQUIRE(receives.open(limits) == Status::kOk);
  ibv_qp_init_attr described{};
  receives.describe(described, PairSize::kSmall);
  if (described.srq == nullptr) {
    return;  // each queue pair has buffers of its own
  }
  ibv_qp any{};  // a shared queue does not look at it
  for (int i = 0; i < 116; ++i) {
    REQUIRE(receives.add(any) == Status::kOk);
  }
  CHECK(receives.posted() == kMostForEmpty + kUnshared + 100 / kSharers);
  receives.on_low(nullptr);  // another device has told
  CHECK(receives.posted() == kMostForEmpty + kUnshared + 100 / kSharers);
  receives.on_low(described.srq);
  CHECK(receives.posted() == kMostForEmpty + kUnshared + 50);
  receives.on_low(described.srq);
  receives.on_low(described.srq);
  CHECK(receives.posted() == kMostForEmpty + kUnshared + 100);
}

TEST_CASE("verbs growth: a few messages need no large queue pair",
          "[verbs][growth]") {
  SmallPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  for (int i = 0; i < 20; ++i) {
    REQUIRE(pair.until([&] { return near.send_one() == Status::kOk; }));
    REQUIRE(pair.until([&] { return far.messages == 2 + i; }));
    REQUIRE(pair.until([&] { return far.send_one() == Status::kOk; }));
    REQUIRE(pair.until([&] { return near.messages == 1 + i; }));
  }
  for (std::size_t end = 0; end < 2; ++end) {
    CHECK(pair.growth(end) == Growth::kSmall);
    CHECK(pair.ends[end].transport->completions(0).taken() ==
          kSmallCompletions);
  }
}

// The stream goes on until the connection has moved. Then the large window
// fills, and falls again when the stream is idle.
TEST_CASE("verbs growth: a stream moves once, in order, and gets its window",
          "[verbs][growth]") {
  SmallPair pair;
  const std::size_t from = GENERATE(0U, 1U);
  End& sender = pair.ends[from];
  End& receiver = pair.ends[1 - from];
  Numbered stream(sender, receiver);
  std::uint32_t most = 200;
  REQUIRE(pair.until([&] {
    stream.send_all(most);
    most = pair.is_grown() ? most : stream.sent() + 200;
    return pair.is_grown() && stream.heard() == stream.sent();
  }));
  REQUIRE(pair.until([&] { return pair.is_settled(); }));
  most = stream.sent() + 200;
  REQUIRE(pair.until([&] {
    stream.send_all(most);
    return stream.heard() == most;
  }));
  CHECK(receiver.transport->receives(0).promised() == kWindow);
  CHECK(pair.growth(0) == Growth::kLarge);
  CHECK(pair.growth(1) == Growth::kLarge);
  REQUIRE(pair.until([&] {
    return receiver.transport->receives(0).promised() == kIdleWindow;
  }));
  CHECK(pair.ends[0].failures + pair.ends[1].failures == 0);
}

TEST_CASE("verbs growth: two streams that meet move once", "[verbs][growth]") {
  for (int round = 0; round < 5; ++round) {
    SmallPair pair;
    Numbered there(pair.ends[0], pair.ends[1]);
    Numbered back(pair.ends[1], pair.ends[0]);
    std::uint32_t most = 200;
    REQUIRE(pair.until([&] {
      there.send_all(most);
      back.send_all(most);
      most =
          pair.is_settled() ? most : std::max(there.sent(), back.sent()) + 200;
      return pair.is_settled() && there.heard() == most && back.heard() == most;
    }));
    CHECK(pair.is_grown());
    CHECK(pair.ends[0].failures + pair.ends[1].failures == 0);
  }
}

// The chain has as many steps as the small queue has entries, so it can never
// fit. The refusal has to start the move.
TEST_CASE("verbs growth: a chain that is too long for the small queue moves",
          "[verbs][growth]") {
  SmallPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  fill(near.memory, 1);
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 100);
  REQUIRE(pair.post(put, 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  std::array<RemoteStep, 16> chain{};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i] = pair.step(Opcode::kPut, 100 * i, 100 * i, 100);
  }
  CHECK(near.endpoint().post(chain, 2) == Status::kAgain);
  REQUIRE(pair.until(
      [&] { return near.endpoint().post(chain, 2) == Status::kOk; }));
  REQUIRE(pair.is_done(2));
  CHECK(pair.is_grown());
  CHECK(std::memcmp(far.memory.data(), near.memory.data(), 1600) == 0);
}

// Puts are posted at every moment of the move. Their tokens have to come back
// in order, and their bytes have to be there.
TEST_CASE("verbs growth: puts go on in order while the connection moves",
          "[verbs][growth]") {
  SmallPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  fill(near.memory, 2);
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 100), 1) == Status::kOk);
  std::uint64_t posted = 1;
  std::uint64_t most = 200;
  REQUIRE(pair.until([&] {
    for (; posted < most; ++posted) {
      const RemoteStep put = pair.step(Opcode::kPut, 100 * (posted % 1000),
                                       100 * (posted % 1000), 100);
      if (near.endpoint().post({&put, 1}, posted + 1) != Status::kOk) {
        break;
      }
    }
    most = pair.is_settled() ? most : posted + 200;
    return pair.is_settled() && near.done.size() == most;
  }));
  for (std::uint64_t i = 0; i < posted; ++i) {
    REQUIRE(near.done[i] == i + 1);
  }
  CHECK(std::memcmp(far.memory.data(), near.memory.data(),
                    100 * std::min<std::uint64_t>(posted, 1000)) == 0);
}

TEST_CASE("verbs growth: without a large queue pair the small one goes on",
          "[verbs][growth]") {
  SmallPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 100), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  are_large_refused() = true;
  // The far end lacks a larger window, and the near end room for its chain.
  Numbered stream(near, far);
  std::uint32_t most = 100;
  CHECK(pair.until([&] {
    stream.send_all(most);
    most = pair.growth(1) == Growth::kStaysSmall ? most : stream.sent() + 100;
    return pair.growth(1) == Growth::kStaysSmall && stream.heard() == most;
  }));
  std::array<RemoteStep, 16> chain{};
  chain.fill(pair.step(Opcode::kPut, 0, 0, 100));
  CHECK(pair.until(
      [&] { return near.endpoint().post(chain, 2) == Status::kUnsupported; }));
  CHECK(pair.growth(0) == Growth::kStaysSmall);
  CHECK(pair.post(chain[0], 2) == Status::kOk);
  CHECK(pair.is_done(2));
  CHECK(near.failures + far.failures == 0);
  are_large_refused() = false;
}

TEST_CASE("verbs growth: an end that dies at any step of the move is noticed",
          "[verbs][growth][failure]") {
  const Growth when =
      GENERATE(Growth::kResolving, Growth::kAsking, Growth::kAccepted,
               Growth::kMade, Growth::kLastSent, Growth::kDraining);
  INFO(static_cast<int>(when));
  SmallPair pair(kNoLauncher);
  Numbered stream(pair.ends[0], pair.ends[1]);
  std::size_t dying = 2;
  // Each end is looked at after each of its polls, and after each flush.
  REQUIRE(test::eventually([&] {
    for (std::size_t i = 0; i < 2; ++i) {
      pair.ends[i].transport->poll(pair.ends[i]);
      dying = pair.growth(i) == when ? i : dying;
      if (dying != 2) {
        return true;
      }
      stream.send_all(stream.sent() + 20);
      pair.ends[i].transport->flush();
      dying = pair.growth(i) == when ? i : dying;
      if (dying != 2 || pair.is_settled()) {
        return true;
      }
    }
    return false;
  }));
  REQUIRE(dying != 2);
  pair.ends[dying].transport.reset();
  End& other = pair.ends[1 - dying];
  CHECK(test::eventually([&] {
    other.transport->poll(other);
    const Status status = other.send_one();
    other.transport->flush();
    return status == Status::kPeerDead;
  }));
  other.transport->poll(other);
  CHECK(other.failures == 1);
}

}  // namespace acp::verbs
