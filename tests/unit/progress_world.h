// The real progress thread of a rank, with an engine and with a transport that
// never receives anything. For tests of what wakes the thread and callers.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <catch2/catch.hpp>

#include "gmm/key_table.h"
#include "runtime/progress.h"
#include "support/host_memory.h"
#include "support/verdict.h"

namespace acp::runtime {

/// Receives nothing and reaches no peer. Its time-out is the test's.
class SilentTransport final : public transport::Transport {
 public:
  std::string_view name() const noexcept override { return "silent"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  Result<transport::Endpoint*> endpoint(transport::ProcId,
                                        transport::Color) override {
    return Status::kBadRank;
  }

  std::size_t poll(transport::MessageSink&) override {
    deadline = TimePoint::max();  // the time-out is taken care of
    poller.store(::gettid());
    if (polls.fetch_add(1) == 0 && on_first_poll) {
      on_first_poll();
    }
    return 0;
  }

  void flush() override {}

  TimePoint next_deadline() const noexcept override { return deadline; }

  std::span<const int> descriptors() const noexcept override {
    return descriptors_;
  }

  bool arm() override {
    is_armed = true;
    if (on_arm) {
      on_arm();
    }
    return true;
  }

  void disarm() override { is_armed = false; }

  /// Guarded by the engine's mutex, as the transport is.
  TimePoint deadline = TimePoint::max();
  bool is_armed = false;
  /// Hooks, written before the thread starts. on_arm runs in the last look of a
  /// sleeper, after its mark.
  std::function<void()> on_first_poll;
  std::function<void()> on_arm;
  std::atomic<int> polls{0};
  std::atomic<int> poller{
      0};  ///< The kernel's number of the last poll's thread.

 private:
  transport::Capabilities capabilities_{.max_message = 1024};
  UniqueFd silence_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::array<int, 1> descriptors_{silence_.get()};
};

/// Rank 0 of two, on a host of its own, or on one with the other.
class RankUnderTest {
 public:
  explicit RankUnderTest(std::uint32_t ranks_here = 1) : host_{2, ranks_here} {
    auto opened = shm::DoorbellSocket::open(host_.segment(), 0);
    REQUIRE(opened.ok());
    doorbell_ = std::move(*opened);
    auto made = std::make_unique<SilentTransport>();
    transport = made.get();
    transports_.set_net_transport(std::move(made));
    progress.emplace(host_.segment(), 0, *doorbell_, waits_, gma::WaitPolicy{});
    engine.emplace(space_, transports_, *doorbell_, transports_, *progress);
    agent_.emplace(engine->space(), *doorbell_, transports_);
    transports_.attach(
        *engine, *agent_,
        [this](TimePoint deadline) { progress->rouse_before(deadline); },
        [](std::string_view) {});
    progress->attach(*engine, transports_);
  }

  void start() { REQUIRE(progress->start() == Status::kOk); }

  std::uint64_t asleep_bits() const {
    return host_.segment().slice_header(0).asleep.load();
  }

  std::uint32_t heartbeat() const {
    return host_.segment().record(0).heartbeat.load();
  }

  /// Whether the sleeper in epoll has been woken. Takes the wake-up away, so
  /// only a thread in the role of the poller may ask.
  bool takes_wake_up() const {
    pollfd entry{doorbell_->descriptor(), POLLIN, 0};
    const bool has = ::poll(&entry, 1, 0) == 1;
    doorbell_->drain();
    return has;
  }

  /// Waits until a sleeper has published up to when it sleeps.
  bool is_asleep() {
    return test::comes_true([this] {
      bool is_armed = false;
      engine->guarded([&] { is_armed = transport->is_armed; });
      return is_armed;
    });
  }

  void rouse_before(TimePoint deadline) {
    engine->guarded([&] { progress->rouse_before(deadline); });
  }

 private:
  test::HostMemory host_;
  WaitRecord waits_{host_.segment().record(0)};
  std::unique_ptr<shm::DoorbellSocket> doorbell_;
  gmm::KeyTable keys_{host_.segment(), 0};
  gmm::AddressSpace space_{host_.segment(), 0, 0, 1, gmm::Reach::kHost};
  TransportSet transports_{host_.segment()};
  std::optional<agent::Agent> agent_;

 public:
  SilentTransport* transport = nullptr;
  std::optional<gma::Engine> engine;
  std::optional<Progress> progress;  ///< Ends first: its thread uses the rest.
};

/// This thread is a thread of the test, and not the progress thread.
inline thread_local bool is_of_test = false;

/// A progress step that tells the progress thread from the test's threads.
struct ProbeStep {
  explicit ProbeStep(RankUnderTest& on) : rank(on) { is_of_test = true; }

  static int run(void* argument) {
    auto& self = *static_cast<ProbeStep*>(argument);
    (is_of_test ? self.runs_of_test : self.runs_of_thread).fetch_add(1);
    if (is_of_test && self.on_test) {
      return self.on_test();
    }
    if (self.has_work.load()) {
      self.worked_at.store(SteadyClock().now());
    }
    const bool has_moved = self.has_work.exchange(false);
    if ((self.rank.asleep_bits() & protocol::kThreadAsleep) != 0 &&
        !has_moved) {
      self.has_found_nothing.store(true);
    }
    return has_moved ? 1 : 0;
  }

  ProbeStep(const ProbeStep&) = delete;
  ProbeStep& operator=(const ProbeStep&) = delete;

  ~ProbeStep() { (void)rank.progress->remove_step(&run, this); }

  Status add() { return rank.progress->add_step(&run, this); }

  /// Waits until the progress thread has run the step in its last look: it
  /// sleeps now, or does so without a further look. That run of the steps is
  /// over on return: remove_step() waits for it, and finds no such step.
  bool is_slept_over() const {
    return test::comes_true([this] { return has_found_nothing.load(); }) &&
           rank.progress->remove_step(&run, nullptr) ==
               Status::kInvalidArgument;
  }

  RankUnderTest& rank;
  /// The step in threads of the test. Written before the thread starts.
  std::function<int()> on_test;
  std::atomic<bool> has_work{false};
  std::atomic<TimePoint> worked_at{};
  std::atomic<bool> has_found_nothing{false};
  std::atomic<int> runs_of_thread{0};
  std::atomic<int> runs_of_test{0};
};

}  // namespace acp::runtime
