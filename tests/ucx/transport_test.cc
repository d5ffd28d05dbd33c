// Two UCX transports in one process, polled by hand. A target must notice the
// accesses that UCX emulates. The environment chooses UCX's TCP.
#include <array>
#include <memory>

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

  void on_peer_failed(ProcId peer, std::string_view why) override {
    FAIL("process " << peer << ": " << why);
  }

  int messages = 0;
  int done = 0;
};

/// Process 0 posts; process 1 owns a word and only polls.
class Pair {
 public:
  Pair() {
    for (ProcId me = 0; me < 2; ++me) {
      UcxOptions options;
      options.me = me;
      options.procs = 2;
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

  /// One pass of each process. Returns the result of process 1's poll.
  std::size_t pass() {
    transports[0]->poll(sinks[0]);
    transports[0]->flush();
    const std::size_t found = transports[1]->poll(sinks[1]);
    transports[1]->flush();
    return found;
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

TEST_CASE("ucx: a target that serves a get has found something",
          "[ucx][transport]") {
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
    std::size_t found = 0;
    while (pair.sinks[0].done == done && ++passes < kPasses) {
      found += pair.pass();
    }
    REQUIRE(pair.local == value);
    CHECK(found > 0);
  }
  CHECK(pair.sinks[1].messages == 0);
}

}  // namespace acp::ucx
