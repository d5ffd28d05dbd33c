// Tests the exit status that acprun derives from the ends of its ranks.
#include "launcher/verdict.h"

#include <csignal>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/program_name.h"

namespace acp::launcher {

namespace {

int status_of(Cause cause, std::int64_t value = 0) {
  Verdict verdict;
  verdict.cause = cause;
  verdict.value = value;
  return exit_status(verdict);
}

}  // namespace

// docs/launcher.md promises these numbers, and scripts compare them.
TEST_CASE("verdict: the table of exit statuses", "[launcher][verdict]") {
  CHECK(status_of(Cause::kExited, 3) == 3);
  CHECK(status_of(Cause::kSignaled, SIGSEGV) == 139);
  CHECK(status_of(Cause::kAborted, 1) == 1);
  CHECK(status_of(Cause::kAborted, 0) == 1);
  CHECK(status_of(Cause::kAborted, 256) == 1);
  CHECK(status_of(Cause::kAborted, 77) == 77);
  CHECK(status_of(Cause::kNotStarted, 126) == 126);
  CHECK(status_of(Cause::kNotStarted, 127) == 127);
  CHECK(status_of(Cause::kLeftEarly) == 1);
  CHECK(status_of(Cause::kNotFinalized) == 1);
  CHECK(status_of(Cause::kInitTimeout, 60'000) == 124);
  CHECK(status_of(Cause::kTimeout, 1000) == 124);
  CHECK(status_of(Cause::kWatchdog, 1000) == 124);
  CHECK(status_of(Cause::kInterrupted, SIGINT) == 130);
  CHECK(status_of(Cause::kInterrupted, SIGTERM) == 143);
  CHECK(status_of(Cause::kProtocol) == 125);
  CHECK(status_of(Cause::kKeeperLost, SIGKILL) == 125);
  CHECK(status_of(Cause::kOutputClosed) == 141);
  CHECK(status_of(Cause::kOutputFailed) == 125);
}

TEST_CASE("verdict: the program that got a signal is named",
          "[launcher][verdict]") {
  Verdict verdict;
  verdict.cause = Cause::kInterrupted;
  verdict.value = SIGINT;
  CHECK(describe_cause(verdict) == "acprun got signal 2 (Interrupt)");
  set_program_name("macprun");
  CHECK(describe_cause(verdict) == "macprun got signal 2 (Interrupt)");
  set_program_name("acprun");
}

}  // namespace acp::launcher
