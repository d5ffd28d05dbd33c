// Numbers, coordinates and neighbours of a torus.
#include "qmp/grid.h"

#include <array>

#include <catch2/catch.hpp>

using qmp::Grid;

TEST_CASE("qmp grid: numbers run fastest along axis 0", "[qmp][grid]") {
  const std::array<int, 3> dims{2, 3, 4};
  const Grid grid(dims, {});
  std::array<int, 3> at{};
  grid.coordinates_of(1 + 2 * (2 + 3 * 3), at.data());
  CHECK(at == std::array<int, 3>{1, 2, 3});
  for (int node = 0; node < 24; ++node) {
    grid.coordinates_of(node, at.data());
    CHECK(grid.node_at(at) == node);
  }
}

TEST_CASE("qmp grid: the first axis of the map is the fastest", "[qmp][grid]") {
  const std::array<int, 3> dims{2, 3, 4};
  const std::array<int, 2> map{2, 0};
  const Grid grid(dims, map);  // the axis that is left out comes last: 2, 0, 1
  std::array<int, 3> at{};
  grid.coordinates_of(3 + 4 * (1 + 2 * 2), at.data());
  CHECK(at == std::array<int, 3>{1, 2, 3});
  CHECK(grid.node_at(at) == 3 + 4 * (1 + 2 * 2));
}

TEST_CASE("qmp grid: coordinates wrap around, also far away", "[qmp][grid]") {
  const std::array<int, 2> dims{3, 2};
  const Grid grid(dims, {});
  CHECK(grid.node_at(std::array<int, 2>{-1, 0}) == 2);
  CHECK(grid.node_at(std::array<int, 2>{7, -3}) == 1 + 3);
  CHECK(grid.neighbour(0, 0, -1) == 2);
  CHECK(grid.neighbour(2, 0, 1) == 0);
  CHECK(grid.neighbour(0, 1, 1) == grid.neighbour(0, 1, -1));
}

TEST_CASE("qmp grid: what cannot be one", "[qmp][grid]") {
  const std::array<int, 2> good{2, 3};
  CHECK(Grid::is_valid(good, {}, 6));
  CHECK_FALSE(Grid::is_valid(good, {}, 5));
  CHECK_FALSE(Grid::is_valid({}, {}, 1));
  CHECK_FALSE(Grid::is_valid(std::array<int, 2>{6, 0}, {}, 6));
  CHECK_FALSE(Grid::is_valid(std::array<int, 2>{-2, -3}, {}, 6));
  CHECK_FALSE(
      Grid::is_valid(std::array<int, 3>{1 << 30, 1 << 30, 1 << 30}, {}, 0));
  CHECK_FALSE(Grid::is_valid(good, std::array<int, 2>{0, 0}, 6));
  CHECK_FALSE(Grid::is_valid(good, std::array<int, 1>{2}, 6));
  CHECK_FALSE(Grid::is_valid(good, std::array<int, 1>{-1}, 6));
}
