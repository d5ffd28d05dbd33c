// Both divisions of a lattice, against a search through all divisions.
#include "qmp/layout.h"

#include <climits>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

using qmp::divide_lattice;
using qmp::Layout;
using Sizes = std::vector<int>;

namespace {

/// The sites on those faces of a part that lie between nodes, counted face by
/// face. -1: the division does not fit.
std::int64_t count_faces(const Sizes& lattice, const Sizes& divided) {
  std::int64_t faces = 0;
  for (std::size_t axis = 0; axis < lattice.size(); ++axis) {
    if (lattice[axis] % divided[axis] != 0) {
      return -1;
    }
    std::int64_t face = 1;
    for (std::size_t other = 0; other < lattice.size(); ++other) {
      face *= other == axis ? 1 : lattice[other] / divided[other];
    }
    faces += divided[axis] > 1 ? 2 * face : 0;
  }
  return faces;
}

/// The least surface of all divisions among `nodes` from an axis on. -1: there
/// is none.
std::int64_t least_of_all(const Sizes& lattice, int nodes, Sizes& divided) {
  if (divided.size() == lattice.size()) {
    return nodes == 1 ? count_faces(lattice, divided) : -1;
  }
  std::int64_t least = -1;
  for (int parts = 1; parts <= nodes; ++parts) {
    if (nodes % parts != 0) {
      continue;
    }
    divided.push_back(parts);
    const std::int64_t faces = least_of_all(lattice, nodes / parts, divided);
    divided.pop_back();
    if (faces >= 0 && (least < 0 || faces < least)) {
      least = faces;
    }
  }
  return least;
}

void check_against_all(const Sizes& lattice, int nodes) {
  Sizes none;
  const std::int64_t least = least_of_all(lattice, nodes, none);
  const auto found = divide_lattice(lattice, nodes, Layout::kLeastSurface);
  const auto published = divide_lattice(lattice, nodes, Layout::kPublished);
  INFO("lattice " << Catch::StringMaker<Sizes>::convert(lattice) << ", nodes "
                  << nodes);
  REQUIRE(found.has_value() == (least >= 0));
  REQUIRE(published.has_value() == (least >= 0));
  if (!found) {
    return;
  }
  int product = 1;
  for (const int parts : *found) {
    product *= parts;
  }
  REQUIRE(product == nodes);
  REQUIRE(count_faces(lattice, *found) == least);
  REQUIRE(qmp::surface_of(lattice, *found) == least);
  // When the published division has the least surface, it is taken.
  if (count_faces(lattice, *published) == least) {
    REQUIRE(*found == *published);
  }
}

}  // namespace

TEST_CASE("qmp layout: the published division goes along the largest axes",
          "[qmp][layout]") {
  const auto divide = [](const Sizes& lattice, int nodes) {
    return divide_lattice(lattice, nodes, Layout::kPublished);
  };
  CHECK(divide({4, 4, 8, 8}, 2) == Sizes{1, 1, 1, 2});
  CHECK(divide({4, 4, 8, 8}, 4) == Sizes{1, 1, 2, 2});
  CHECK(divide({24, 24, 24, 32}, 128) == Sizes{4, 4, 2, 4});
  CHECK(divide({16, 16, 16, 16}, 4) == Sizes{1, 1, 2, 2});
  CHECK(divide({8, 6}, 4) == Sizes{2, 2});
  CHECK(divide({6, 10}, 15) == Sizes{3, 5});
  CHECK(divide({5}, 1) == Sizes{1});
  CHECK_FALSE(divide({4, 4}, 3));
  CHECK_FALSE(divide({4, 4}, 32));
}

TEST_CASE("qmp layout: the least surface", "[qmp][layout]") {
  const auto divide = [](const Sizes& lattice, int nodes) {
    return divide_lattice(lattice, nodes, Layout::kLeastSurface);
  };
  CHECK(divide({8, 6}, 4) == Sizes{4, 1});
  CHECK(divide({8, 16}, 4) == Sizes{1, 4});
  CHECK(divide({24, 24, 24, 32}, 128) == Sizes{4, 4, 2, 4});
  CHECK(divide({16, 16, 16, 16}, 4) == Sizes{1, 1, 2, 2});
  CHECK(divide({5}, 1) == Sizes{1});
  CHECK_FALSE(divide({4, 4}, 3));
  CHECK_FALSE(divide({4, 4}, 32));
}

TEST_CASE("qmp layout: no division has less surface", "[qmp][layout]") {
  for (int x = 1; x <= 12; ++x) {
    for (int y = 1; y <= 12; ++y) {
      for (const int nodes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 36}) {
        check_against_all({x, y}, nodes);
        check_against_all({x, y, 6, 4}, nodes);
      }
    }
  }
  std::mt19937 random(2026);
  for (int round = 0; round < 400; ++round) {
    Sizes lattice(1 + random() % 5);
    for (int& size : lattice) {
      size = 2 * (1 + static_cast<int>(random() % 36));
    }
    check_against_all(lattice, 1 << random() % 8);
    check_against_all(lattice, 1 + static_cast<int>(random() % 200));
  }
}

TEST_CASE("qmp layout: thousands of nodes, many axes", "[qmp][layout]") {
  int divided = 0;
  for (int nodes = 1; nodes <= 10'000; ++nodes) {
    divided +=
        divide_lattice(Sizes{48, 60, 72, 96, 210}, nodes, Layout::kLeastSurface)
                .has_value()
            ? 1
            : 0;
  }
  CHECK(divided > 200);
  // 1,600 divisors, the most that an int has, and more ways than can be tried.
  const int many = 2'095'133'040;
  const Sizes lattice{2 * 2 * 2 * 2 * 3 * 3 * 3 * 3 * 5,
                      7 * 11 * 13 * 17 * 19,
                      6,
                      10,
                      14,
                      22,
                      26};
  const auto found = divide_lattice(lattice, many, Layout::kLeastSurface);
  REQUIRE(found);
  CHECK(qmp::surface_of(lattice, *found) <=
        qmp::surface_of(lattice,
                        *divide_lattice(lattice, many, Layout::kPublished)));
}

TEST_CASE("qmp layout: a part that an int cannot count is refused",
          "[qmp][layout]") {
  const Sizes lattice{INT_MAX, INT_MAX, INT_MAX};
  for (const Layout layout : {Layout::kLeastSurface, Layout::kPublished}) {
    CHECK_FALSE(divide_lattice(lattice, 1, layout));
    CHECK(divide_lattice(Sizes{INT_MAX, INT_MAX}, INT_MAX, layout));
  }
}
