// Which absences mean that ranks in acp_reset wait in vain.
#include "protocol/reset_judge.h"

#include <catch2/catch.hpp>

namespace acp::protocol {

TEST_CASE(
    "reset judge: a rank that leaves or is beside misses later meetings") {
  const auto kind = GENERATE(AbsenceKind::kLeaving, AbsenceKind::kLeft,
                             AbsenceKind::kBesideReset);
  ResetJudge judge;
  CHECK_FALSE(judge.missing_from(1));
  CHECK(judge.note(3, {kind, 3, 9}, 4));
  // It is only ahead of those that still wait at its last meeting.
  CHECK_FALSE(judge.missing_from(4));
  CHECK(judge.missing_from(5) == MissingRank{3, kind});
  // One such rank is enough.
  CHECK_FALSE(judge.note(2, {kind, 2, 8}, 4));
  CHECK(judge.missing_from(5) == MissingRank{3, kind});
}

TEST_CASE("reset judge: the later one of two unlike acp_reset is missing") {
  const bool later_first = GENERATE(true, false);
  // Numbers on both sides of the wrap.
  const std::uint32_t number = GENERATE(7U, UINT32_MAX);
  ResetJudge judge;
  const auto note = [&](std::uint32_t rank, std::uint32_t barrier) {
    return judge.note(rank, {AbsenceKind::kResetting, rank, barrier}, 2);
  };
  CHECK((later_first ? note(1, number + 1) : note(0, number)));
  CHECK_FALSE(judge.missing_from(3));
  CHECK((later_first ? note(0, number) : note(1, number + 1)));
  CHECK(judge.missing_from(3) == MissingRank{1, AbsenceKind::kResetting});
}

TEST_CASE("reset judge: numbers of different meetings are not compared") {
  ResetJudge judge;
  CHECK(judge.note(0, {AbsenceKind::kResetting, 0, 5}, 0));
  CHECK_FALSE(judge.note(1, {AbsenceKind::kResetting, 1, 5}, 0));
  CHECK(judge.note(1, {AbsenceKind::kResetting, 1, 7}, 4));
  // A number that arrives late.
  CHECK_FALSE(judge.note(2, {AbsenceKind::kResetting, 2, 5}, 0));
  CHECK_FALSE(judge.note(0, {AbsenceKind::kResetting, 0, 7}, 4));
  CHECK_FALSE(judge.missing_from(5));
}

TEST_CASE("reset judge: the text names the call and the rank that waits") {
  CHECK(describe_missing(AbsenceKind::kLeft, "rank 1") ==
        "called acp_finalize while rank 1 waits in acp_reset");
  CHECK(describe_missing(AbsenceKind::kBesideReset, "rank 1") ==
        "called acp_sync while rank 1 waits in acp_reset");
  CHECK(describe_missing(AbsenceKind::kResetting, "rank 1") ==
        "called acp_sync and acp_reset in another order while rank 1 waits in "
        "acp_reset");
}

}  // namespace acp::protocol
