// Tests which messages rank 0 keeps for leaders whose connection it takes
// later.
#include "runtime/kept_messages.h"

#include <vector>

#include <catch2/catch.hpp>

#include "protocol/absence.h"

namespace acp::runtime {

namespace {

using protocol::Absence;
using protocol::AbsenceKind;

LeaderMessage absent(const Absence& absence, std::uint64_t meetings = 0) {
  return {LeaderMessageType::kAbsent, 0, absence.word(), meetings};
}

std::vector<std::uint32_t> ranks(const KeptMessages& kept) {
  std::vector<std::uint32_t> ranks;
  for (const LeaderMessage& message : kept.messages()) {
    ranks.push_back(Absence::of(message.absence).rank);
  }
  return ranks;
}

}  // namespace

TEST_CASE("kept messages: one absence of a kind concerns the most ranks") {
  KeptMessages kept;
  kept.keep_absence(absent({AbsenceKind::kLeaving, 1, 5}));
  kept.keep_absence(absent({AbsenceKind::kLeaving, 2, 6}));
  CHECK(ranks(kept) == std::vector<std::uint32_t>{1});
  kept.keep_absence(absent({AbsenceKind::kLeaving, 3, 4}));
  CHECK(ranks(kept) == std::vector<std::uint32_t>{3});
  kept.keep_absence(absent({AbsenceKind::kLeft, 4, 9}));
  CHECK(ranks(kept) == std::vector<std::uint32_t>{3, 4});
}

TEST_CASE("kept messages: all numbers of acp_reset after the most meetings") {
  KeptMessages kept;
  kept.keep_absence(absent({AbsenceKind::kResetting, 1, 5}, 1));
  kept.keep_absence(absent({AbsenceKind::kResetting, 2, 6}, 1));
  kept.keep_absence(absent({AbsenceKind::kResetting, 1, 5}, 1));
  CHECK(ranks(kept) == std::vector<std::uint32_t>{2, 1});
  kept.keep_absence(absent({AbsenceKind::kResetting, 3, 8}, 2));
  CHECK(ranks(kept) == std::vector<std::uint32_t>{3});
}

TEST_CASE("kept messages: the written line stays") {
  KeptMessages kept;
  kept.keep({LeaderMessageType::kWritten, 0, 0, 0});
  kept.keep_absence(absent({AbsenceKind::kResetting, 3, 8}, 2));
  REQUIRE(kept.messages().size() == 2);
  CHECK(kept.messages()[0].type == LeaderMessageType::kWritten);
}

}  // namespace acp::runtime
