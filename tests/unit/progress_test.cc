// Progress without an engine: the state that it publishes, and the threads that
// it wakes.
#include "runtime/progress.h"

#include <poll.h>

#include <thread>

#include <catch2/catch.hpp>

#include "support/host_memory.h"

namespace acp::runtime {

namespace {

/// One rank, not attached to an engine.
struct LoneRank {
  LoneRank() {
    auto opened = shm::DoorbellSocket::open(host.segment(), 0);
    REQUIRE(opened.ok());
    doorbell = std::move(*opened);
    progress.emplace(host.segment(), 0, *doorbell, waits, gma::WaitPolicy{});
  }

  protocol::SliceHeader& slice() const {
    return host.segment().slice_header(0);
  }

  bool has_rung() const {
    pollfd entry{doorbell->descriptor(), POLLIN, 0};
    const bool has = ::poll(&entry, 1, 0) == 1;
    doorbell->drain();
    return has;
  }

  test::HostMemory host{1};
  WaitRecord waits{host.segment().record(0)};
  std::unique_ptr<shm::DoorbellSocket> doorbell;
  std::optional<Progress> progress;
};

int do_nothing(void*) {
  return 0;
}

}  // namespace

TEST_CASE("progress: one thread's wait ends, the other's stays published",
          "[runtime][progress]") {
  LoneRank rank;
  const auto& kind = rank.host.segment().record(0).wait_kind;
  rank.progress->enter_wait(protocol::WaitKind::kWord, 3);
  std::thread([&rank] {
    rank.progress->enter_wait(protocol::WaitKind::kComplete, 0);
    rank.progress->leave_wait();
  }).join();
  CHECK(kind == static_cast<std::uint32_t>(protocol::WaitKind::kWord));
  CHECK(rank.host.segment().record(0).wait_peer == 3);
  rank.progress->leave_wait();
  CHECK(kind == static_cast<std::uint32_t>(protocol::WaitKind::kNothing));
}

TEST_CASE("progress: a step that is added wakes who sleeps in epoll",
          "[runtime][progress][wake]") {
  LoneRank rank;
  REQUIRE(rank.progress->add_step(&do_nothing, nullptr) == Status::kOk);
  CHECK_FALSE(rank.has_rung());
  rank.slice().asleep = protocol::kThreadAsleep;
  CHECK(rank.progress->add_step(&do_nothing, nullptr) ==
        Status::kInvalidArgument);
  CHECK_FALSE(rank.has_rung());
  REQUIRE(rank.progress->add_step(&do_nothing, &rank) == Status::kOk);
  CHECK(rank.has_rung());
  CHECK(rank.progress->remove_step(&do_nothing, &rank) == Status::kOk);
  CHECK_FALSE(rank.has_rung());
  rank.slice().asleep = 0;
}

TEST_CASE("progress: completions wake a caller that sleeps in epoll",
          "[runtime][progress][wake]") {
  LoneRank rank;
  rank.progress->wake_callers();
  CHECK_FALSE(rank.has_rung());
  // The progress thread has no use for them.
  rank.slice().asleep = protocol::kThreadAsleep | protocol::kThreadWantsSignals;
  rank.progress->wake_callers();
  CHECK_FALSE(rank.has_rung());
  rank.slice().asleep = protocol::kThreadAsleep |
                        protocol::kThreadWantsSignals |
                        protocol::kWantsCompletions;
  rank.progress->wake_callers();
  CHECK(rank.has_rung());
  rank.slice().asleep = 0;
}

TEST_CASE("progress: steps in a hurry wake who sleeps in epoll, once",
          "[runtime][progress][wake]") {
  LoneRank awake;
  awake.progress->hurry_steps();
  CHECK_FALSE(awake.has_rung());
  LoneRank rank;
  rank.slice().asleep = protocol::kThreadAsleep;
  rank.progress->hurry_steps();
  CHECK(rank.has_rung());
  // The steps have not run since.
  rank.progress->hurry_steps();
  CHECK_FALSE(rank.has_rung());
  rank.slice().asleep = 0;
}

}  // namespace acp::runtime
