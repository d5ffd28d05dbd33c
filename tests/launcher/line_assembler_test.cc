// Tests how output in pieces becomes whole lines.
#include "launcher/line_assembler.h"

#include <string>

#include <catch2/catch.hpp>

namespace acp::launcher {

TEST_CASE("line assembler: a line appears when it is whole", "[launcher]") {
  LineAssembler lines(LineMode::kLines, "");
  std::string out;
  lines.feed("one\ntwo\nth", out);
  CHECK(out == "one\ntwo\n");
  lines.feed("ree", out);
  CHECK(out == "one\ntwo\n");
  lines.feed("\n", out);
  CHECK(out == "one\ntwo\nthree\n");
  lines.finish(out);
  CHECK(out == "one\ntwo\nthree\n");
}

TEST_CASE("line assembler: the pieces make no difference", "[launcher]") {
  const std::string text = "a\n\nlonger line\nb\nlast";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineAssembler lines(LineMode::kLines, "[7] ");
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += step) {
      lines.feed(std::string_view{text}.substr(at, step), out);
    }
    lines.finish(out);
    CHECK(out == "[7] a\n[7] \n[7] longer line\n[7] b\n[7] last\n");
  }
}

TEST_CASE("line assembler: pass-through changes nothing", "[launcher]") {
  LineAssembler lines(LineMode::kPassThrough, "");
  std::string out;
  lines.feed("pro", out);
  CHECK(out == "pro");
  lines.feed("mpt? ", out);
  lines.finish(out);
  CHECK(out == "prompt? ");
}

TEST_CASE("line assembler: endless lines come in pieces, nothing is lost",
          "[launcher]") {
  LineAssembler lines(LineMode::kLines, "[0] ");
  const std::string block(LineAssembler::kMaxLine / 4, 'x');
  std::string out;
  for (int i = 0; i < 10; ++i)
    lines.feed(block, out);
  CHECK(out.size() > LineAssembler::kMaxLine);
  lines.feed("\nnext\n", out);
  lines.finish(out);
  CHECK(out == "[0] " + std::string(block.size() * 10, 'x') + "\n[0] next\n");
}

}  // namespace acp::launcher
