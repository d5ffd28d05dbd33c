// No wake-up is lost: the real progress thread and real callers, with an engine
// and a transport that never receives anything. Events happen inside of the
// hooks that a sleeper calls on its way to sleep, so their order is fixed. A
// thread that misses its wake-up here sleeps for ever, or to a limit that the
// test tells from a wake-up.
#include <array>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "acp/extension.h"
#include "gma/progress_step_scope.h"
#include "runtime/progress_states.h"
#include "unit/progress_world.h"

namespace acp::runtime {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using test::comes_true;

constexpr Duration kNever = minutes(10);

/// Whether the kernel has put a thread of this process to sleep.
bool is_blocked(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
}

}  // namespace

TEST_CASE("progress: a caller that finds a step's data in use wakes the thread",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  ProbeStep step(rank);
  step.on_test = [] {
    return ACPX_STEP_BUSY;
  };
  REQUIRE(step.add() == Status::kOk);
  rank.start();
  REQUIRE(step.is_slept_over());
  const int runs = step.runs_of_thread.load();
  CHECK_FALSE(rank.progress->make_progress());
  CHECK(step.runs_of_test.load() == 1);
  // The caller does not come back.
  CHECK(comes_true([&] { return step.runs_of_thread.load() > runs; }));
}

TEST_CASE("progress: a caller that finds the steps being run wakes the thread",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  ProbeStep first(rank);
  ProbeStep second(rank);
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_leave{false};
  second.on_test = [&] {
    is_inside.store(true);
    may_leave.wait(false);
    return 0;
  };
  REQUIRE(first.add() == Status::kOk);
  REQUIRE(second.add() == Status::kOk);
  rank.start();
  REQUIRE(second.is_slept_over());
  std::thread other([&] {
    is_of_test = true;
    rank.progress->make_progress();
  });
  const bool has_come = comes_true([&] { return is_inside.load(); });
  // The other caller is past the first step.
  first.has_work.store(true);
  rank.progress->make_progress();
  may_leave.store(true);
  may_leave.notify_one();
  other.join();
  CHECK(has_come);
  CHECK(comes_true([&] { return !first.has_work.load(); }));
}

TEST_CASE("progress: wanted steps run beside a caller that runs none",
          "[runtime][progress][wake]") {
  // A caller that waits for room makes passes without steps. A thread that does
  // not look at the wish naps for a whole kTick more. The step runs within the
  // rest of a nap otherwise, which is shorter in one round or another.
  constexpr int kRounds = 100;
  constexpr int kPhases = 20;
  constexpr int kNapsToTheLongest = 8;
  RankUnderTest rank;
  ProbeStep step(rank);
  REQUIRE(step.add() == Status::kOk);
  const gma::ProgressStepScope no_steps;
  rank.progress->enter_wait(protocol::WaitKind::kComplete, 1);
  rank.start();
  REQUIRE(comes_true(
      [&] { return rank.transport->polls.load() > kNapsToTheLongest; }));
  bool is_prompt = false;
  for (int round = 0; round < kRounds && !is_prompt; ++round) {
    const TimePoint start =
        SteadyClock().now() + round % kPhases * ProgressStates::kTick / kPhases;
    do {
      rank.progress->make_progress();
    } while (SteadyClock().now() < start);
    step.has_work.store(true);
    const TimePoint wish = SteadyClock().now();
    rank.progress->hurry_steps();
    REQUIRE(comes_true([&] { return !step.has_work.load(); }));
    const Duration time = step.worked_at.load() - wish;
    is_prompt = time >= Duration(0) && time < ProgressStates::kTick;
  }
  rank.progress->leave_wait();
  CHECK(is_prompt);
}

TEST_CASE("progress: the thread runs the steps after its mark",
          "[runtime][progress][wake]") {
  bool has_come = false;  // outlives the thread
  RankUnderTest rank;
  ProbeStep step(rank);
  // The waker has seen no mark, so it has woken no thread.
  rank.transport->on_arm = [&] {
    if (!std::exchange(has_come, true)) {
      step.has_work.store(true);
    }
  };
  REQUIRE(step.add() == Status::kOk);
  rank.start();
  REQUIRE(rank.is_asleep());
  CHECK(comes_true([&] { return !step.has_work.load(); }));
}

TEST_CASE("progress: the thread does not sleep past a step that was added",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  ProbeStep step(rank);
  // A step that comes during a pass finds no mark, so it wakes no thread. The
  // thread may have looked at the steps before that, and may have marked a
  // sleep without signals. So it makes a second pass.
  rank.transport->on_first_poll = [&] {
    (void)step.add();
  };
  rank.start();
  CHECK(comes_true([&] { return rank.transport->polls.load() >= 2; }));
}

TEST_CASE("progress: a caller runs the steps after its mark",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  ProbeStep step(rank);
  bool has_come = false;
  step.on_test = [&] {
    return std::exchange(has_come, false) ? 1 : 0;
  };
  REQUIRE(step.add() == Status::kOk);
  rank.start();
  const auto signal_comes = [&] {
    has_come = true;
    return false;
  };
  // The thread may run the steps just then, which the caller does not wait for.
  // Without a run of the steps a sleep takes its whole time.
  CHECK(comes_true([&] {
    rank.progress->sleep(signal_comes, milliseconds(100));
    return step.runs_of_test.load() == 1;
  }));
  CHECK_FALSE(has_come);
}

TEST_CASE("progress: a caller asleep in epoll asks for completions",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  rank.start();
  bool has_woken = false;
  const auto completion_comes = [&] {
    rank.progress->wake_callers();
    has_woken = rank.takes_wake_up();
    return true;
  };
  rank.progress->sleep(completion_comes, kNever);
  CHECK(has_woken);
}

TEST_CASE("progress: an earlier time-out wakes the thread",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  rank.start();
  REQUIRE(rank.is_asleep());
  const int polls = rank.transport->polls.load();
  // A message was sent, for example, that may have to be sent again.
  rank.engine->run_locked([&] {
    rank.transport->deadline = SteadyClock().now() + milliseconds(5);
  });
  CHECK(comes_true([&] { return rank.transport->polls.load() > polls; }));
}

TEST_CASE("progress: only a time-out before the end of a sleep ends it, once",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  rank.start();
  std::array<bool, 3> has_woken{};
  const auto deadlines_come = [&] {
    const TimePoint now = SteadyClock().now();
    rank.rouse_before(now + 2 * kNever);
    has_woken[0] = rank.takes_wake_up();
    rank.rouse_before(now + kNever / 2);
    has_woken[1] = rank.takes_wake_up();
    rank.rouse_before(now + kNever / 2);
    has_woken[2] = rank.takes_wake_up();
    return true;
  };
  rank.progress->sleep(deadlines_come, kNever);
  CHECK(has_woken == std::array{false, true, false});
}

// A step that waits must not take the role of the poller. The bits that its
// caller sets show that.
TEST_CASE("progress: a caller inside a step leaves epoll to the thread",
          "[runtime][progress][wake]") {
  RankUnderTest rank;
  ProbeStep step(rank);
  std::uint64_t bits = 0;
  step.on_test = [&] {
    const auto look = [&] {
      bits = rank.asleep_bits();
      return true;
    };
    rank.progress->sleep(look, kNever);
    return 0;
  };
  REQUIRE(step.add() == Status::kOk);
  rank.start();
  REQUIRE(step.is_slept_over());
  rank.progress->make_progress();
  REQUIRE(step.runs_of_test.load() == 1);
  CHECK((bits & protocol::kWantsCompletions) == 0);
  CHECK((bits & UINT32_MAX) == protocol::kWaiterOne);
}

TEST_CASE("progress: the end of a wait ends the thread's stay beside it",
          "[runtime][progress][wake]") {
  // A busy machine may delay the thread in one round or another. A thread that
  // nothing wakes is late in each, by nearly kLongestRest.
  constexpr int kRounds = 20;
  RankUnderTest rank;
  rank.start();
  bool is_prompt = false;
  for (int round = 0; round < kRounds && !is_prompt; ++round) {
    REQUIRE(rank.is_asleep());
    const int polls = rank.transport->polls.load();
    bool is_beside = false;
    // The caller has the role. After one more pass the thread finds nothing to
    // do but to stay beside it.
    const auto wait_for_thread = [&] {
      is_beside = comes_true([&] {
        return rank.transport->polls.load() > polls &&
               is_blocked(rank.transport->poller.load());
      });
      return true;
    };
    rank.progress->enter_wait(protocol::WaitKind::kWord, 1);
    rank.progress->sleep(wait_for_thread, kNever);
    REQUIRE(is_beside);
    const int before = rank.transport->polls.load();
    const TimePoint start = SteadyClock().now();
    rank.progress->leave_wait();
    REQUIRE(comes_true([&] { return rank.transport->polls.load() > before; }));
    is_prompt = SteadyClock().now() - start < ProgressStates::kLongestRest / 2;
  }
  CHECK(is_prompt);
}

// The thread has nothing to do but to beat. A thread that holds the engine's
// mutex for ever makes the rank stuck.
TEST_CASE("progress: the heart beats while the engine's mutex can be had",
          "[runtime][progress][silence]") {
  RankUnderTest rank(2);
  rank.progress->watch_neighbor(kNever);
  const std::uint32_t begun = rank.heartbeat();
  CHECK(begun != 0);
  rank.start();
  CHECK(comes_true([&] { return rank.heartbeat() > begun + 2; }));
  rank.engine->guarded([&] {
    const std::uint32_t held = rank.heartbeat();
    const TimePoint end = SteadyClock().now() + milliseconds(2500);
    CHECK(comes_true([&] { return SteadyClock().now() > end; }));
    CHECK(rank.heartbeat() <= held + 1);
  });
  const std::uint32_t freed = rank.heartbeat();
  CHECK(comes_true([&] { return rank.heartbeat() > freed; }));
  rank.progress->stop();
  CHECK(rank.heartbeat() == 0);
}

TEST_CASE("progress: a rank alone on its host does not beat",
          "[runtime][progress][silence]") {
  RankUnderTest rank;
  rank.progress->watch_neighbor(kNever);
  rank.start();
  REQUIRE(rank.is_asleep());
  CHECK(rank.heartbeat() == 0);
}

}  // namespace acp::runtime
