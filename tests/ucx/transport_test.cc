// Two UCX transports in one process, polled by hand. A target must notice the
// accesses that UCX emulates. The environment chooses UCX's TCP.
#include <array>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "transport/ucx/ucx_transport.h"

namespace acp::ucx {

namespace {

using transport::ProcId;

class Sink final : public transport::MessageSink {
 public:
  void on_message(ProcId /*from*/,
                  transport::Color /*color*/,
                  std::span<const std::byte> /*bytes*/) override {
    ++messages;
  }

  void on_posted_done(std::uint64_t /*token*/) override { ++done; }

  void on_peer_failed(ProcId /*peer*/, std::string_view why) override {
    ++failures;
    last_failure = why;
  }

  int messages = 0;
  int done = 0;
  int failures = 0;
  std::string last_failure;
};

/// Process 0 posts; process 1 owns a word and only polls.
class Pair {
 public:
  explicit Pair(Executor atomics_of_1 = Executor::kCpu) {
    for (ProcId me = 0; me < 2; ++me) {
      UcxOptions options;
      options.me = me;
      options.procs = 2;
      options.atomics = me == 1 ? atomics_of_1 : Executor::kCpu;
      options.card_of = [this](ProcId peer) {
        return transports[peer]->card();
      };
      auto opened = UcxTransport::open(std::move(options));
      REQUIRE(opened.ok());
      transports[me] = std::move(*opened);
    }
    transports[0]->on_registered({.key = 3,
                                  .state = 1,
                                  .address = as_bytes(local),
                                  .size = sizeof local});
    transports[1]->on_registered({.key = 5,
                                  .state = 1,
                                  .address = as_bytes(remote),
                                  .size = sizeof remote});
  }

  /// One pass of each process. True: process 1 has served process 0.
  bool pass() {
    for (ProcId me = 0; me < 2; ++me) {
      transports[me]->poll(sinks[me]);
      transports[me]->flush();
    }
    return transports[1]->has_served();
  }

  Status post_get(std::uint64_t token) {
    auto endpoint = transports[0]->endpoint(1, 0);
    REQUIRE(endpoint.ok());
    const transport::RemoteStep get{
        .opcode = protocol::Opcode::kGet,
        .key = 5,
        .state = 1,
        .offset = reinterpret_cast<std::uintptr_t>(&remote) %
                  transport::kOffsetAlignment,
        .local = as_bytes(local),
        .local_key = 3,
        .size = sizeof local};
    return (*endpoint)->post({&get, 1}, token);
  }

  static std::byte* as_bytes(std::uint64_t& word) {
    return reinterpret_cast<std::byte*>(&word);
  }

  std::uint64_t local = 0;
  std::uint64_t remote = 0;
  std::array<std::unique_ptr<UcxTransport>, 2> transports;
  std::array<Sink, 2> sinks;
};

}  // namespace

TEST_CASE("ucx: a target knows that it has served a get", "[ucx][transport]") {
  Pair pair;
  constexpr int kPasses = 1'000'000;
  int passes = 0;
  // The first posts connect, and ask for the window.
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
  Pair pair(Executor::kDevice);
  UcxTransport& mine = *pair.transports[0];
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
