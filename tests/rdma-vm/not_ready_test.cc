// Tests of connections that have fewer receive buffers than packets may arrive,
// as in jobs with more connections than kMaxReceives. A packet may then find no
// buffer, and the sender's device repeats it until there is one.
#include "rdma-vm/not_ready.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "rdma-vm/pair.h"

namespace acp::verbs {

namespace {

/// Receive buffers of an end: one for the packet of the smallest window, and
/// none for the empty packet that returns credit.
constexpr std::uint32_t kFewReceives = 1;

/// A series of random messages from one end to the other, a packet each.
class Stream {
 public:
  Stream(End& from, std::uint32_t seed) : from_(from), random_(seed) {
    make_next();
  }

  /// Sends the next message; false when there is no credit for it.
  bool send() {
    const std::span<const std::byte> part = next_;
    const Status status =
        from_.endpoint().send({&part, 1}, transport::Ordering::kFree);
    if (status != Status::kOk) {
      REQUIRE(status == Status::kAgain);
      return false;
    }
    from_.transport->flush();
    sent.insert(sent.end(), next_.begin(), next_.end());
    ++count;
    make_next();
    return true;
  }

  std::vector<std::byte> sent;  ///< All messages, one behind the other.
  int count = 0;

 private:
  void make_next() {
    next_.resize(random_() % 4 == 0 ? random_() % kMaxMessageBytes + 1
                                    : random_() % 300 + 1);
    fill(next_, static_cast<std::uint32_t>(random_()));
  }

  End& from_;
  std::mt19937 random_;
  std::vector<std::byte> next_;
};

/// Whether a receiver was not ready since the count was `before`; true where no
/// device counts it.
bool was_not_ready(std::optional<std::uint64_t> before) {
  return !before || count_not_ready().value_or(0) > *before;
}

}  // namespace

TEST_CASE("verbs: a receiver that is not ready only delays", "[verbs][rnr]") {
  const auto before = count_not_ready();
  Pair pair(Executor::kAgent, kFewReceives);
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  fill(near.memory, 1);
  REQUIRE(pair.post(pair.step(Opcode::kPut, 0, 0, 16), 1) == Status::kOk);
  REQUIRE(pair.is_done(1));
  const int messages = far.messages;
  far.heard.clear();

  // The far end does not poll meanwhile. The near end sends the one packet of
  // its credit, the credit for a packet of the far end, and then a put.
  Stream stream(near, 2);
  while (stream.send()) {
  }
  CHECK(stream.count == 1);
  const Counters before_empty = near.transport->counters();
  REQUIRE(far.send_one() == Status::kOk);
  far.transport->flush();
  REQUIRE(test::eventually([&] {
    near.transport->poll(near);
    near.transport->flush();
    return near.transport->counters().empty != before_empty.empty;
  }));
  const RemoteStep put = pair.step(Opcode::kPut, 5000, 0, 70'000);
  REQUIRE(near.endpoint().post({&put, 1}, 2) == Status::kOk);
  REQUIRE(test::eventually([&] {
    near.transport->poll(near);
    return was_not_ready(before);
  }));
  CHECK(near.done.size() == 1);
  CHECK(far.messages == messages);

  REQUIRE(pair.is_done(2));
  REQUIRE(pair.until([&] { return far.messages == messages + stream.count; }));
  CHECK(far.heard == stream.sent);
  CHECK(std::equal(near.memory.begin(), near.memory.begin() + 70'000,
                   far.memory.begin() + 5000));
  CHECK(near.failures + far.failures == 0);
}

TEST_CASE("verbs: ends that flood each other without enough buffers",
          "[verbs][rnr]") {
  constexpr int kMessages = 400;
  const auto before = count_not_ready();
  Pair pair(Executor::kAgent, kFewReceives);
  std::array<Stream, 2> streams = {Stream(pair.ends[0], 3),
                                   Stream(pair.ends[1], 4)};
  const std::array<int, 2> messages = {pair.ends[0].messages,
                                       pair.ends[1].messages};
  for (End& end : pair.ends) {
    end.heard.clear();
  }
  std::mt19937 random(5);
  Pauses pauses;
  int seen = -1;
  const auto is_done = [&] {
    for (Stream& stream : streams) {
      while (stream.count < kMessages && stream.send()) {
      }
    }
    // Only one end polls in each round, chosen at random.
    End& end = pair.ends[random() % 2];
    pauses.after_round(end.transport->poll(end));
    end.transport->flush();
    return pair.ends[0].messages + pair.ends[1].messages != seen;
  };
  // Each message arrives within ten seconds of the message before it.
  const int all = messages[0] + messages[1] + 2 * kMessages;
  for (seen = messages[0] + messages[1]; seen < all;
       seen = pair.ends[0].messages + pair.ends[1].messages) {
    REQUIRE(test::eventually(is_done));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(pair.ends[i].messages == messages[i] + kMessages);
    CHECK(pair.ends[i].heard == streams[1 - i].sent);
    CHECK(pair.ends[i].failures == 0);
  }
  CHECK(test::eventually([&] { return was_not_ready(before); }));
}

}  // namespace acp::verbs
