// Views of ranks, made of looks and the roll-call.
#include "launcher/view_maker.h"

#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using protocol::BootstrapType;
using protocol::RankStage;
using protocol::RankView;
using protocol::WaitKind;
using std::chrono::milliseconds;

/// A job of two ranks on two hosts.
struct Job {
  Job() {
    HostRanks a;
    a.name = "a";
    a.is_local = true;
    a.ranks.append(0);
    HostRanks b;
    b.number = 1;
    b.name = "b";
    b.ranks.append(1);
    hosts = {a, b};
    rank_hosts.emplace(hosts);
    maker.emplace("./program 1", 2, hosts, *rank_hosts, now);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      looks[rank].launch_rank = rank;
      looks[rank].rank = rank;
      rollcall.set_pid(rank, 100 + rank);
    }
  }

  /// Brings all ranks through acp_init.
  void start() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      rollcall.on_message(rank, {BootstrapType::kHello, 100 + rank, {}});
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      rollcall.on_message(rank,
                          {BootstrapType::kArrive,
                           static_cast<std::uint64_t>(protocol::Phase::kInit),
                           {}});
    }
    REQUIRE(rollcall.state(0) == RankState::kRunning);
  }

  RankView rank(std::uint32_t number) {
    return maker->ranks(looks, rollcall, now).ranks.at(number);
  }

  void wait_in(WaitKind kind, std::uint64_t waits) {
    looks[0].wait_kind = static_cast<std::uint32_t>(kind);
    looks[0].waits = waits;
  }

  ViewMaker::Clock::time_point now{milliseconds(1'000'000)};
  std::vector<HostRanks> hosts;
  std::optional<RankHosts> rank_hosts;
  Rollcall rollcall{2};
  std::vector<RankLook> looks = std::vector<RankLook>(2);
  std::optional<ViewMaker> maker;
};

}  // namespace

TEST_CASE("view maker: the job and its hosts", "[launcher][view]") {
  Job job;
  job.now += milliseconds(1500);
  const auto view = job.maker->ranks(job.looks, job.rollcall, job.now);
  CHECK(view.program == "./program 1");
  CHECK(view.procs == 2);
  CHECK(view.age_ms == 1500);
  CHECK(view.hosts == std::vector<std::string>{"a", "b"});
  CHECK(view.ranks.at(1).host == 1);
  CHECK(view.ranks.at(1).pid == 101);
  CHECK(job.maker->job(job.now).ranks.empty());
}

TEST_CASE("view maker: the roll-call tells how far a rank is",
          "[launcher][view]") {
  Job job;
  CHECK(job.rank(0).stage == RankStage::kStarting);
  job.rollcall.on_message(0, {BootstrapType::kHello, 100, {}});
  CHECK(job.rank(0).stage == RankStage::kRunning);
  CHECK(job.rank(0).call == "acp_init");
  job.rollcall.on_exit(0, 0);
  CHECK(job.rank(0).stage == RankStage::kEnded);
  CHECK(job.rank(0).call.empty());
}

TEST_CASE("view maker: the wait is named with call, peer and core",
          "[launcher][view]") {
  Job job;
  job.start();
  CHECK(job.rank(0).call.empty());
  job.wait_in(WaitKind::kSync, 1);
  job.looks[0].process.core = 3;
  CHECK(job.rank(0).call == "acp_sync");
  CHECK(job.rank(0).core == 3);
  job.looks[0].wait_name = "acp_wait_ch (receive) for rank 1";
  CHECK(job.rank(0).call == "acp_wait_ch (receive)");
  CHECK(job.rank(0).peer == 1);
}

TEST_CASE("view maker: a wait is as old as its first look",
          "[launcher][view]") {
  Job job;
  job.start();
  job.wait_in(WaitKind::kSync, 1);
  CHECK(job.rank(0).waited_ms == 0);
  job.now += milliseconds(300);
  CHECK(job.rank(0).waited_ms == 300);
  // It waits again, and the same call is another wait.
  job.looks[0].waits = 3;
  CHECK(job.rank(0).waited_ms == 0);
  job.wait_in(WaitKind::kNothing, 4);
  job.now += milliseconds(300);
  CHECK(job.rank(0).waited_ms == 0);
}

TEST_CASE("view maker: a rank whose host does not answer was not seen",
          "[launcher][view]") {
  Job job;
  job.start();
  job.looks.resize(1);
  CHECK(job.rank(0).was_seen);
  CHECK_FALSE(job.rank(1).was_seen);
}

}  // namespace acp::launcher
