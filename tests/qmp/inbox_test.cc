// The owner's side of an inbox, with cells that the test fills. Deliveries need
// a job: qmp_shape, qmp_message and lqcd_functions make them.
#include "inbox/inbox.h"

#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

namespace {

void write(inbox::Cell& cell, std::uint64_t lap, std::uint64_t message) {
  std::memcpy(cell.message, &message, sizeof message);
  cell.word = 2 * lap + 1;
}

}  // namespace

TEST_CASE("inbox: messages are read in the order of their tickets", "[inbox]") {
  std::vector<inbox::Cell> cells(inbox::kCells);
  inbox::Reader reader(cells.data());
  std::uint64_t message = 7;
  write(cells[1], 0, 100);  // The sender with ticket 0 has not written yet.
  CHECK_FALSE(reader.take(message));
  CHECK(message == 7);
  write(cells[0], 0, 99);
  CHECK(reader.take(message));
  CHECK(message == 99);
  CHECK(cells[0].word == 2);
  CHECK(reader.take(message));
  CHECK(message == 100);
  CHECK_FALSE(reader.take(message));
}

TEST_CASE("inbox: a cell is used again in the next lap", "[inbox]") {
  std::vector<inbox::Cell> cells(inbox::kCells);
  inbox::Reader reader(cells.data());
  std::uint64_t message = 0;
  for (std::uint64_t ticket = 0; ticket < 3 * inbox::kCells; ++ticket) {
    inbox::Cell& cell = cells[ticket % inbox::kCells];
    const std::uint64_t lap = ticket / inbox::kCells;
    REQUIRE(cell.word == 2 * lap);
    write(cell, lap, ticket);
    REQUIRE(reader.take(message));
    REQUIRE(message == ticket);
  }
}
