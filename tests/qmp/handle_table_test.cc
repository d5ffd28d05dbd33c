// Handles of freed objects: the table that knows them.
#include "qmp/handle_table.h"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace {

struct Opaque;

using Table = qmp::HandleTable<int, Opaque*>;

Opaque* number(std::uintptr_t value) {
  return reinterpret_cast<Opaque*>(value);
}

}  // namespace

TEST_CASE("qmp handles: a handle leads to its object until it is removed",
          "[qmp][handles]") {
  const auto table = std::make_unique<Table>();
  int one = 1;
  int two = 2;
  Opaque* first = table->add(&one);
  Opaque* second = table->add(&two);
  REQUIRE(first != nullptr);
  CHECK(table->find(first) == &one);
  CHECK(table->find(second) == &two);
  CHECK(table->remove(first) == &one);
  CHECK(table->find(first) == nullptr);
  CHECK(table->remove(first) == nullptr);
  CHECK(table->find(second) == &two);
  // The entry is used again, with another handle.
  Opaque* third = table->add(&one);
  CHECK(third != first);
  CHECK(table->find(third) == &one);
  CHECK(table->find(first) == nullptr);
  CHECK(table->remove(first) == nullptr);
  CHECK(table->find(third) == &one);
}

TEST_CASE("qmp handles: what is no handle leads to nothing", "[qmp][handles]") {
  const auto table = std::make_unique<Table>();
  int object = 0;
  CHECK(table->find(nullptr) == nullptr);
  CHECK(table->find(number(1)) == nullptr);
  CHECK(table->add(&object) != nullptr);
  for (const std::uintptr_t value :
       {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{5},
        std::uintptr_t{1} << 32 | 5, std::uintptr_t{2} << 32,
        std::uintptr_t{1} << 32 | 0xffffffff, ~std::uintptr_t{0},
        reinterpret_cast<std::uintptr_t>(&object)}) {
    INFO(value);
    CHECK(table->find(number(value)) == nullptr);
    CHECK(table->remove(number(value)) == nullptr);
  }
}

TEST_CASE("qmp handles: many at a time, all different", "[qmp][handles]") {
  const auto table = std::make_unique<Table>();
  std::vector<int> objects(5000);
  std::vector<Opaque*> handles;
  for (int& each : objects) {
    handles.push_back(table->add(&each));
  }
  CHECK(std::set<Opaque*>(handles.begin(), handles.end()).size() ==
        objects.size());
  for (std::size_t i = 0; i < objects.size(); i += 2) {
    CHECK(table->remove(handles[i]) == &objects[i]);
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    CHECK(table->find(handles[i]) == (i % 2 == 0 ? nullptr : &objects[i]));
  }
}
