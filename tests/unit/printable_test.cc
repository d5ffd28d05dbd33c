// Texts from outside in messages.
#include "base/printable.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "support/stderr_capture.h"

namespace acp {

TEST_CASE("printable: characters stay, and commands to a terminal do not",
          "[base][printable]") {
  CHECK(printable("node7, 42 %") == "node7, 42 %");
  CHECK(is_printable("node7 \u20ac"));
  CHECK_FALSE(is_printable("node7\x9b"));
  CHECK_FALSE(is_printable("node7\n"));
  CHECK(printable("B\u00e4r \u20ac \U0001f980") ==
        "B\u00e4r \u20ac \U0001f980");
  CHECK(printable("a\nb\rc\td") == "a\\nb\\rc\\td");
  CHECK(printable("\x1b[2J\x7f") == "\\x1b[2J\\x7f");
  CHECK(printable(std::string_view("\0x", 2)) == "\\x00x");
}

// An 8-bit terminal takes 0x9b for ESC [. One of UTF-8 takes U+009B for it.
TEST_CASE("printable: bytes that are no characters", "[base][printable]") {
  CHECK(printable("\x9b"
                  "2J") == "\\x9b2J");
  CHECK(printable("\u009b") == "\\xc2\\x9b");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // too long a form
  CHECK(printable("\xe0\x80\x9b") == "\\xe0\\x80\\x9b");  // likewise
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("ab\xe2\x82") == "ab\\xe2\\x82");  // cut
  CHECK(printable("\u202eright to left") == "\\xe2\\x80\\xaeright to left");
}

TEST_CASE("printable: a long text is cut between characters",
          "[base][printable]") {
  CHECK(printable("12345678", 8) == "12345678");
  CHECK(printable("123456789", 8) == "12345...");
  CHECK(printable("1234\x1b"
                  "6789",
                  8) == "1234...");
  CHECK(printable("1234\u20ac\u20ac", 8) == "1234...");
  CHECK(printable(std::string(1 << 20, '\x1b'), 20) ==
        "\\x1b\\x1b\\x1b\\x1b...");
}

TEST_CASE("printable: lines stay lines", "[base][printable]") {
  CHECK(printable_lines("a\x1b\nb\r\n\nc") == "a\\x1b\nb\\r\n\nc");
  CHECK(printable_lines("").empty());
}

// Texts of launchers, files and other ranks stand in log lines.
TEST_CASE("log: a line is one line, without commands to the terminal",
          "[base][log]") {
  spmd::StderrCapture capture;
  log_error("the launcher said: {}",
            "\x1b]0;owned\x07\nacp: rank 0: error: no");
  CHECK(capture.stop() ==
        "acp: error: the launcher said: \\x1b]0;owned\\x07\\nacp: rank 0: "
        "error: no\n");
}

}  // namespace acp
