// The options of QMP on a command line, and QMP_GEOM and QMP_LAYOUT.
#include "qmp/options.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace {

/// A command line that the function under test may change.
struct Line {
  explicit Line(std::vector<std::string> given) : words(std::move(given)) {
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
  }

  std::vector<std::string> left() const {
    return {pointers.begin(), pointers.begin() + count};
  }

  std::vector<std::string> words;
  std::vector<char*> pointers;
  int count = 0;
};

using Numbers = std::vector<int>;
using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("qmp options: ours are taken out with their numbers",
          "[qmp][options]") {
  Line line({"prog", "a", "-qmp-geom", "2", "3", "b", "-qmp-job", "1", "-x",
             "-qmp-alloc-map", "1", "0", "-qmp-logic-map", "0"});
  const auto options = qmp::take_options(&line.count, line.pointers.data());
  REQUIRE(options);
  CHECK(options->geometry == Numbers{2, 3});
  CHECK(options->jobs == Numbers{1});
  CHECK(options->allocated_map == Numbers{1, 0});
  CHECK(options->logical_map == Numbers{0});
  CHECK(line.left() == Strings{"prog", "a", "b", "-x"});
  CHECK(line.pointers[4] == nullptr);
}

TEST_CASE("qmp options: nonsense is refused, and nothing is taken",
          "[qmp][options]") {
  Line none({"prog", "-qmp-geom", "x"});
  CHECK_FALSE(qmp::take_options(&none.count, none.pointers.data()));
  CHECK(none.count == 3);
  Line half({"prog", "-qmp-geom", "2x"});
  CHECK_FALSE(qmp::take_options(&half.count, half.pointers.data()));
}

TEST_CASE("qmp options: words that look like ours are noted, and kept",
          "[qmp][options]") {
  Line line({"prog", "-qmp-gom", "2", "-x", "-qmp-job", "1"});
  const auto options = qmp::take_options(&line.count, line.pointers.data());
  REQUIRE(options);
  CHECK(options->unknown == Strings{"-qmp-gom"});
  CHECK(line.left() == Strings{"prog", "-qmp-gom", "2", "-x"});
}

TEST_CASE("qmp options: a sign between two sizes is refused",
          "[qmp][options]") {
  const auto word = GENERATE("x", "x2", "*", ",", "X");
  Line line({"prog", "-qmp-geom", "2", word, "2"});
  CHECK_FALSE(qmp::take_options(&line.count, line.pointers.data()));
  Line operand({"prog", "-qmp-geom", "2", "xfile"});
  CHECK(qmp::take_options(&operand.count, operand.pointers.data()));
  CHECK(operand.left() == Strings{"prog", "xfile"});
}

TEST_CASE("qmp options: QMP_GEOM stands for -qmp-geom", "[qmp][options]") {
  ::setenv("QMP_GEOM", " 4 2", 1);
  CHECK(qmp::take_options(nullptr, nullptr)->geometry == Numbers{4, 2});
  Line line({"prog", "-qmp-geom", "8"});
  CHECK(qmp::take_options(&line.count, line.pointers.data())->geometry ==
        Numbers{8});
  ::setenv("QMP_GEOM", "4 two", 1);
  CHECK_FALSE(qmp::take_options(nullptr, nullptr));
  ::unsetenv("QMP_GEOM");
}

TEST_CASE("qmp options: QMP_LAYOUT names how a lattice is divided",
          "[qmp][options]") {
  CHECK(qmp::take_options(nullptr, nullptr)->layout ==
        qmp::Layout::kLeastSurface);
  ::setenv("QMP_LAYOUT", "surface", 1);
  CHECK(qmp::take_options(nullptr, nullptr)->layout ==
        qmp::Layout::kLeastSurface);
  ::setenv("QMP_LAYOUT", "published", 1);
  CHECK(qmp::take_options(nullptr, nullptr)->layout == qmp::Layout::kPublished);
  ::setenv("QMP_LAYOUT", "greedy", 1);
  CHECK_FALSE(qmp::take_options(nullptr, nullptr));
  ::unsetenv("QMP_LAYOUT");
}
