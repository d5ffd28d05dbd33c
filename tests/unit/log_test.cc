// The log calls the error action of ACP_ERRORS=abort.
#include "base/log.h"

#include <string>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"

namespace acp {

namespace {

int g_calls = 0;  ///< Calls of fail_again().

/// An action that fails in its turn. It ends an endless recursion by itself.
void fail_again(std::string_view text) noexcept {
  if (++g_calls < 10) {
    log_error("the action after \"{}\" fails", text);
  }
}

}  // namespace

TEST_CASE("log: an error inside the error action does not call it again") {
  g_calls = 0;
  set_error_action(fail_again);
  spmd::StderrCapture capture;
  log_error("first");
  CHECK(g_calls == 1);
  log_error("second");
  set_error_action(nullptr);
  const std::string text = capture.stop();
  CHECK(g_calls == 2);
  CHECK(text ==
        "acp: error: first\n"
        "acp: error: the action after \"first\" fails\n"
        "acp: error: second\n"
        "acp: error: the action after \"second\" fails\n");
}

}  // namespace acp
