// Tests the judgement of a leader on waits in acp_reset, and the time at which
// the leader then ends the job.
#include "runtime/reset_verdict.h"

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

using protocol::Absence;
using protocol::AbsenceKind;

constexpr TimePoint kJudgedAt{std::chrono::seconds(100)};
constexpr Absence kRank1Leaves{AbsenceKind::kLeaving, 1, 5};
constexpr HostPhases::Waiting kRank3{3, 2};

/// A leader that has judged: rank 3 waits in meeting 2, and rank 1 leaves after
/// one meeting.
ResetVerdict judged() {
  ResetVerdict verdict;
  CHECK(verdict.note(kRank1Leaves, 1));
  CHECK(verdict.judge(kRank3));
  return verdict;
}

}  // namespace

TEST_CASE("reset verdict: a rank waits in vain for a rank that never comes") {
  ResetVerdict verdict;
  CHECK_FALSE(verdict.judge(kRank3));
  REQUIRE(verdict.note(kRank1Leaves, 1));
  CHECK_FALSE(verdict.judge(std::nullopt));
  // Rank 1 has come to meeting 1, so rank 3 gets its Go there.
  CHECK_FALSE(verdict.judge(HostPhases::Waiting{3, 1}));
  const auto stuck = verdict.judge(kRank3);
  REQUIRE(stuck);
  CHECK(stuck->type == LeaderMessageType::kStuck);
  CHECK(stuck->waiting == 3);
  const auto absence = Absence::of(stuck->absence);
  CHECK(absence.rank == 1);
  CHECK(absence.kind == AbsenceKind::kLeaving);
}

TEST_CASE("reset verdict: a leader judges once") {
  ResetVerdict verdict = judged();
  CHECK_FALSE(verdict.judge(kRank3));
}

TEST_CASE("reset verdict: rank 0 has 3 s to write the line") {
  ResetVerdict verdict = judged();
  CHECK_FALSE(verdict.is_pending());
  verdict.leave_to_rank_0(kJudgedAt, Line::kMissing);
  CHECK(verdict.is_pending());
  CHECK(verdict.due() == kJudgedAt + ResetVerdict::kWritingLimit);
}

TEST_CASE("reset verdict: behind the line rank 0 has 1 s to end the job") {
  ResetVerdict verdict = judged();
  SECTION("a line that comes after the judgement") {
    verdict.leave_to_rank_0(kJudgedAt, Line::kMissing);
    verdict.note_written(kJudgedAt);
  }
  SECTION("a line that was there before") {
    verdict.note_written(kJudgedAt);
    CHECK_FALSE(verdict.is_pending());
    verdict.leave_to_rank_0(kJudgedAt, Line::kWritten);
  }
  CHECK(verdict.due() == kJudgedAt + ResetVerdict::kJudgementPause);
}

TEST_CASE("reset verdict: a line does not delay the end") {
  ResetVerdict verdict = judged();
  verdict.end_at(kJudgedAt);
  verdict.note_written(kJudgedAt);
  CHECK(verdict.due() == kJudgedAt);
}

TEST_CASE("reset verdict: its time comes once") {
  ResetVerdict verdict = judged();
  verdict.end_at(kJudgedAt);
  CHECK(verdict.take().waiting == 3);
  CHECK_FALSE(verdict.is_pending());
}

}  // namespace acp::runtime
