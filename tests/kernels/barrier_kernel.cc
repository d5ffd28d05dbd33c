// The barrier of a host under all schedules: two ranks with a word each, and
// three with a count. docs/barrier.md has the invariants.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/kernel_memory.h"
#include "kernels/program.h"
#include "runtime/host_barrier.h"

namespace kernels {

namespace {

using acp::Duration;
using acp::Status;
using acp::TimePoint;

constexpr std::size_t kMostRanks = 3;
constexpr std::uint32_t kMostRounds = 2;

/// How ranks wait.
enum class Way {
  kSleep,   ///< They sleep at once.
  kShared,  ///< They yield, because they share cores, and then sleep.
  kSpin,    ///< They look a few times, spin, and then sleep.
};

acp::gma::WaitPolicy policy_of(Way way) {
  switch (way) {
    case Way::kSleep: return {Duration(0), false};
    case Way::kShared: return {std::chrono::microseconds(3), true};
    case Way::kSpin: return {std::chrono::nanoseconds(1), false, true, 2};
  }
  return {};
}

/// Makes no progress, and the job is always well.
class IdleHost final : public acp::gma::WaitHost {
 public:
  explicit IdleHost(Way way) : policy_(policy_of(way)) {}

  bool make_progress() override { return false; }

  Status health() override { return Status::kOk; }

  void sleep(const std::function<bool()>& /*is_done*/,
             Duration /*limit*/) override {
    expect(false, "a barrier sleeps on its own word");
  }

  void enter_wait(acp::protocol::WaitKind, std::uint32_t) override {}

  void leave_wait() override {}

  TimePoint now() const noexcept override {
    return TimePoint(std::chrono::nanoseconds(virtual_now_ns()));
  }

  const acp::gma::WaitPolicy& policy() const noexcept override {
    return policy_;
  }

 private:
  acp::gma::WaitPolicy policy_;
};

/// Each rank comes to some barriers. Before each one it writes a plain word,
/// which all others read behind the barrier.
class Meeting : public Program {
 public:
  Meeting(std::uint32_t ranks, std::uint32_t rounds, Way way)
      : segment_(new_segment(ranks)), ranks_(ranks), rounds_(rounds) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      hosts_[rank].emplace(way);
      barriers_[rank].emplace(segment_, rank, *hosts_[rank]);
      name_memory(&words_[0][rank], 4,
                  "word of " + std::to_string(rank) + ", round 0");
      name_memory(&words_[1][rank], 4,
                  "word of " + std::to_string(rank) + ", round 1");
    }
  }

  std::size_t threads() const override { return ranks_; }

  void run(std::size_t thread) override {
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      words_[round][thread] = round + 1;
      begun_[thread].set(round + 1);
      expect(barriers_[thread]->wait(TimePoint::max()) == Status::kOk,
             "a barrier of a job that is well ends");
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        expect(
            begun_[rank].get() >= round + 1 && begun_[rank].get() <= round + 2,
            "invariant 1: no rank leaves before all have come, and none is "
            "two barriers ahead");
        expect(words_[round][rank] == round + 1,
               "invariant 4: stores before the barrier are visible after it");
      }
    }
  }

  void check() override {
    const acp::protocol::HostBarrier& barrier = segment_.header().barrier;
    expect(barrier.arrived == 0, "invariant 2: arrived is 0 again");
    expect(barrier.sleepers == 0, "each sleeper counts itself off");
  }

 private:
  const acp::protocol::HostSegment& segment_;
  const std::uint32_t ranks_;
  const std::uint32_t rounds_;
  std::array<std::optional<IdleHost>, kMostRanks> hosts_;
  std::array<std::optional<acp::runtime::HostBarrier>, kMostRanks> barriers_;
  std::array<std::array<std::uint32_t, kMostRanks>, kMostRounds> words_{};
  std::array<Unseen<std::uint32_t>, kMostRanks> begun_;
};

}  // namespace

std::vector<Case> all_cases() {
  return {
      make_case<Meeting>("two.sleep", 4, 2U, 2U, Way::kSleep),
      make_case<Meeting>("two.shared", 3, 2U, 2U, Way::kShared),
      make_case<Meeting>("two.spin", 3, 2U, 2U, Way::kSpin),
      make_case<Meeting>("three.sleep", 2, 3U, 2U, Way::kSleep),
      make_case<Meeting>("three.shared", 2, 3U, 2U, Way::kShared),
      make_case<Meeting>("three.spin", 2, 3U, 1U, Way::kSpin),
  };
}

}  // namespace kernels
