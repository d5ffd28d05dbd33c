// An engine with a fake endpoint in the place of its transports, for tests of
// what the engine asks of its surroundings.
#pragma once

#include <functional>
#include <utility>

#include <catch2/catch.hpp>

#include "gma/engine.h"
#include "gmm/key_table.h"
#include "support/fake_endpoint.h"
#include "support/host_memory.h"

namespace acp::gma {

/// Rank 0 of two, on hosts of their own; the test sets the arrivals that each
/// pass takes from the transport.
class EngineUnderTest final : private Endpoints,
                              private Transports,
                              private WaitHost {
 public:
  /// Returns what the engine says of the pass.
  Arrivals pass(Arrivals arrivals) {
    arrivals_ = arrivals;
    return engine.progress();
  }

  void issue_signal(Departure departure = Departure::kNow) {
    const Step signal = signal_to_peer();
    REQUIRE(engine.chain({&signal, 1}, kHandleNull, departure).ok());
  }

  /// Starts a signal like a barrier's.
  void start_internal_signal() {
    const Step signal = signal_to_peer();
    engine.run_locked([&] { engine.start_internal(signal); });
  }

  int flushes() const noexcept { return flushes_; }

  int wakes_for_deadline() const noexcept { return wakes_for_deadline_; }

  /// How often a caller that sleeps in epoll would have been woken.
  int wakes() const noexcept { return wakes_; }

  /// How many passes callers have made.
  int caller_passes() const noexcept { return caller_passes_; }

  /// The next pass runs `arrive` when it polls, under the engine's mutex.
  void arrive_at_next_pass(std::function<void()> arrive) {
    arrive_ = std::move(arrive);
  }

  /// Makes that pass.
  void pass_with(std::function<void()> arrive) {
    arrive_at_next_pass(std::move(arrive));
    engine.progress();
  }

  test::FakeEndpoint& endpoint() noexcept { return endpoint_; }

  /// The key table of this rank.
  gmm::KeyTable& keys() noexcept { return keys_; }

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
    found.endpoint = &endpoint_;
    found.max_message = 1024;
    found.max_posted = max_posted;
    found.orders_posts = orders_posts;
    return found;
  }

  Arrivals poll() override {
    if (const auto arrive = std::exchange(arrive_, nullptr)) {
      arrive();
      return Arrivals::kSome;
    }
    return arrivals_;
  }

  void flush() override { ++flushes_; }

  void flush_idle() override {}

  void wake_for_deadline() override { ++wakes_for_deadline_; }

  bool make_progress() override {
    ++caller_passes_;
    return engine.progress() != Arrivals::kNone;
  }

  Status health() override { return Status::kOk; }

  void sleep(const std::function<bool()>&, Duration) override {}

  void enter_wait(protocol::WaitKind, std::uint32_t) override {}

  void leave_wait() override {}

  void wake_callers() noexcept override { ++wakes_; }

  const WaitPolicy& policy() const noexcept override { return policy_; }

  test::HostMemory host_{2, 1};
  gmm::KeyTable keys_{host_.segment(), 0};
  test::CountingWaker waker_;
  test::FakeEndpoint endpoint_;
  WaitPolicy policy_;
  Arrivals arrivals_ = Arrivals::kNone;
  int flushes_ = 0;
  int wakes_for_deadline_ = 0;
  int wakes_ = 0;
  int caller_passes_ = 0;
  std::function<void()> arrive_;

 public:
  std::size_t max_posted = 0;
  bool orders_posts = false;
  gmm::AddressSpace space{host_.segment(), 0, 0, 1, gmm::Reach::kHost};
  Engine engine{space, *this, waker_, *this, *this};
};

}  // namespace acp::gma
