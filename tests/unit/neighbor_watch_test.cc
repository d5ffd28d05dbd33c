// Tests the heartbeats by which the ranks of a host notice a stopped or stuck
// one, with processes that are stopped, traced and at work.
#include "runtime/neighbor_watch.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "support/host_memory.h"

namespace acp::runtime {

namespace {

using std::chrono::seconds;

constexpr Duration kLimit = seconds(10);
constexpr TimePoint kStart{seconds(1000)};

/// A process that stops itself. Killed at the end.
class Child {
 public:
  enum class How { kStopped, kTraced, kAsleep };

  explicit Child(How how) : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      if (how == How::kTraced) {
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      }
      if (how != How::kAsleep) {
        ::raise(SIGSTOP);
      }
      for (;;) {
        ::pause();
      }
    }
    if (how != How::kAsleep) {
      int status = 0;
      REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
      REQUIRE(WIFSTOPPED(status));
    }
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_;
};

/// The ranks 4 to 6 of a job, on one host. Slot 2 watches slot 1, which has
/// begun, and slot 0 waits.
struct Host {
  explicit Host(std::uint32_t pid) {
    memory.segment().record(1).os_pid = pid;
    NeighborWatch(memory.segment(), 1, kLimit).begin();
    let_wait(protocol::WaitKind::kSync);
  }

  void let_wait(protocol::WaitKind kind) {
    memory.segment().record(0).wait_kind = static_cast<std::uint32_t>(kind);
  }

  /// Looks once a second for so long.
  std::optional<SilentRank> look_for(seconds time) {
    std::optional<SilentRank> lost;
    for (seconds end = passed + time; passed < end && !lost;) {
      passed += seconds(1);
      lost = watch.look(kStart + passed);
    }
    return lost;
  }

  test::HostMemory memory{8, 3, 4};
  NeighborWatch watch{memory.segment(), 2, kLimit};
  seconds passed{0};
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("silence meter: counts while a heartbeat does not move",
          "[runtime][silence]") {
  SilenceMeter meter;
  CHECK(meter.look(7, kStart) == Duration(0));
  CHECK(meter.look(7, kStart + seconds(1)) == seconds(1));
  CHECK(meter.look(7, kStart + seconds(2)) == seconds(2));
  CHECK(meter.look(8, kStart + seconds(3)) == Duration(0));
  CHECK(meter.look(8, kStart + seconds(4)) == seconds(1));
  meter.forget();
  CHECK(meter.look(8, kStart + seconds(5)) == seconds(1));
}

TEST_CASE("silence meter: a rank that does not beat is not silent",
          "[runtime][silence]") {
  SilenceMeter meter;
  for (int i = 0; i < 100; ++i) {
    CHECK(meter.look(0, kStart + seconds(i)) == Duration(0));
  }
}

// A job that was stopped and goes on, or a machine that was suspended: the
// watcher may look before its neighbor's heart has beaten.
TEST_CASE(
    "silence meter: a time in which the watcher was stopped does not count",
    "[runtime][silence]") {
  SilenceMeter meter;
  (void)meter.look(7, kStart);
  CHECK(meter.look(7, kStart + std::chrono::hours(9)) ==
        SilenceMeter::kLongestLook);
  CHECK(meter.look(8, kStart + std::chrono::hours(9) + seconds(1)) ==
        Duration(0));
}

TEST_CASE("neighbor watch: a stopped rank is named, with its host and process",
          "[runtime][silence]") {
  const Child stopped(Child::How::kStopped);
  Host host(stopped.pid());
  CHECK_FALSE(host.look_for(seconds(10)));
  const auto lost = host.look_for(seconds(3));
  REQUIRE(lost);
  CHECK(lost->proc == 5);
  INFO(lost->why);
  CHECK(contains(lost->why, "pid " + std::to_string(stopped.pid())));
  CHECK(contains(lost->why, "for 10.0 s"));
  CHECK(contains(lost->why, "state T"));
  CHECK(contains(lost->why, "ACP_UDP_SILENCE=0"));
}

TEST_CASE(
    "neighbor watch: a rank without a heartbeat and a running thread is stuck",
    "[runtime][silence]") {
  const Child asleep(Child::How::kAsleep);
  Host host(asleep.pid());
  const auto lost = host.look_for(seconds(120));
  REQUIRE(lost);
  INFO(lost->why);
  CHECK(contains(lost->why, "it is stuck"));
  CHECK(contains(lost->why, "gdb -p " + std::to_string(asleep.pid())));
}

TEST_CASE("neighbor watch: a rank whose threads run may wait for a processor",
          "[runtime][silence]") {
  Host host(static_cast<std::uint32_t>(::getpid()));  // This thread runs.
  CHECK_FALSE(host.look_for(seconds(59)));
  CHECK(host.look_for(seconds(3)));
}

TEST_CASE("neighbor watch: a rank that a debugger holds is waited for",
          "[runtime][silence]") {
  const Child traced(Child::How::kTraced);
  Host host(traced.pid());
  CHECK_FALSE(host.look_for(seconds(300)));
}

TEST_CASE("neighbor watch: a stopped rank that no rank waits for is left alone",
          "[runtime][silence]") {
  const Child stopped(Child::How::kStopped);
  Host host(stopped.pid());
  host.let_wait(
      GENERATE(protocol::WaitKind::kNothing, protocol::WaitKind::kInit));
  CHECK_FALSE(host.look_for(seconds(100)));
  host.let_wait(protocol::WaitKind::kFinalize);
  CHECK(host.look_for(seconds(2)));
}

TEST_CASE("neighbor watch: a heart that beats keeps a rank alive",
          "[runtime][silence]") {
  const Child stopped(Child::How::kStopped);
  Host host(stopped.pid());
  NeighborWatch rank(host.memory.segment(), 1, kLimit);
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(host.look_for(seconds(9)));
    rank.beat();
  }
  rank.end();
  CHECK_FALSE(host.look_for(seconds(100)));
}

TEST_CASE("neighbor watch: the first rank of a host watches the last one",
          "[runtime][silence]") {
  const Child stopped(Child::How::kStopped);
  Host host(stopped.pid());
  host.memory.segment().record(2).os_pid = stopped.pid();
  NeighborWatch(host.memory.segment(), 2, kLimit).begin();
  NeighborWatch first(host.memory.segment(), 0, kLimit);
  std::optional<SilentRank> lost;
  for (int i = 0; i < 20 && !lost; ++i) {
    lost = first.look(kStart + seconds(i));
  }
  REQUIRE(lost);
  CHECK(lost->proc == 6);
}

}  // namespace acp::runtime
