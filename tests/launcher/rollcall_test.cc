// Tests the roll-call: the life of each rank, and which endings are failures.
#include "launcher/rollcall.h"

#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using protocol::BootstrapMessage;
using protocol::BootstrapType;
using protocol::Phase;

constexpr int kExit0 = 0;

constexpr int exit_with(int status) {
  return status << 8;
}

BootstrapMessage hello(std::uint32_t pid) {
  return {BootstrapType::kHello, pid, {}};
}

BootstrapMessage arrive(Phase phase) {
  return {BootstrapType::kArrive, static_cast<std::uint64_t>(phase), {}};
}

const BootstrapMessage kFinalized{BootstrapType::kFinalized, 0, {}};

template <typename T>
bool is(const Answer& answer) {
  return std::holds_alternative<T>(answer);
}

Cause cause(const Answer& answer) {
  REQUIRE(is<Verdict>(answer));
  return std::get<Verdict>(answer).cause;
}

/// All ranks say hello and arrive at the phases, in order.
void bring_to(Rollcall& rollcall,
              std::uint32_t ranks,
              const std::vector<Phase>& phases) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    REQUIRE(is<SayWelcome>(rollcall.on_message(rank, hello(100 + rank))));
  }
  for (const Phase phase : phases) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Answer answer = rollcall.on_message(rank, arrive(phase));
      CHECK(is<SayGo>(answer) == (rank + 1 == ranks));
    }
  }
}

}  // namespace

TEST_CASE("roll-call: a whole life", "[launcher][rollcall]") {
  Rollcall rollcall(3);
  bring_to(
      rollcall, 3,
      {Phase::kInit, Phase::kCollective, Phase::kCollective, Phase::kFinalize});
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    CHECK(rollcall.pid(rank) == 100 + rank);
    CHECK(is<Nothing>(rollcall.on_message(rank, kFinalized)));
    CHECK_FALSE(rollcall.on_exit(rank, kExit0).has_value());
  }
}

TEST_CASE("roll-call: programs without ACP may leave as they like",
          "[launcher][rollcall]") {
  Rollcall rollcall(2);
  CHECK_FALSE(rollcall.on_exit(0, kExit0).has_value());
  CHECK_FALSE(rollcall.on_exit(1, kExit0).has_value());
}

TEST_CASE("roll-call: a bad status and a signal always fail",
          "[launcher][rollcall]") {
  Rollcall rollcall(2);
  const auto exited = rollcall.on_exit(0, exit_with(3));
  REQUIRE(exited.has_value());
  CHECK(exited->cause == Cause::kExited);
  CHECK(exited->value == 3);
  const auto killed = rollcall.on_exit(1, SIGKILL);
  REQUIRE(killed.has_value());
  CHECK(killed->cause == Cause::kSignaled);
  CHECK(killed->value == SIGKILL);
}

TEST_CASE("roll-call: hello after somebody left names who left",
          "[launcher][rollcall]") {
  Rollcall rollcall(2);
  CHECK_FALSE(rollcall.on_exit(1, kExit0).has_value());
  const Answer answer = rollcall.on_message(0, hello(1));
  CHECK(cause(answer) == Cause::kLeftEarly);
  CHECK(std::get<Verdict>(answer).rank == 1);
}

TEST_CASE("roll-call: leaving after somebody's hello", "[launcher][rollcall]") {
  Rollcall rollcall(2);
  rollcall.on_message(0, hello(1));
  const auto verdict = rollcall.on_exit(1, kExit0);
  REQUIRE(verdict.has_value());
  CHECK(verdict->cause == Cause::kLeftEarly);
  CHECK(verdict->rank == 1);
}

TEST_CASE("roll-call: leaving with status 0 from inside",
          "[launcher][rollcall]") {
  for (const auto& phases : {std::vector{Phase::kInit},
                             std::vector{Phase::kInit, Phase::kFinalize}}) {
    Rollcall rollcall(2);
    bring_to(rollcall, 2, phases);
    const auto verdict = rollcall.on_exit(1, kExit0);
    REQUIRE(verdict.has_value());
    CHECK(verdict->cause == Cause::kNotFinalized);
  }
}

TEST_CASE("roll-call: an absent rank and ranks in acp_reset end the job",
          "[launcher][rollcall]") {
  using protocol::AbsenceKind;

  struct Row {
    AbsenceKind kind;
    std::uint32_t barrier;
    std::string text;
  };

  const auto row = GENERATE(
      Row{AbsenceKind::kLeaving, 6,
          "called acp_finalize while rank 1 waits in acp_reset"},
      Row{AbsenceKind::kBesideReset, 7,
          "called acp_sync while rank 1 waits in acp_reset"},
      Row{AbsenceKind::kResetting, 8,
          "called acp_sync and acp_reset in another order while rank 1 waits "
          "in acp_reset"});
  const bool comes_first = GENERATE(true, false);
  Rollcall rollcall(3);
  bring_to(rollcall, 3, {Phase::kInit, Phase::kCollective});
  CHECK(is<Nothing>(rollcall.on_absence(1, {AbsenceKind::kResetting, 0, 7})));
  Answer last = Nothing{};
  if (comes_first) {
    CHECK(is<Nothing>(rollcall.on_absence(2, {row.kind, 1, row.barrier})));
    last = rollcall.on_message(1, arrive(Phase::kCollective));
  } else {
    CHECK(is<Nothing>(rollcall.on_message(1, arrive(Phase::kCollective))));
    last = rollcall.on_absence(2, {row.kind, 1, row.barrier});
  }
  CHECK(cause(last) == Cause::kProtocol);
  const auto& verdict = std::get<Verdict>(last);
  CHECK(verdict.rank == 2);  // its number at launch
  CHECK(verdict.text == row.text);
  CHECK(verdict.advice.find("in the same order") != std::string::npos);
}

TEST_CASE("roll-call: several acp_reset, one after the other",
          "[launcher][rollcall]") {
  using protocol::AbsenceKind;
  Rollcall rollcall(2);
  bring_to(rollcall, 2, {Phase::kInit});
  for (const std::uint32_t barrier : {7U, 9U, UINT32_MAX, 1U}) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      CHECK(is<Nothing>(
          rollcall.on_absence(rank, {AbsenceKind::kResetting, rank, barrier})));
    }
    for (int phase = 0; phase < 4; ++phase) {
      CHECK(is<Nothing>(rollcall.on_message(0, arrive(Phase::kCollective))));
      CHECK(is<SayGo>(rollcall.on_message(1, arrive(Phase::kCollective))));
    }
  }
  CHECK(is<Nothing>(rollcall.on_absence(0, {AbsenceKind::kLeaving, 0, 3})));
  CHECK(is<Nothing>(rollcall.on_message(0, arrive(Phase::kFinalize))));
  CHECK(is<SayGo>(rollcall.on_message(1, arrive(Phase::kFinalize))));
}

TEST_CASE("roll-call: messages out of order are refused",
          "[launcher][rollcall]") {
  Rollcall rollcall(2);
  CHECK(cause(rollcall.on_message(0, arrive(Phase::kInit))) ==
        Cause::kProtocol);
  CHECK(cause(rollcall.on_message(0, kFinalized)) == Cause::kProtocol);
  rollcall.on_message(0, hello(1));
  CHECK(cause(rollcall.on_message(0, hello(1))) == Cause::kProtocol);
  CHECK(cause(rollcall.on_message(0, arrive(Phase::kFinalize))) ==
        Cause::kProtocol);
  CHECK(cause(rollcall.on_message(0, {BootstrapType::kArrive, 99, {}})) ==
        Cause::kProtocol);
  CHECK(cause(rollcall.on_message(0, {BootstrapType::kGo, 1, {}})) ==
        Cause::kProtocol);
}

// The verdict comes with the second rank, and the third one is still on its
// way. have_all_met() tells when no rank can add to it.
TEST_CASE("roll-call: who waits at different places is told",
          "[launcher][rollcall]") {
  Rollcall rollcall(3);
  bring_to(rollcall, 3, {Phase::kInit});
  CHECK(is<Nothing>(rollcall.on_message(2, arrive(Phase::kFinalize))));
  const Answer answer = rollcall.on_message(0, arrive(Phase::kCollective));
  CHECK(cause(answer) == Cause::kProtocol);
  CHECK(std::get<Verdict>(answer).text ==
        "called acp_reset while rank 2 waits in acp_finalize");
  CHECK(std::get<Verdict>(answer).advice == protocol::kSameOrderAdvice);
  CHECK(std::get<Verdict>(answer).is_unlike);
  CHECK_FALSE(rollcall.have_all_met());
  SECTION("the last rank is on its way to one of the two calls") {
    CHECK(is<Verdict>(rollcall.on_message(1, arrive(Phase::kFinalize))));
    CHECK(rollcall.have_all_met());
  }
  SECTION("the last rank ends") {
    CHECK(rollcall.on_exit(1, 0).has_value());
    CHECK(rollcall.have_all_met());
  }
}

TEST_CASE("roll-call: abort keeps status and text", "[launcher][rollcall]") {
  Rollcall rollcall(2);
  const Answer answer =
      rollcall.on_message(1, {BootstrapType::kAbort, 9, "no way"});
  REQUIRE(cause(answer) == Cause::kAborted);
  CHECK(std::get<Verdict>(answer).value == 9);
  CHECK(std::get<Verdict>(answer).text == "no way");
}

TEST_CASE("roll-call: the meeting in acp_init", "[launcher][rollcall]") {
  Rollcall rollcall(3);
  CHECK_FALSE(rollcall.is_meeting());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    rollcall.on_message(rank, hello(1));
  }
  rollcall.on_message(1, arrive(Phase::kInit));
  CHECK(rollcall.is_meeting());
  CHECK(rollcall.missing_in_init() == std::vector<std::uint32_t>{0, 2});
  rollcall.on_message(0, arrive(Phase::kInit));
  rollcall.on_message(2, arrive(Phase::kInit));
  CHECK_FALSE(rollcall.is_meeting());
}

// The program's end comes as a message, and the seat's end as an exit. Each
// section gives both in another order or with another status.
TEST_CASE("roll-call: a rank of macprun ends twice", "[launcher]") {
  const BootstrapMessage well{BootstrapType::kEnded, kExit0, {}};
  Rollcall rollcall(2);
  SECTION("its program ends too early, and the seat still waits for mpirun") {
    bring_to(rollcall, 2, {Phase::kInit});
    CHECK(cause(rollcall.on_message(1, well)) == Cause::kNotFinalized);
  }
  SECTION("its program fails") {
    const BootstrapMessage badly{
        BootstrapType::kEnded, static_cast<std::uint64_t>(exit_with(7)), {}};
    CHECK(cause(rollcall.on_message(1, badly)) == Cause::kExited);
  }
  SECTION("all programs end well, and then the seats") {
    bring_to(rollcall, 2, {Phase::kInit, Phase::kFinalize});
    for (const std::uint32_t rank : {0U, 1U}) {
      CHECK(is<Nothing>(rollcall.on_message(rank, kFinalized)));
      CHECK(is<Nothing>(rollcall.on_message(rank, well)));
    }
    CHECK(!rollcall.on_exit(0, kExit0));
    CHECK(!rollcall.on_exit(1, kExit0));
  }
  SECTION("all programs end well, and then mpirun fails") {
    bring_to(rollcall, 2, {Phase::kInit, Phase::kFinalize});
    for (const std::uint32_t rank : {0U, 1U}) {
      CHECK(is<Nothing>(rollcall.on_message(rank, kFinalized)));
      CHECK(is<Nothing>(rollcall.on_message(rank, well)));
    }
    const auto failed = rollcall.on_exit(0, exit_with(3));
    REQUIRE(failed);
    CHECK(failed->cause == Cause::kLauncherFailed);
    CHECK(exit_status(*failed) == 3);
  }
}

}  // namespace acp::launcher
