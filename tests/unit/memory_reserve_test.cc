// The reserve: the handler of failed allocations, which these tests call as
// operator new does.
#include "base/memory_reserve.h"

#include <new>

#include <catch2/catch.hpp>

namespace acp {

namespace {

int g_handler_calls = 0;  ///< Calls of the program's own handler.

/// Calls the handler until it throws; returns how often it has returned.
int count_tries() {
  int tries = 0;
  try {
    for (; tries < 1000; ++tries)
      std::get_new_handler()();
  } catch (const std::bad_alloc&) {
    return tries;
  }
  return -1;
}

/// The reserve while it lives.
class Taken {
 public:
  Taken() {
    REQUIRE(take_memory_reserve([]() noexcept {}));
  }

  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  ~Taken() { give_back_memory_reserve(); }
};

}  // namespace

TEST_CASE("memory reserve: it answers failed allocations until it is used up",
          "[base][memory]") {
  const Taken reserve;
  CHECK(has_memory_reserve());
  const int tries = count_tries();
  CHECK(tries > 10);
  CHECK(count_tries() == 0);
  CHECK(has_memory_reserve());  // The system has memory in this test.
  CHECK(count_tries() == tries);
}

TEST_CASE("memory reserve: an allocation that may fail leaves it alone",
          "[base][memory]") {
  const Taken reserve;
  const MustNotFail outer;
  {
    const MayFail inner;
    CHECK(count_tries() == 0);
  }
  CHECK_NOTHROW(std::get_new_handler()());
}

TEST_CASE("memory reserve: the program's own handler comes behind it",
          "[base][memory]") {
  g_handler_calls = 0;
  std::set_new_handler([] {
    if (++g_handler_calls == 3) throw std::bad_alloc();
  });
  const std::new_handler own = std::get_new_handler();
  {
    const Taken reserve;
    CHECK(std::get_new_handler() != own);
    CHECK(count_tries() > 10);
    CHECK(g_handler_calls == 3);
  }
  CHECK(std::get_new_handler() == own);
  std::set_new_handler(nullptr);
}

TEST_CASE("memory reserve: without one every question has the answer yes",
          "[base][memory]") {
  CHECK(has_memory_reserve());
  const std::new_handler before = std::get_new_handler();
  { const Taken reserve; }
  CHECK(std::get_new_handler() == before);
  CHECK(has_memory_reserve());
}

}  // namespace acp
