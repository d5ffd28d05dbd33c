// Tests which absent rank a host keeps, and which waits an absence ends. The
// tables of docs/barrier.md, "Calls that do not meet", are the model.
#include "protocol/absence.h"

#include <initializer_list>

#include <catch2/catch.hpp>

#include "runtime/absence_watch.h"

namespace acp {

namespace {

using protocol::Absence;
using protocol::AbsenceKind;
using protocol::Absences;
using runtime::AbsenceWatch;

constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

Absence entered(const Absences& absences, AbsenceKind kind) {
  REQUIRE(absences.get(kind) != 0);
  return Absence::of(absences.get(kind));
}

}  // namespace

TEST_CASE("absence: a word has all of it") {
  for (const AbsenceKind kind :
       {AbsenceKind::kLeaving, AbsenceKind::kLeft, AbsenceKind::kResetting,
        AbsenceKind::kBesideReset}) {
    for (const std::uint32_t rank : {0U, 1U, (1U << 20) - 2}) {
      for (const std::uint32_t barrier : {0U, 1U, UINT32_MAX}) {
        const Absence there = Absence::of(Absence{kind, rank, barrier}.word());
        CHECK(there.kind == kind);
        CHECK(there.rank == rank);
        CHECK(there.barrier == barrier);
        CHECK((Absence{kind, rank, barrier}.word()) != 0);
      }
    }
  }
}

TEST_CASE("absence: the fewest barriers, and the latest acp_reset, stay") {
  Absences absences{};
  for (const AbsenceKind kind : {AbsenceKind::kLeaving, AbsenceKind::kLeft}) {
    CHECK(absences.get(kind) == 0);
    CHECK(absences.enter({kind, 1, 3}));
    CHECK_FALSE(absences.enter({kind, 2, 3}));
    CHECK_FALSE(absences.enter({kind, 2, 4}));
    CHECK(absences.enter({kind, 3, UINT32_MAX}));  // 4 before 3
    CHECK(entered(absences, kind).rank == 3);
  }
  for (const AbsenceKind kind :
       {AbsenceKind::kResetting, AbsenceKind::kBesideReset}) {
    CHECK(absences.enter({kind, 1, UINT32_MAX}));
    CHECK_FALSE(absences.enter({kind, 2, UINT32_MAX}));
    CHECK_FALSE(absences.enter({kind, 2, UINT32_MAX - 1}));
    CHECK(absences.enter({kind, 3, 2}));
    CHECK(entered(absences, kind).rank == 3);
  }
}

TEST_CASE("absence: a rank that leaves ends the barriers that it misses") {
  // Numbers on both sides of the wrap.
  const std::uint64_t come = GENERATE(std::uint64_t{5}, kWrap - 1, kWrap);
  Absences absences{};
  AbsenceWatch watch(absences);
  absences.enter({AbsenceKind::kLeaving, 2, static_cast<std::uint32_t>(come)});
  watch.enter(come);
  CHECK_FALSE(watch.find());
  watch.enter(come + 1);
  REQUIRE(watch.find());
  CHECK(watch.find()->rank == 2);
  // Modules meet, until those of one rank have ended.
  watch.begin_finalize();
  CHECK_FALSE(watch.find());
  absences.enter({AbsenceKind::kLeft, 3, static_cast<std::uint32_t>(come + 1)});
  CHECK_FALSE(watch.find());
  watch.enter(come + 2);
  REQUIRE(watch.find());
  CHECK(watch.find()->rank == 3);
}

TEST_CASE("absence: acp_sync that meets acp_reset") {
  const std::uint64_t first = GENERATE(std::uint64_t{5}, kWrap - 1, kWrap);
  const auto number = static_cast<std::uint32_t>(first);
  Absences absences{};
  AbsenceWatch in_sync(absences);
  AbsenceWatch in_reset(absences);
  in_reset.begin_reset(first);
  absences.enter({AbsenceKind::kResetting, 0, number});
  // Barriers before that one meet.
  in_sync.enter(first - 1);
  CHECK_FALSE(in_sync.find());
  for (const std::uint64_t barrier : {first, first + 1, first + 9}) {
    in_sync.enter(barrier);
    REQUIRE(in_sync.find());
    CHECK(in_sync.find()->kind == AbsenceKind::kResetting);
  }
  in_reset.enter(first);
  CHECK_FALSE(in_reset.find());
  absences.enter({AbsenceKind::kBesideReset, 1, number});
  for (const std::uint64_t barrier : {first, first + 1}) {
    in_reset.enter(barrier);
    REQUIRE(in_reset.find());
    CHECK(in_reset.find()->kind == AbsenceKind::kBesideReset);
    CHECK(in_reset.find()->rank == 1);
  }
  // Its later acp_sync are not concerned, and a later acp_reset meets.
  in_reset.end_reset();
  in_reset.enter(first + 2);
  CHECK_FALSE(in_reset.find());
  for (AbsenceWatch* watch : {&in_sync, &in_reset}) {
    watch->begin_reset(first + 3);
    absences.enter({AbsenceKind::kResetting, 0, number + 3});
    watch->enter(first + 3);
    CHECK_FALSE(watch->find());
  }
}

TEST_CASE("absence: an acp_reset that meets a later one") {
  Absences absences{};
  AbsenceWatch early(absences);
  AbsenceWatch late(absences);
  early.begin_reset(5);
  absences.enter({AbsenceKind::kResetting, 0, 5});
  late.begin_reset(6);  // Its acp_sync has met barrier 5 unseen.
  absences.enter({AbsenceKind::kResetting, 1, 6});
  early.enter(5);
  CHECK_FALSE(early.find());
  early.enter(6);
  REQUIRE(early.find());
  CHECK(early.find()->kind == AbsenceKind::kResetting);
  CHECK(early.find()->rank == 1);
  late.enter(6);
  CHECK_FALSE(late.find());
  absences.enter({AbsenceKind::kBesideReset, 0, 6});
  REQUIRE(late.find());
  CHECK(late.find()->kind == AbsenceKind::kBesideReset);
}

}  // namespace acp
