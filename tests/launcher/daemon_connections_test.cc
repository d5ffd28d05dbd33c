// How acprun starts remote shells: how many at once, on one machine and in all,
// and when again after a failure. The shells run on this host.
#include "launcher/daemon_connections.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/machines.h"

namespace acp::launcher {

namespace {

using std::chrono::milliseconds;
using Clock = DaemonConnections::Clock;

constexpr std::chrono::seconds kPatience{60};

/// Orders for a job whose remote shell is `script`, with the name of the host
/// as its first argument.
HostOrders orders_for(const std::string& script) {
  HostOrders orders;
  orders.shell.words = {"sh", "-c", script, "sh"};
  orders.shell.acprun = "acprun";
  orders.groups.emplace_back();
  return orders;
}

std::vector<HostRanks> hosts_named(const std::vector<std::string>& names) {
  std::vector<HostRanks> hosts;
  for (const std::string& name : names) {
    const auto number = static_cast<std::uint32_t>(hosts.size());
    hosts.push_back({number, name, false, {}});
    hosts.back().ranks.append(number);
  }
  return hosts;
}

/// Names with an address each, which no network has (RFC 5737). `users` names
/// for each of `machines` addresses.
std::vector<std::string> names_of(int machines, int users) {
  std::vector<std::string> names;
  for (int user = 0; user < users; ++user) {
    for (int machine = 1; machine <= machines; ++machine) {
      names.push_back("u" + std::to_string(user) + "@203.0.113." +
                      std::to_string(machine));
    }
  }
  return names;
}

/// Turns the loop until the condition holds; false after kPatience.
template <typename Condition>
bool becomes(EventLoop& loop, Condition is_true) {
  const auto limit = Clock::now() + kPatience;
  while (!is_true()) {
    if (Clock::now() > limit) return false;
    loop.turn(milliseconds(5));
  }
  return true;
}

}  // namespace

TEST_CASE("daemon connections: 8 remote shells start at once on one machine",
          "[launcher]") {
  struct Case {
    int machines;
    int users;
    std::size_t at_once;
  };

  // The last has 40 machines: the limit for all of them.
  const auto [machines, users, at_once] =
      GENERATE(Case{1, 20, 8}, Case{2, 10, 16}, Case{12, 1, 12}, Case{3, 2, 6},
               Case{40, 1, 32});
  EventLoop loop;
  REQUIRE(loop.open() == Status::kOk);
  DaemonConnections connections(loop, [](const HostMessage&) {});
  // They wait for orders, as a daemon does, and never greet.
  connections.open(orders_for("read line"),
                   hosts_named(names_of(machines, users)));
  connections.check();
  CHECK(connections.pids_and({}).size() == at_once);
  connections.check();
  CHECK(connections.pids_and({}).size() == at_once);
}

TEST_CASE("daemon connections: each start or end makes room for the next",
          "[launcher]") {
  std::set<std::uint32_t> lost;
  EventLoop loop;
  REQUIRE(loop.open() == Status::kOk);
  DaemonConnections connections(loop, [&lost](const HostMessage& message) {
    if (message.type == HostMessageType::kHostLost) lost.insert(message.host);
  });
  // A status that acprun does not try again after.
  connections.open(orders_for("exit 3"), hosts_named(names_of(1, 20)));
  std::size_t most = 0;
  CHECK(becomes(loop, [&] {
    connections.check();
    most = std::max(most, connections.pids_and({}).size());
    return connections.are_over();
  }));
  CHECK(lost.size() == 20);
  CHECK(most == 8);
}

TEST_CASE("daemon connections: shells that are started again count as well",
          "[launcher]") {
  EventLoop loop;
  REQUIRE(loop.open() == Status::kOk);
  std::size_t lost = 0;
  DaemonConnections connections(loop, [&lost](const HostMessage& message) {
    lost += message.type == HostMessageType::kHostLost ? 1 : 0;
  });
  connections.open(orders_for("exit 255"), hosts_named(names_of(1, 20)));
  std::size_t most = 0;
  CHECK(becomes(loop, [&] {
    connections.check();
    most = std::max(most, connections.pids_and({}).size());
    // A connection that is held has no time of its own to start at.
    CHECK(connections.next() > Clock::now() - kPatience);
    return connections.are_over();
  }));
  CHECK(lost == 20);
  CHECK(most == 8);
}

// Pauses are given by the test, and differ. So the two hosts have to come back
// at different times, and one may then wait for room.
TEST_CASE(
    "daemon connection: two hosts that are refused at once come back apart",
    "[launcher]") {
  EventLoop loop;
  REQUIRE(loop.open() == Status::kOk);
  std::deque<milliseconds> pauses = {milliseconds(600), milliseconds(1900)};
  const auto next_pause = [&pauses] {
    const milliseconds pause = pauses.front();
    pauses.pop_front();
    return pause;
  };
  HostOrders orders = orders_for("exit 255");
  const auto connection_to = [&](const std::string& name) {
    orders.hosts = hosts_named({name});
    return std::make_unique<DaemonConnection>(
        orders, loop, [](const HostMessage&) {}, [](const Reason&) {},
        next_pause);
  };
  const auto one = connection_to("one");
  const auto other = connection_to("other");
  const auto begin = Clock::now();
  const auto refuse = [&loop](DaemonConnection& connection) {
    connection.start();
    return becomes(loop, [&connection] {
      connection.check();
      return !connection.is_starting();
    });
  };
  REQUIRE(refuse(*one));
  REQUIRE(refuse(*other));
  const auto end = Clock::now();
  CHECK(pauses.empty());
  CHECK(one->next() >= begin + milliseconds(600));
  CHECK(one->next() <= end + milliseconds(600));
  CHECK(other->next() >= begin + milliseconds(1900));
  CHECK(other->next() <= end + milliseconds(1900));
  CHECK_FALSE(other->waits_to_start(other->next() - milliseconds(1)));
  CHECK(other->waits_to_start(other->next()));
  other->wait_for_room();
  CHECK(other->next() == Clock::time_point::max());
  CHECK(other->waits_to_start(Clock::now()));
}

TEST_CASE("retry pauses: they are random, between half a second and two",
          "[launcher]") {
  constexpr int kPauses = 1000;
  std::set<milliseconds> seen;
  RetryPauses pauses(7);
  RetryPauses same(7);
  RetryPauses another(8);
  int equal = 0;
  for (int i = 0; i < kPauses; ++i) {
    const milliseconds pause = pauses.next();
    CHECK(pause >= milliseconds(500));
    CHECK(pause <= milliseconds(2000));
    CHECK(pause == same.next());
    equal += pause == another.next() ? 1 : 0;
    seen.insert(pause);
  }
  // 1,501 values are possible; about 730 of them come.
  CHECK(seen.size() > 600);
  CHECK(*seen.begin() < milliseconds(550));
  CHECK(*seen.rbegin() > milliseconds(1950));
  CHECK(equal < 20);
}

TEST_CASE("machines: names of one address are one machine", "[launcher]") {
  // The one that the resolver has to ask others for comes last.
  const std::vector<std::string> names = {
      "203.0.113.7", "me@203.0.113.7", "3405803783",    "0xcb.0.113.7",
      "203.0.113.8", "127.0.0.1",      "127.8.9.10",    "::1",
      "2001:db8::1", "2001:db8:0::1",  "nobody.invalid"};
  const std::vector<std::string> machines = machines_of(names);
  REQUIRE(machines.size() == names.size());
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(names[i]);
    CHECK(machines[i] == "203.0.113.7");
  }
  CHECK(machines[4] == "203.0.113.8");
  CHECK(machines[5] == machines[6]);
  CHECK(machines[5] == machines[7]);
  CHECK(machines[8] == machines[9]);
  CHECK(machines[8] != machines[0]);
  CHECK(machines[10] == "nobody.invalid");
}

}  // namespace acp::launcher
