// Two UCX transports in one process, polled by hand. A target must notice the
// accesses that UCX emulates. The environment chooses UCX's TCP.
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "transport/ucx/packet.h"
#include "ucx/pair.h"

namespace acp::ucx {

namespace {

/// When a chain is done, it sends messages to its own process until a packet
/// has left.
class SelfSender final : public transport::MessageSink {
 public:
  SelfSender(UcxTransport& transport, transport::Endpoint& to_itself)
      : transport_(transport), to_itself_(to_itself) {}

  void on_message(transport::ProcId /*from*/,
                  transport::Color /*color*/,
                  std::span<const std::byte> /*bytes*/) override {
    ++messages;
    while_busy += is_busy_ ? 1 : 0;
  }

  void on_posted_done(std::uint64_t /*token*/) override {
    is_busy_ = true;
    const std::uint64_t before = transport_.counters().sent;
    const std::vector<std::byte> bytes(kMaxMessage);
    const std::span<const std::byte> part = bytes;
    while (transport_.counters().sent == before &&
           to_itself_.send({&part, 1}, transport::Ordering::kFree) ==
               Status::kOk) {
      ++sent;
    }
    is_busy_ = false;
  }

  void on_peer_failed(transport::ProcId /*peer*/,
                      std::string_view why) override {
    FAIL(why);
  }

  int sent = 0;
  int messages = 0;
  int while_busy = 0;  ///< Messages that came within on_posted_done().

 private:
  UcxTransport& transport_;
  transport::Endpoint& to_itself_;
  bool is_busy_ = false;
};

}  // namespace

TEST_CASE("ucx: a message to this process itself waits for the next poll",
          "[ucx][transport]") {
  Pair pair({.atomics_of_1 = Executor::kDevice});
  UcxTransport& mine = *pair.transports[1];
  const auto to_itself = mine.endpoint(1, 0);
  REQUIRE(to_itself.ok());
  SelfSender sink(mine, **to_itself);
  const auto pass = [&] {
    mine.poll(sink);
    mine.flush();
  };
  transport::RemoteStep add = pair.step(protocol::Opcode::kAdd);
  add.local_memory = nullptr;
  add.operand = 1;
  add.width = 8;
  REQUIRE(poll_until(pass, [&] {
    return (*to_itself)->post({&add, 1}, 1) == Status::kOk;
  }));
  CHECK(poll_until(
      pass, [&] { return sink.sent != 0 && sink.messages == sink.sent; }));
  CHECK(mine.counters().sent > 1);
  CHECK(sink.while_busy == 0);
}

TEST_CASE("ucx: a target knows that it has served a get", "[ucx][transport]") {
  Pair pair;
  constexpr int kPasses = 1'000'000;
  int passes = 0;
  // The first posts connect, and ask for the registration.
  while (pair.post_get(0) != Status::kOk && ++passes < kPasses) {
    pair.pass();
  }
  while (pair.sinks[0].done == 0 && ++passes < kPasses) {
    pair.pass();
  }
  REQUIRE(pair.sinks[0].done == 1);
  for (std::uint64_t value = 1; value <= 100; ++value) {
    pair.remote = value;
    REQUIRE(pair.post_get(value) == Status::kOk);
    const int done = pair.sinks[0].done;
    bool has_served = false;
    while (pair.sinks[0].done == done && ++passes < kPasses) {
      has_served |= pair.pass();
    }
    REQUIRE(pair.local == value);
    CHECK(has_served);
  }
  CHECK(pair.sinks[1].messages == 0);
  CHECK(pair.sinks[0].failures + pair.sinks[1].failures == 0);
}

TEST_CASE("ucx: a peer with other settings ends the job at the next poll",
          "[ucx][transport]") {
  Pair pair({.atomics_of_1 = Executor::kDevice});
  UcxTransport& mine = *pair.transports[0];
  CHECK(mine.endpoint(2, 0).status() == Status::kBadRank);
  CHECK(mine.endpoint(0, 0).status() == Status::kUnsupported);
  CHECK(mine.endpoint(1, 0).status() == Status::kBadOption);
  CHECK(pair.sinks[0].failures == 0);
  CHECK(mine.next_deadline() == TimePoint{});
  CHECK_FALSE(mine.arm());
  mine.poll(pair.sinks[0]);
  mine.poll(pair.sinks[0]);
  CHECK(pair.sinks[0].failures == 1);
  CHECK(pair.sinks[0].last_failure.find("other settings of ucx") !=
        std::string::npos);
}

}  // namespace acp::ucx
