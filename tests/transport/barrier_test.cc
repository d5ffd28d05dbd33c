// acp_sync of ranks on several hosts: the leaders of the hosts meet over udp.
// Ranks are threads, so that sanitizers see both sides.
#include <atomic>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include "api/open_network.h"
#include "base/clock.h"
#include "support/thread_job.h"
#include "transport/network.h"

namespace acp::test {

namespace {

using runtime::Task;

/// Process p is on host p % hosts, so the groups have one to four ranks.
struct Plan {
  std::uint32_t ranks;
  std::uint32_t hosts;
};

constexpr Plan kPlans[] = {{2, 2}, {3, 2}, {7, 3}, {8, 2}, {5, 5}};

/// The rounds that each rank has come to, by its number at launch.
class Rounds {
 public:
  explicit Rounds(std::uint32_t ranks) : of_(ranks) {}

  /// Relaxed, since the barrier itself has to order these accesses.
  void come_to(std::uint32_t proc, std::uint64_t round) {
    of_[proc].store(round, std::memory_order_relaxed);
  }

  /// All ranks have come to the round, and none is two ahead.
  void check(std::uint64_t round) const {
    for (const auto& other : of_) {
      const std::uint64_t seen = other.load(std::memory_order_relaxed);
      RANK_CHECK(seen == round || seen == round + 1);
    }
  }

 private:
  std::vector<std::atomic<std::uint64_t>> of_;
};

/// Runs a job for each plan. `body` gets a rank's task and the rounds of all.
void over_plans(const std::function<void(Task&, Rounds&)>& body) {
  for (const Plan& plan : kPlans) {
    Rounds rounds(plan.ranks);
    run_thread_job(
        plan.ranks, {}, [&](Task& task) { body(task, rounds); }, {},
        plan.hosts);
  }
}

}  // namespace

TEST_CASE("acp_sync over hosts: nobody leaves before all have come",
          "[barrier]") {
  constexpr std::uint64_t kRounds = 500;
  over_plans([&](Task& task, Rounds& rounds) {
    const std::uint32_t me = task.rank();
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      rounds.come_to(me, round);
      RANK_CHECK(task.sync() == Status::kOk);
      rounds.check(round);
    }
  });
}

TEST_CASE("acp_sync over hosts: a call goes on where the last one timed out",
          "[barrier]") {
  constexpr std::uint64_t kRounds = 300;
  std::atomic<std::uint64_t> time_outs = 0;
  over_plans([&](Task& task, Rounds& rounds) {
    const std::uint32_t me = task.rank();
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      rounds.come_to(me, round);
      Status status = Status::kTimedOut;
      // Each rank and round has a time of its own, from none to 70 us.
      const auto limit = std::chrono::microseconds((me + round) % 8 * 10);
      while (status == Status::kTimedOut) {
        status = task.sync(SteadyClock().now() + limit);
        time_outs += status == Status::kTimedOut ? 1 : 0;
      }
      RANK_CHECK(status == Status::kOk);
      rounds.check(round);
    }
  });
  CHECK(time_outs > kRounds);
}

TEST_CASE("acp_sync over hosts: a rank that timed out holds up no other",
          "[barrier]") {
  constexpr Plan kPlan{4, 2};  // ranks 0 and 1 are leaders
  constexpr int kRounds = 50;
  for (std::uint32_t slow = 0; slow < kPlan.ranks; ++slow) {
    std::atomic<int> timed_out = 0;
    std::atomic<int> left = 0;
    const auto body = [&](Task& task) {
      for (int round = 1; round <= kRounds; ++round) {
        if (task.rank() == slow) {
          RANK_CHECK(task.sync(SteadyClock().now()) == Status::kTimedOut);
          timed_out = round;
          // It waits for the others, outside of acp_sync.
          RANK_CHECK(eventually([&] { return left == 3 * round; }));
        } else {
          RANK_CHECK(eventually([&] { return timed_out == round; }));
        }
        RANK_CHECK(task.sync() == Status::kOk);
        left += task.rank() == slow ? 0 : 1;
      }
    };
    run_thread_job(kPlan.ranks, {}, body, {}, kPlan.hosts);
  }
}

TEST_CASE("acp_sync over hosts: leaders find each other after acp_reset",
          "[barrier]") {
  constexpr std::uint64_t kResets = 20;
  constexpr std::uint64_t kRounds = 10;
  over_plans([&](Task& task, Rounds& rounds) {
    const std::uint32_t proc = task.rank();
    for (std::uint64_t reset = 0; reset < kResets; ++reset) {
      for (std::uint64_t i = 1; i <= kRounds; ++i) {
        const std::uint64_t round = reset * kRounds + i;
        rounds.come_to(proc, round);
        RANK_CHECK(task.sync() == Status::kOk);
        rounds.check(round);
      }
      const std::uint32_t next = (task.rank() + 1) % task.procs();
      RANK_CHECK(task.reset(static_cast<int>(next)) == Status::kOk);
    }
  });
}

TEST_CASE("acp_sync over hosts: a follower's wait names its leader",
          "[barrier]") {
  constexpr std::uint32_t kHosts = 2;
  // Ranks 0 and 2 share a host, and rank 0 comes last to the first barrier.
  std::atomic<const protocol::HostSegment*> host = nullptr;
  const auto open = [&](const transport::NetworkContext& context) {
    if (context.proc % kHosts == 0) {
      host.store(&context.segment, std::memory_order_relaxed);
    }
    return api::open_network(context);
  };
  const auto body = [&](Task& task) {
    if (task.rank() == 0) {
      const protocol::HostSegment& segment = *host.load();
      const protocol::ProcRecord& follower =
          segment.record(segment.slot_of_proc(2));
      RANK_CHECK(eventually([&follower] {
        return follower.wait_kind.load(std::memory_order_relaxed) ==
               static_cast<std::uint32_t>(protocol::WaitKind::kSync);
      }));
      RANK_CHECK(follower.wait_peer.load(std::memory_order_relaxed) == 0);
      // A network probes the ranks that it speaks to, and not the leader.
      RANK_CHECK(transport::waited_for({task.settings(), segment, 2}).whom ==
                 transport::WaitedFor::Whom::kAnybody);
    }
    RANK_CHECK(task.sync() == Status::kOk);
  };
  run_thread_job(4, {}, body, open, kHosts);
}

TEST_CASE("acp_sync over hosts: no rank waits for one that has left",
          "[barrier]") {
  constexpr Plan kPlan{5, 2};
  for (std::uint32_t leaves = 0; leaves < kPlan.ranks; ++leaves) {
    const auto body = [&](Task& task) {
      RANK_CHECK(task.sync() == Status::kOk);
      if (task.rank() != leaves) {
        RANK_CHECK(task.sync() == Status::kClosed);
      }
    };
    run_thread_job(kPlan.ranks, {}, body, {}, kPlan.hosts);
  }
}

}  // namespace acp::test
