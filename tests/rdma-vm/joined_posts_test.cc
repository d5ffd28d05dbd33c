// Tests of a message behind posted steps. They are one list of work requests,
// whose message shows the data, and which is posted as a whole or not at all.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/late_queue.h"
#include "rdma-vm/not_ready.h"
#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

/// Posts one step and a message of one word behind it.
Status post_and_say(End& end,
                    const RemoteStep& step,
                    std::uint64_t token,
                    std::uint64_t word) {
  const std::span<const std::byte> part = std::as_bytes(std::span(&word, 1));
  return end.endpoint().post_then_send({&step, 1}, token, {&part, 1});
}

std::uint64_t word_in(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  REQUIRE(bytes.size() == sizeof word);
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

/// A pair whose end 0 knows the memory of end 1. Its first post has token 1.
class WarmPair : public Pair {
 public:
  explicit WarmPair(std::uint32_t max_receives = kMaxReceives)
      : Pair(Executor::kAgent, max_receives) {
    REQUIRE(post(step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
    REQUIRE(is_done(1));
  }
};

/// Whether packets, steps or doorbells were counted in between.
bool has_posted(const Counters& before, const Counters& after) {
  return before.sent != after.sent || before.doorbells != after.doorbells ||
         before.posted != after.posted || before.requests != after.requests;
}

}  // namespace

// The counters show one list. The far end looks at the memory when the message
// comes, so the data have to be there before.
TEST_CASE("verbs joined: a put of 1 MiB and a message are one doorbell",
          "[verbs][post]") {
  constexpr std::size_t kBytes = 1 << 20;
  WarmPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  far.heard.clear();
  std::uint64_t token = 1;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    fill(std::span(near.memory).first(kBytes), round);
    int seen = 0;
    far.look = [&](std::span<const std::byte> bytes) {
      ++seen;
      CHECK(word_in(bytes) == round);
      CHECK(std::memcmp(far.memory.data() + 3, near.memory.data(), kBytes) ==
            0);
    };
    const Counters before = near.transport->counters();
    for (std::size_t at = 0; at < kBytes; at += kMaxStepBytes) {
      const RemoteStep put = pair.step(Opcode::kPut, at + 3, at, kMaxStepBytes);
      const bool is_last = at + kMaxStepBytes == kBytes;
      const Status status = is_last ? post_and_say(near, put, ++token, round)
                                    : near.endpoint().post({&put, 1}, ++token);
      REQUIRE(status == Status::kOk);
    }
    const Counters& after = near.transport->counters();
    CHECK(after.doorbells - before.doorbells == 1);
    CHECK(after.requests - before.requests == kBytes / kMaxStepBytes);
    CHECK(after.sent - before.sent == 1);
    CHECK(after.behind - before.behind == 1);
    REQUIRE(pair.is_done(token));
    REQUIRE(pair.until([&] { return seen != 0; }));
    CHECK(seen == 1);
  }
  CHECK(std::ranges::is_sorted(near.done));
  CHECK(near.transport->counters().doorbells == 21);
}

TEST_CASE("verbs joined: the message ends the open packet", "[verbs][post]") {
  WarmPair pair;
  pair.stream(0);  // the next packet shall not wait for credit
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  far.heard.clear();
  const int messages = far.messages;
  const Counters before = near.transport->counters();
  REQUIRE(near.send_one() == Status::kOk);
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 5000);
  REQUIRE(post_and_say(near, put, 2, 7) == Status::kOk);
  CHECK(near.transport->counters().sent - before.sent == 1);
  REQUIRE(near.send_one() == Status::kOk);
  near.transport->flush();
  CHECK(near.transport->counters().sent - before.sent == 2);
  REQUIRE(pair.until([&] { return far.messages == messages + 3; }));
  CHECK(far.heard.size() == 3 + 8 + 3);
  CHECK(far.heard[3] == std::byte{7});
  REQUIRE(pair.is_done(2));
}

// The end uses up its credit by messages alone, and then posts. Nothing may go
// out before the peer returns credit, not even the steps.
TEST_CASE("verbs joined: nothing is posted without credit", "[verbs][post]") {
  WarmPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  const int messages = far.messages;
  int sent = 0;
  while (near.send_one() == Status::kOk) {
    near.transport->flush();
    ++sent;
  }
  const Counters before = near.transport->counters();
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 5000);
  CHECK(post_and_say(near, put, 2, 7) == Status::kAgain);
  near.transport->flush();
  CHECK_FALSE(has_posted(before, near.transport->counters()));
  REQUIRE(
      pair.until([&] { return post_and_say(near, put, 2, 7) == Status::kOk; }));
  REQUIRE(pair.is_done(2));
  REQUIRE(pair.until([&] { return far.messages == messages + sent + 1; }));
}

TEST_CASE("verbs joined: nothing is posted without room in the send queue",
          "[verbs][queue]") {
  created_pairs().clear();
  WarmPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 5000);
  LateQueue late(*created_pairs().front());
  std::size_t room = 0;
  SECTION("full") {
    room = 0;
  }
  SECTION("room for the step alone") {
    room = 1;
  }
  const std::size_t usable = kSendQueue - kEmptyPackets - room;
  REQUIRE(pair.until([&] {
    while (late.outstanding() < usable && near.send_one() == Status::kOk) {
      near.transport->flush();
    }
    return late.outstanding() == usable;
  }));
  // All credit comes back, so that only the queue has no room.
  const int all = static_cast<int>(near.transport->counters().sent);
  REQUIRE(pair.until([&] {
    return far.transport->counters().received ==
           near.transport->counters().sent;
  }));
  REQUIRE(all > static_cast<int>(kWindow));
  const Counters before = near.transport->counters();
  CHECK(post_and_say(near, put, 2, 7) == Status::kAgain);
  near.transport->flush();
  CHECK_FALSE(has_posted(before, near.transport->counters()));
  late.release();
  REQUIRE(
      pair.until([&] { return post_and_say(near, put, 2, 7) == Status::kOk; }));
  REQUIRE(pair.is_done(2));
  CHECK(late.most_outstanding() <= kSendQueue);
  CHECK(near.failures + far.failures == 0);
}

TEST_CASE("verbs joined: what is refused leaves nothing behind",
          "[verbs][post]") {
  WarmPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  const Counters before = near.transport->counters();
  const auto says = [&](const RemoteStep& step) {
    return post_and_say(near, step, 9, 9);
  };
  CHECK(says(pair.step(Opcode::kGet, 0, 0, 16)) == Status::kUnsupported);
  CHECK(says(pair.step(Opcode::kAdd, 0, 0, 8)) == Status::kUnsupported);
  RemoteStep step = pair.step(Opcode::kPut, 0, 0, 16);
  step.local_key = 3;
  CHECK(says(step) == Status::kUnsupported);
  CHECK_FALSE(has_posted(before, near.transport->counters()));
  // A registration that is not known is asked for.
  CHECK(says(pair.step(Opcode::kPut, 0, 0, 16, 1)) == Status::kUnsupported);
  CHECK(near.transport->counters().control.wanted - before.control.wanted == 1);
  REQUIRE(near.send_one() == Status::kOk);
  const int messages = far.messages;
  REQUIRE(pair.until([&] { return far.messages > messages; }));
  CHECK(far.messages == messages + 1);
  CHECK(near.transport->counters().requests == before.requests);
}

TEST_CASE("verbs joined: the source is in use until the steps complete",
          "[verbs][keys]") {
  created_pairs().clear();
  WarmPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  fill(near.memory, 11);
  LateQueue late(*created_pairs().front());
  const int messages = far.messages;
  const RemoteStep put = pair.step(Opcode::kPut, 64, 0, kMaxStepBytes);
  REQUIRE(post_and_say(near, put, 2, 7) == Status::kOk);
  REQUIRE(pair.until([&] { return far.messages == messages + 1; }));
  CHECK(std::memcmp(far.memory.data() + 64, near.memory.data(),
                    kMaxStepBytes) == 0);
  // The answer overtakes the completion.
  REQUIRE(pair.until([&] { return far.send_one() == Status::kOk; }));
  REQUIRE(pair.until([&] { return near.messages == 1; }));
  CHECK(near.done.size() == 1);

  SECTION("the source is unregistered") {
    CHECK_FALSE(near.transport->on_unregistered(2, near.region().state));
    CHECK(post_and_say(near, put, 3, 7) == Status::kUnsupported);
    late.release();
    REQUIRE(pair.until([&] {
      return near.transport->on_unregistered(2, near.region().state);
    }));
  }
  SECTION("the destination is unregistered") {
    CHECK_FALSE(far.transport->on_unregistered(2, far.region().state));
    // Far reads all that near says of the revocation before its next message.
    REQUIRE(pair.until([&] { return far.send_one() == Status::kOk; }));
    REQUIRE(pair.until([&] { return near.messages == 2; }));
    CHECK(post_and_say(near, put, 3, 7) == Status::kUnsupported);
    REQUIRE(pair.until([&] { return near.send_one() == Status::kOk; }));
    REQUIRE(pair.until([&] { return far.messages == messages + 2; }));
    CHECK_FALSE(far.transport->on_unregistered(2, far.region().state));
    late.release();
    REQUIRE(pair.until(
        [&] { return far.transport->on_unregistered(2, far.region().state); }));
  }
  REQUIRE(pair.is_done(2));
  CHECK(near.done.back() == 2);
  CHECK(near.failures + far.failures == 0);
}

TEST_CASE("verbs joined: a peer that dies with a list under way",
          "[verbs][failure]") {
  WarmPair pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  far.transport.reset();
  const RemoteStep put = pair.step(Opcode::kPut, 0, 0, 5000);
  expect_end_with_peer(near, [&] { return post_and_say(near, put, 2, 7); });
}

namespace {

/// Chains from one end to the other: each a put into its entry, and its number
/// behind it. The receiver looks at the data when the number arrives. Credit
/// keeps the sender less than kEntries ahead.
class Flood {
 public:
  static constexpr std::uint64_t kEntries = 2 * kWindow;
  static constexpr std::size_t kEntryBytes = 40'000;

  Flood(Pair& pair, std::size_t from)
      : from_(pair.ends[from]), to_(pair.ends[1 - from]) {
    first_token_ = from_.done.size();
    to_.look = [this](std::span<const std::byte> bytes) {
      const std::uint64_t number = word_in(bytes);
      CHECK(number == arrived);
      const auto entry =
          std::span(to_.memory)
              .subspan(kEntries * kEntryBytes + at(number), size_of(number));
      CHECK(std::ranges::count(entry, byte_of(number)) ==
            static_cast<std::ptrdiff_t>(entry.size()));
      ++arrived;
    };
  }

  /// Posts the next chain; false: later.
  bool post(const RemoteStep& like) {
    if (posted >= kEntries &&
        from_.done.size() - first_token_ <= posted - kEntries) {
      return false;  // the source of this entry is in use
    }
    RemoteStep put = like;
    put.offset += kEntries * kEntryBytes + at(posted);
    put.local_memory = from_.memory.data() + at(posted);
    put.size = size_of(posted);
    std::memset(put.local_memory, static_cast<int>(byte_of(posted)), put.size);
    const Status status = post_and_say(from_, put, posted, posted);
    REQUIRE((status == Status::kOk || status == Status::kAgain));
    posted += status == Status::kOk ? 1 : 0;
    return status == Status::kOk;
  }

  std::uint64_t posted = 0;
  std::uint64_t arrived = 0;

 private:
  static std::size_t at(std::uint64_t number) {
    return number % kEntries * kEntryBytes;
  }

  static std::size_t size_of(std::uint64_t number) {
    return number % 3 == 0 ? 100 + number : kEntryBytes - number;
  }

  static std::byte byte_of(std::uint64_t number) {
    return static_cast<std::byte>(number * 37 + 1);
  }

  End& from_;
  End& to_;
  std::size_t first_token_ = 0;
};

}  // namespace

TEST_CASE("verbs joined: ends that flood each other without enough buffers",
          "[verbs][rnr]") {
  constexpr std::uint64_t kChains = 120;
  constexpr std::uint32_t kFewReceives = 1;
  const auto before = count_not_ready();
  WarmPair pair(kFewReceives);
  const RemoteStep there = pair.step(Opcode::kPut, 0, 0, 16);
  RemoteStep back = there;
  back.offset = reinterpret_cast<std::uintptr_t>(pair.ends[0].memory.data()) &
                (transport::kOffsetAlignment - 1);
  back.local_memory = pair.ends[1].memory.data();
  REQUIRE(pair.until([&] {
    return pair.ends[1].endpoint().post({&back, 1}, 1) == Status::kOk;
  }));
  REQUIRE(pair.until([&] { return pair.ends[1].done.size() == 1; }));

  std::array<Flood, 2> floods = {Flood(pair, 0), Flood(pair, 1)};
  std::mt19937 random(5);
  Pauses pauses;
  std::uint64_t seen = 0;
  const auto arrived = [&] {
    return floods[0].arrived + floods[1].arrived;
  };
  // Only one end polls in each round, chosen at random. Each message arrives
  // within ten seconds of the message before it.
  const auto has_moved = [&] {
    while (floods[0].posted < kChains && floods[0].post(there)) {
    }
    while (floods[1].posted < kChains && floods[1].post(back)) {
    }
    End& end = pair.ends[random() % 2];
    pauses.after_round(end.transport->poll(end));
    end.transport->flush();
    return arrived() != seen;
  };
  for (; arrived() < 2 * kChains; seen = arrived()) {
    REQUIRE(test::eventually(has_moved));
  }
  REQUIRE(pair.until([&] {
    return pair.ends[0].done.size() == kChains + 1 &&
           pair.ends[1].done.size() == kChains + 1;
  }));
  for (const End& end : pair.ends) {
    CHECK(end.failures == 0);
    CHECK(end.transport->counters().behind == kChains);
  }
  CHECK(test::eventually(
      [&] { return !before || count_not_ready().value_or(0) > *before; }));
}

}  // namespace acp::verbs
