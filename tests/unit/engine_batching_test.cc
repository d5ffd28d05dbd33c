// Tests when a pass of progress leaves the reply to a signal to the next pass.
// docs/udp.md, "Batching".
#include <deque>

#include <catch2/catch.hpp>

#include "gma/engine.h"
#include "support/fake_endpoint.h"
#include "support/host_memory.h"

namespace acp::gma {

namespace {

/// Rank 0 of two, on hosts of their own; the test sets the arrivals that each
/// pass takes from the transport.
class EngineUnderTest final : private Endpoints,
                              private Transports,
                              private WaitHost {
 public:
  void pass(Arrivals arrivals) {
    arrivals_ = arrivals;
    engine.progress();
  }

  void issue_signal(Departure departure = Departure::kNow) {
    const Step signal = signal_to_peer();
    REQUIRE(engine.chain({&signal, 1}, kHandleNull, departure).ok());
  }

  /// Starts a signal like a barrier's.
  void start_internal_signal() {
    const Step signal = signal_to_peer();
    engine.run_locked([&] { engine.start_internal({&signal, 1}); });
  }

  int flushes() const noexcept { return flushes_; }

  int announcements() const noexcept { return announcements_; }

 private:
  Step signal_to_peer() const {
    Step signal;
    signal.opcode = protocol::Opcode::kAdd;
    signal.flags = protocol::kSignalFlag;
    signal.remote =
        space.codec().encode(1, 0, gmm::kStarterKey, 0, std::uint64_t{64});
    return signal;
  }

  Result<PeerEndpoint> endpoint_of(Rank, Color) override {
    PeerEndpoint found;
    found.endpoint = &wire_;
    found.max_message = 1024;
    return found;
  }

  Arrivals poll() override { return arrivals_; }

  void flush() override { ++flushes_; }

  void flush_idle() override {}

  void announce_deadline() override { ++announcements_; }

  bool make_progress() override { return engine.progress(); }

  Status health() override { return Status::kOk; }

  void sleep(const std::function<bool()>&, Duration) override {}

  void enter_wait(protocol::WaitKind, std::uint32_t) override {}

  void leave_wait() override {}

  const WaitPolicy& policy() const noexcept override { return policy_; }

  test::HostMemory host_{2, 1};
  test::CountingWaker waker_;
  test::FakeEndpoint wire_;
  WaitPolicy policy_;
  Arrivals arrivals_ = Arrivals::kNone;
  int flushes_ = 0;
  int announcements_ = 0;

 public:
  gmm::AddressSpace space{host_.segment(), 0, 0, 1, gmm::Reach::kHost};
  Engine engine{space, *this, waker_, *this, *this};
};

}  // namespace

TEST_CASE("engine: the pass after a signal sends what that one left",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.pass(Arrivals::kSignal);
  CHECK(rank.flushes() == 0);
  SECTION("when nothing comes") {
    rank.pass(Arrivals::kNone);
  }
  SECTION("when another signal comes") {
    rank.pass(Arrivals::kSignal);
  }
  CHECK(rank.flushes() == 1);
}

TEST_CASE("engine: a signal issued takes along what a pass left",
          "[gma][engine]") {
  // The peer is ahead: its next signal is there with the first pass after
  // each of ours, and its reply has to wait for ours again.
  EngineUnderTest rank;
  for (int exchange = 1; exchange < 5; ++exchange) {
    rank.pass(Arrivals::kSignal);
    CHECK(rank.flushes() == exchange - 1);
    rank.issue_signal();
    CHECK(rank.flushes() == exchange);
  }
}

TEST_CASE("engine: what is held wakes nobody until it is sent",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.issue_signal(Departure::kHeld);
  rank.issue_signal(Departure::kHeld);
  CHECK(rank.flushes() == 0);
  CHECK(rank.announcements() == 0);
  SECTION("by the caller") {
    rank.engine.send_kept();
  }
  SECTION("with what is issued next") {
    rank.issue_signal();
  }
  SECTION("by a pass") {
    rank.pass(Arrivals::kNone);
  }
  CHECK(rank.flushes() == 1);
  CHECK(rank.announcements() == 1);
}

TEST_CASE("engine: what may wait a while is announced", "[gma][engine]") {
  EngineUnderTest rank;
  rank.issue_signal(Departure::kLater);
  CHECK(rank.flushes() == 0);
  CHECK(rank.announcements() == 1);
}

TEST_CASE("engine: a pass that leaves something announces it",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.pass(Arrivals::kSignal);
  CHECK(rank.flushes() == 0);
  CHECK(rank.announcements() == 1);
}

TEST_CASE("engine: a signal of the runtime takes along what a pass left",
          "[gma][engine]") {
  // Each reply is held for the barrier's next signal, not every second one.
  EngineUnderTest rank;
  for (unsigned exchange = 1; exchange < 5; ++exchange) {
    rank.pass(Arrivals::kSignal);
    CHECK(rank.engine.holds() == exchange);
    rank.start_internal_signal();
    CHECK(rank.flushes() == static_cast<int>(exchange));
  }
}

}  // namespace acp::gma
