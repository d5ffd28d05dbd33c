// The pieces in which acprun passes tables on.
#include "launcher/table_pieces.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

TEST_CASE("table pieces: all tables go out in order, in pieces that are full",
          "[launcher]") {
  std::vector<std::string> sent;
  TablePieces pieces(
      [&](std::string piece) { sent.push_back(std::move(piece)); });
  std::string all;
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::string table(700 + i, static_cast<char>('a' + i % 26));
    all += table;
    pieces.add(table);
  }
  // The tables have 1.2 MB together.
  CHECK(sent.size() == 4);
  pieces.send_rest();
  CHECK(sent.size() == 5);
  std::string joined;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CHECK(sent[i].size() <= TablePieces::kPieceBytes);
    const bool is_full = sent[i].size() > TablePieces::kPieceBytes - 1700;
    CHECK((is_full || i + 1 == sent.size()));
    joined += sent[i];
  }
  CHECK(joined == all);
  pieces.send_rest();
  CHECK(sent.size() == 5);
}

TEST_CASE("table pieces: a table that is longer than a piece goes out whole",
          "[launcher]") {
  std::vector<std::size_t> sent;
  TablePieces pieces(
      [&](const std::string& piece) { sent.push_back(piece.size()); });
  pieces.add("a");
  pieces.add(std::string(2 * TablePieces::kPieceBytes, 'b'));
  pieces.add("cc");
  pieces.send_rest();
  CHECK(sent == std::vector<std::size_t>{1, 2 * TablePieces::kPieceBytes, 2});
}

}  // namespace acp::launcher
