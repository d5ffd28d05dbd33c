// A rank that sleeps, and its wake-ups, under all schedules: the doorbell,
// the role of the poller, and the states of the progress thread. The invariants
// are in gmm/doorbell.h, runtime/progress_loop.h and docs/engine.md.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "agent/agent.h"
#include "gma/engine.h"
#include "gmm/doorbell.h"
#include "gmm/key_table.h"
#include "kernels/kernel_memory.h"
#include "kernels/program.h"
#include "runtime/progress.h"
#include "transport/shm/shm_transport.h"

namespace kernels {

namespace {

using acp::Duration;
using acp::Result;
using acp::Status;
using acp::TimePoint;
namespace gma = acp::gma;
namespace gmm = acp::gmm;
namespace runtime = acp::runtime;
namespace transport = acp::transport;

constexpr gma::WaitPolicy kSleeps{Duration(0), false};

/// The command ring of the rank, as the product's transport has it. Messages
/// are counted and go no further.
class Ring final : public transport::Transport, public transport::MessageSink {
 public:
  explicit Ring(acp::shm::ShmTransport& shm) : shm_(shm) {}

  std::string_view name() const noexcept override { return "ring"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return shm_.capabilities();
  }

  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override {
    return shm_.endpoint(peer, color);
  }

  std::size_t poll(transport::MessageSink& /*sink*/) override {
    return shm_.poll(*this);
  }

  void on_message(transport::ProcId,
                  transport::Color,
                  std::span<const std::byte>) override {
    received.fetch_add(1, std::memory_order_seq_cst);
  }

  void on_peer_failed(transport::ProcId, std::string_view) override {}

  void flush() override {}

  TimePoint next_deadline() const noexcept override { return TimePoint::max(); }

  std::span<const int> descriptors() const noexcept override { return {}; }

  bool arm() override { return shm_.arm(); }

  void disarm() override {}

  std::atomic<int> received{0};

 private:
  acp::shm::ShmTransport& shm_;
};

/// Rank 0 of two on a host, with its engine and its progress thread.
class Rank {
 public:
  /// `has_net`: the ring stands for a network, so that a caller may sleep in
  /// epoll as the poller.
  explicit Rank(bool has_net)
      : segment_(new_segment(2)),
        doorbell_(acp::shm::DoorbellSocket::open(segment_, 0).value()),
        peer_doorbell_(acp::shm::DoorbellSocket::open(segment_, 1).value()),
        shm_(segment_, *doorbell_, {}),
        peer_(segment_, *peer_doorbell_, {.my_proc = 1, .my_slot = 1}) {
    auto made = std::make_unique<Ring>(shm_);
    ring = made.get();
    if (has_net) {
      transports_.set_net_transport(std::move(made));
    } else {
      transports_.set_host_transport(std::move(made));
    }
    progress.emplace(segment_, 0, *doorbell_, waits_, kSleeps);
    engine.emplace(space_, transports_, *doorbell_, transports_, *progress);
    agent_.emplace(engine->space(), *doorbell_, transports_);
    transports_.attach(
        *engine, *agent_,
        [this](TimePoint deadline) { progress->rouse_before(deadline); },
        [](std::string_view) {});
    progress->attach(*engine, transports_);
  }

  /// Rank 1 signals. It has made a seq_cst store.
  void signal() { gmm::ring_signal(segment_.slice_header(0), *peer_doorbell_); }

  void send_message() {
    const std::uint64_t text = 1;
    const std::array<std::span<const std::byte>, 1> parts = {
        std::as_bytes(std::span(&text, 1))};
    expect(peer_.endpoint(0, 0).value()->send(
               parts, transport::Ordering::kFree) == Status::kOk,
           "the ring has room");
  }

  /// The condition of waits holds now, by a seq_cst store of this process.
  void complete() {
    gmm::wake_waiters(segment_.slice_header(0));
    progress->wake_callers();
  }

  /// A wait whose sleeps no limit ends.
  template <typename Condition>
  void wait(Condition condition) {
    gma::WaitPurpose purpose;
    purpose.kind = acp::protocol::WaitKind::kWord;
    purpose.look_again = std::chrono::hours(1);
    expect(gma::wait_until(*progress, purpose, TimePoint::max(), condition) ==
               Status::kOk,
           "the wait of a job that is well ends");
  }

 private:
  const acp::protocol::HostSegment& segment_;
  runtime::WaitRecord waits_{segment_.record(0)};
  std::unique_ptr<acp::shm::DoorbellSocket> doorbell_;
  std::unique_ptr<acp::shm::DoorbellSocket> peer_doorbell_;
  acp::shm::ShmTransport shm_;
  acp::shm::ShmTransport peer_;
  gmm::KeyTable keys_{segment_, 0};
  gmm::AddressSpace space_{segment_, 0, 0, 1, gmm::Reach::kHost};
  runtime::TransportSet transports_{segment_};
  std::optional<acp::agent::Agent> agent_;

 public:
  Ring* ring = nullptr;
  std::optional<gma::Engine> engine;
  std::optional<runtime::Progress> progress;
};

/// Two threads sleep on the doorbell, or one. A third thread wakes them.
class Doorbell : public Program {
 public:
  enum class Waker { kSignal, kCompletion };

  Doorbell(std::size_t sleepers, Waker waker)
      : rank_(false), sleepers_(sleepers), waker_(waker) {
    name_memory(&flag_, 4, "flag");
  }

  std::size_t threads() const override { return sleepers_ + 1; }

  void run(std::size_t thread) override {
    if (thread < sleepers_) {
      rank_.wait([this] { return flag_.load(std::memory_order_acquire) != 0; });
      return;
    }
    flag_.store(1, std::memory_order_seq_cst);
    waker_ == Waker::kSignal ? rank_.signal() : rank_.complete();
  }

 private:
  Rank rank_;
  const std::size_t sleepers_;
  const Waker waker_;
  std::atomic<std::uint32_t> flag_{0};
};

/// Thread 0 is the progress thread. Others give it work, wait until the work is
/// done, and stop it. It must not sleep over the work.
class ThreadWorks : public Program {
 public:
  enum class Work {
    kSignal,   ///< A peer signals, and a progress step takes the signal.
    kMessage,  ///< A peer sends a message.
    kHurry,    ///< The program has work for its step.
    kNewStep,  ///< The program adds a step that has work.
    kNothing   ///< The thread is only stopped.
  };

  explicit ThreadWorks(Work work) : rank_(true), work_(work) {
    if (work != Work::kNewStep && work != Work::kMessage) {
      (void)rank_.progress->add_step(&take_work, this);
    }
    expect(rank_.progress->start() == Status::kOk, "the thread starts");
    name_memory(&has_work_, 1, "work");
    name_memory(&done_, 4, "done");
  }

  std::size_t threads() const override { return 2; }

  void run(std::size_t thread) override {
    if (thread == 0) {
      run_started_thread();
      return;
    }
    give();
    while (work_ != Work::kNothing && !is_done()) {
    }
    rank_.progress->stop();
  }

 private:
  static int take_work(void* argument) {
    auto& self = *static_cast<ThreadWorks*>(argument);
    if (!self.has_work_.exchange(false, std::memory_order_seq_cst)) {
      return 0;
    }
    self.done_.store(1, std::memory_order_seq_cst);
    return 1;
  }

  void give() {
    if (work_ == Work::kMessage) {
      rank_.send_message();
      return;
    }
    has_work_.store(true, std::memory_order_seq_cst);
    switch (work_) {
      case Work::kSignal: rank_.signal(); break;
      case Work::kHurry: rank_.progress->hurry_steps(); break;
      case Work::kNewStep:
        (void)rank_.progress->add_step(&take_work, this);
        break;
      default: break;
    }
  }

  bool is_done() const {
    return work_ == Work::kMessage
               ? rank_.ring->received.load(std::memory_order_acquire) != 0
               : done_.load(std::memory_order_acquire) != 0;
  }

  Rank rank_;
  const Work work_;
  std::atomic<bool> has_work_{false};
  std::atomic<std::uint32_t> done_{0};
};

/// Thread 0 is the progress thread, and a caller waits beside it, which takes
/// the role of the poller. A third thread ends the wait.
class CallerBeside : public Program {
 public:
  enum class End {
    kSignal,
    kMessage,
    kCompletion,
    kLeaves  ///< By a signal. Then a message comes for the progress thread.
  };

  explicit CallerBeside(End end) : rank_(true), end_(end) {
    expect(rank_.progress->start() == Status::kOk, "the thread starts");
    name_memory(&flag_, 4, "flag");
  }

  std::size_t threads() const override { return 3; }

  void run(std::size_t thread) override {
    switch (thread) {
      case 0: run_started_thread(); break;
      case 1:
        rank_.wait([this] { return is_over(); });
        if (end_ == End::kLeaves) {
          rank_.send_message();
          while (!has_message()) {
          }
        }
        rank_.progress->stop();
        break;
      default: end_wait(); break;
    }
  }

 private:
  bool has_message() const {
    return rank_.ring->received.load(std::memory_order_acquire) != 0;
  }

  bool is_over() const {
    return end_ == End::kMessage ? has_message()
                                 : flag_.load(std::memory_order_acquire) != 0;
  }

  void end_wait() {
    if (end_ == End::kMessage) {
      rank_.send_message();
      return;
    }
    flag_.store(1, std::memory_order_seq_cst);
    end_ == End::kCompletion ? rank_.complete() : rank_.signal();
  }

  Rank rank_;
  const End end_;
  std::atomic<std::uint32_t> flag_{0};
};

}  // namespace

std::vector<Case> all_cases() {
  using Waker = Doorbell::Waker;
  using Work = ThreadWorks::Work;
  using End = CallerBeside::End;
  return {
      make_case<Doorbell>("doorbell.signal", 3, 1U, Waker::kSignal),
      make_case<Doorbell>("doorbell.completion", 3, 1U, Waker::kCompletion),
      make_case<Doorbell>("doorbell.two_sleepers", 2, 2U, Waker::kSignal),
      make_case<ThreadWorks>("thread.stop", 2, Work::kNothing),
      make_case<ThreadWorks>("thread.signal", 2, Work::kSignal),
      make_case<ThreadWorks>("thread.message", 2, Work::kMessage),
      make_case<ThreadWorks>("thread.hurry", 2, Work::kHurry),
      make_case<ThreadWorks>("thread.new_step", 2, Work::kNewStep),
      make_case<CallerBeside>("caller.signal", 1, End::kSignal),
      make_case<CallerBeside>("caller.message", 1, End::kMessage),
      make_case<CallerBeside>("caller.completion", 1, End::kCompletion),
      make_case<CallerBeside>("caller.leaves", 1, End::kLeaves),
  };
}

}  // namespace kernels
