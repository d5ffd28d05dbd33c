// Tests what strangers can take of rank 0, and that leaders come in beside
// them.
#include "runtime/leader_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/host_connections.h"

using namespace std::chrono_literals;

namespace acp::runtime {

namespace {

constexpr LeaderKey kKey{1, 2, 3};

template <typename Condition>
bool becomes(Condition is_true) {
  const auto limit = SteadyClock().now() + 20s;
  while (!is_true()) {
    if (SteadyClock().now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A connection to the port that has said nothing. Empty, with errno.
UniqueFd connect_silently(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return socket && ::connect(socket.get(),
                             reinterpret_cast<const sockaddr*>(&address),
                             sizeof address) == 0
             ? std::move(socket)
             : UniqueFd();
}

/// Silent connections come to the listener at once, as they do when the kernel
/// has kept them back for long enough.
LeaderListener listener_without_defer(std::size_t leaders) {
  LeaderListener listener;
  REQUIRE(listener.open(leaders) == Status::kOk);
  const int off = 0;
  REQUIRE(::setsockopt(listener.fd(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &off,
                       sizeof off) == 0);
  return listener;
}

/// Takes connections until none can be taken.
std::vector<UniqueFd> accept_strangers(LeaderListener& listener,
                                       TimePoint now) {
  std::vector<UniqueFd> taken;
  while (UniqueFd socket = listener.accept(now)) {
    listener.note_stranger(socket.get(), now);
    taken.push_back(std::move(socket));
  }
  return taken;
}

bool is_waiting(const LeaderListener& listener) {
  pollfd ready{listener.fd(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

/// Takes all descriptors that this process may have.
std::vector<UniqueFd> take_all_descriptors() {
  std::vector<UniqueFd> taken;
  for (;;) {
    UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) {
      CHECK(errno == EMFILE);
      return taken;
    }
    taken.push_back(std::move(one));
  }
}

/// Sets the soft limit of open files, and restores it at the end.
class OpenFiles {
 public:
  /// 0: as many as the hard limit says.
  explicit OpenFiles(rlim_t limit) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit changed{limit == 0 ? before_.rlim_max : limit,
                         before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &changed) == 0);
  }

  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  ~OpenFiles() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("leader listener: a stranger has a limited time") {
  LeaderListener listener = listener_without_defer(1);
  const UniqueFd silent = connect_silently(listener.port());
  const TimePoint now = SteadyClock().now();
  const auto taken = accept_strangers(listener, now);
  REQUIRE(taken.size() == 1);
  CHECK(listener.due() == now + LeaderListener::kGreetingLimit);
  CHECK_FALSE(listener.late_stranger(listener.due() - 1ns).has_value());
  CHECK(listener.late_stranger(listener.due()) == taken[0].get());
  listener.note_end(taken[0].get());
  CHECK(listener.due() == TimePoint::max());
}

TEST_CASE("leader listener: strangers have a limited number of descriptors") {
  // A limit that can be raised, and one that cannot.
  const OpenFiles files(GENERATE(rlim_t{FD_SETSIZE}, rlim_t{0}));
  LeaderListener listener = listener_without_defer(1);
  const std::size_t most = listener.most_strangers();
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < most + 3; ++i) {
    silent.push_back(connect_silently(listener.port()));
    REQUIRE(silent.back());
  }
  TimePoint now = SteadyClock().now();
  auto taken = accept_strangers(listener, now);
  CHECK(taken.size() == most);
  CHECK(is_waiting(listener));
  // Others wait, so the oldest ones go soon, and as many come in.
  CHECK(listener.due() == now + LeaderListener::kHurry);
  now = listener.due();
  CHECK(accept_strangers(listener, now).empty());
  for (int i = 0; i < 2; ++i) {
    const auto late = listener.late_stranger(now);
    REQUIRE(late == taken[static_cast<std::size_t>(i)].get());
    listener.note_end(*late);
    CHECK(listener.due() <= now);
  }
  CHECK(accept_strangers(listener, now).size() == 2);
  CHECK(is_waiting(listener));
}

TEST_CASE("leader listener: it closes when all leaders are there") {
  LeaderListener listener = listener_without_defer(2);
  std::vector<UniqueFd> leaders;
  const TimePoint now = SteadyClock().now();
  // The first leader connects twice: it counts once.
  for (const std::uint32_t rank : {4U, 4U, 8U}) {
    CHECK(listener.fd() >= 0);
    const UniqueFd leader = connect_silently(listener.port());
    REQUIRE(leader);
    leaders.push_back(listener.accept(now));
    REQUIRE(leaders.back());
    listener.note_stranger(leaders.back().get(), now);
    listener.note_leader(leaders.back().get(), rank);
  }
  CHECK(listener.fd() == -1);
  CHECK_FALSE(listener.accept(now));
  CHECK(listener.due() == TimePoint::max());
  CHECK_FALSE(connect_silently(listener.port()));
  CHECK(errno == ECONNREFUSED);
}

TEST_CASE(
    "leader listener: a leader comes in where the program took all files") {
  const OpenFiles files(FD_SETSIZE);
  LeaderListener listener = listener_without_defer(2);
  std::vector<UniqueFd> leaders;
  leaders.push_back(connect_silently(listener.port()));
  leaders.push_back(connect_silently(listener.port()));
  const auto all = take_all_descriptors();
  const TimePoint now = SteadyClock().now();
  std::vector<UniqueFd> taken;
  for (const std::uint32_t rank : {4U, 8U}) {
    taken.push_back(listener.accept(now));
    REQUIRE(taken.back());
    CHECK(taken.back().get() >= FD_SETSIZE);
    listener.note_leader(taken.back().get(), rank);
  }
  CHECK(listener.fd() == -1);
}

TEST_CASE("leader listener: strangers make room where there is no descriptor") {
  const OpenFiles files(FD_SETSIZE);
  LeaderListener listener = listener_without_defer(1);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 4; ++i) {
    silent.push_back(connect_silently(listener.port()));
  }
  auto all = take_all_descriptors();
  // The reserve: one for the leader, and one for a stranger.
  TimePoint now = SteadyClock().now();
  auto taken = accept_strangers(listener, now);
  CHECK(taken.size() == 2);
  CHECK(listener.due() == now + LeaderListener::kHurry);
  now = listener.due();
  for (UniqueFd& one : taken) {
    REQUIRE(listener.late_stranger(now) == one.get());
    listener.note_end(one.get());
    one.reset();
  }
  CHECK(accept_strangers(listener, now).size() == 2);
}

// Under FakeJob-like floods: connections that say nothing, or rubbish.
TEST_CASE("host connections: strangers take no descriptor for long") {
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 200; ++i) {
    strangers.push_back(connect_silently(hub.port()));
    REQUIRE(strangers.back());
    if (i % 2 == 0) {
      REQUIRE(::send(strangers.back().get(), "GET / HTTP/1.0", 14,
                     MSG_NOSIGNAL) == 14);
    }
    CHECK_FALSE(hub.look().lost.has_value());
  }
  // The kernel keeps back those that said nothing, and the others are closed.
  char byte = 0;
  CHECK(becomes([&] {
    (void)hub.look();
    return ::recv(strangers[198].get(), &byte, 1, MSG_DONTWAIT) == 0 ||
           errno == ECONNRESET;
  }));
  CHECK(hub.size() == 0);
  HostConnections leaf;
  REQUIRE(leaf.connect("127.0.0.1", hub.port(), kKey, 7, {}));
  CHECK(becomes([&] { return hub.look(), hub.size() == 1; }));
  CHECK_FALSE(connect_silently(hub.port()));
}

}  // namespace acp::runtime
