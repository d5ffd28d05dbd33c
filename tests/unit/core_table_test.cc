// CoreTable: ranks find out whether they share a core with other ranks.
#include "runtime/core_table.h"

#include <sched.h>

#include <optional>

#include <catch2/catch.hpp>

#include "support/host_memory.h"
#include "support/on_one_core.h"

namespace acp::runtime {

namespace {

cpu_set_t allowed_cores() {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  return allowed;
}

/// An allowed core other than the core to which this thread is bound.
std::optional<std::size_t> other_core(const cpu_set_t& allowed) {
  const auto here = static_cast<std::size_t>(::sched_getcpu());
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (core != here && CPU_ISSET(core, &allowed)) {
      return core;
    }
  }
  return std::nullopt;
}

void move_to(std::size_t core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  REQUIRE(::sched_setaffinity(0, sizeof only, &only) == 0);
}

}  // namespace

TEST_CASE("core table: a rank finds others that have waited on its core",
          "[runtime][core_table]") {
  const test::HostMemory host(3);
  CoreTable one(host.segment(), 0);
  CoreTable two(host.segment(), 2);
  const test::OnOneCore here;
  CHECK_FALSE(one.is_shared_here());
  CHECK_FALSE(one.is_shared_here());
  CHECK(two.is_shared_here());
  CHECK(one.is_shared_here());
}

// This thread stands for both ranks, and moves between two cores. A rank that
// looks on another core gives up its entry for the first.
TEST_CASE("core table: a rank that has moved leaves its core to the others",
          "[runtime][core_table]") {
  const test::HostMemory host(2);
  CoreTable one(host.segment(), 0);
  CoreTable two(host.segment(), 1);
  const cpu_set_t allowed = allowed_cores();
  const test::OnOneCore here;
  const std::optional<std::size_t> elsewhere = other_core(allowed);
  if (!elsewhere) {
    WARN("there is one core only");
    return;
  }
  const auto home = static_cast<std::size_t>(::sched_getcpu());
  CHECK_FALSE(one.is_shared_here());
  CHECK(two.is_shared_here());
  move_to(*elsewhere);
  CHECK_FALSE(two.is_shared_here());
  move_to(home);
  CHECK_FALSE(one.is_shared_here());
}

}  // namespace acp::runtime
