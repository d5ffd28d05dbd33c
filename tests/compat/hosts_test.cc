// Tests the host numbers and the neighbours of the LQCD interface.
#include "compat/lqcd/hosts.h"

#include <catch2/catch.hpp>

using lqcd::Hosts;

TEST_CASE("hosts: the ranks, without a topology", "[lqcd]") {
  const Hosts hosts(3);
  CHECK(hosts.count() == 3);
  CHECK(hosts.rank_of(2) == 2);
  CHECK(hosts.is_host(2));
  CHECK_FALSE(hosts.is_host(3));
  CHECK_FALSE(hosts.is_host(-1));
  CHECK_FALSE(hosts.has_topology());
}

TEST_CASE("hosts: x varies most rapidly, and the torus wraps", "[lqcd]") {
  // 3 x 2 hosts; ranks count backwards, so rank 4 is host 1.
  const Hosts hosts({3, 2}, {5, 4, 3, 2, 1, 0}, 4);
  CHECK(hosts.has_topology());
  CHECK(hosts.neighbour(+1) == 2);
  CHECK(hosts.neighbour(-1) == 0);
  CHECK(hosts.neighbour(+2) == 4);
  CHECK(hosts.neighbour(-2) == 4);
  CHECK(hosts.rank_of(hosts.neighbour(+2)) == 1);
  const Hosts last({3, 2}, {0, 1, 2, 3, 4, 5}, 5);
  CHECK(last.neighbour(+1) == 3);
  CHECK(last.neighbour(+2) == 2);
}

TEST_CASE("hosts: an axis of size 1 leads to oneself", "[lqcd]") {
  const Hosts hosts({1, 2}, {0, 1}, 1);
  CHECK(hosts.neighbour(+1) == 1);
  CHECK(hosts.neighbour(-1) == 1);
  CHECK(hosts.neighbour(-2) == 0);
}
