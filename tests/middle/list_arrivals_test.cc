// Which thread of a process came to an element of a list last.
#include <catch2/catch.hpp>

#include "middle/list/arrivals.h"

namespace acp::middle::list {

constexpr acp_ga_t kElement = 0x1000;

TEST_CASE("list arrivals: the last one counts until another comes",
          "[list][arrivals]") {
  Arrivals arrivals;
  const Arrivals::Time first = arrivals.now();
  const std::uint64_t mark = arrivals.arrive(kElement, first);
  CHECK(mark != Arrivals::kNone);
  CHECK(arrivals.is_last(kElement, mark, first));
  const Arrivals::Time second = arrivals.now();
  const std::uint64_t other = arrivals.arrive(kElement, second);
  CHECK_FALSE(arrivals.is_last(kElement, mark, first));
  CHECK(arrivals.is_last(kElement, other, second));
}

// The thread that arrives later may have read the link before it was changed,
// and the other one after that.
TEST_CASE("list arrivals: one that reads while another comes does not count",
          "[list][arrivals]") {
  Arrivals arrivals;
  const Arrivals::Time slow = arrivals.now();
  const Arrivals::Time fast = arrivals.now();
  const std::uint64_t mark = arrivals.arrive(kElement, fast);
  CHECK(arrivals.is_last(kElement, mark, fast));
  const std::uint64_t late = arrivals.arrive(kElement, slow);
  CHECK(late == Arrivals::kNone);
  CHECK_FALSE(arrivals.is_last(kElement, late, slow));
  CHECK_FALSE(arrivals.is_last(kElement, mark, fast));
}

TEST_CASE("list arrivals: an iterator from elsewhere ends them",
          "[list][arrivals]") {
  Arrivals arrivals;
  const Arrivals::Time time = arrivals.now();
  arrivals.note_other();
  const std::uint64_t mark = arrivals.arrive(kElement, time);
  CHECK_FALSE(arrivals.is_last(kElement, mark, time));
}

// Threads that walk two lists do not slow each other, or seldom.
TEST_CASE("list arrivals: other elements leave the last one alone",
          "[list][arrivals]") {
  Arrivals arrivals;
  const Arrivals::Time time = arrivals.now();
  int ended = 0;
  for (acp_ga_t other = 1; other <= 1000; ++other) {
    const std::uint64_t mark = arrivals.arrive(kElement, arrivals.now());
    (void)arrivals.arrive(kElement + other * 80, arrivals.now());
    ended += arrivals.is_last(kElement, mark, time) ? 0 : 1;
  }
  CHECK(ended < 40);  // 1 of 64
}

}  // namespace acp::middle::list
