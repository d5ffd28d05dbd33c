// Tests one connection between the leaders of two hosts.
#include "runtime/host_connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/host_connection_socket.h"

namespace acp::runtime {

namespace {

constexpr LeaderKey kTestKey{1, 2, 3};
constexpr LeaderMessage kAbsentMessage{LeaderMessageType::kAbsent, 0, 77, 3};
constexpr LeaderMessage kGoodbyeMessage{LeaderMessageType::kGoodbye, 0, 0, 0};

/// A connection that rank 0 has taken, and the other end, which is the test's.
struct Pair {
  Pair() {
    HostListener listener = open_host_listener();
    REQUIRE(listener.socket);
    other = open_host_connection("127.0.0.1", listener.port, {});
    REQUIRE(other);
    UniqueFd taken(
        ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK));
    REQUIRE(taken);
    connection.emplace(std::move(taken), ConnectionOrigin::kThere);
  }

  void say(std::string_view bytes) const {
    REQUIRE(::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }

  void say(const LeaderMessage& message) const { say(bytes_of(message)); }

  static std::string_view bytes_of(const LeaderMessage& message) {
    return {reinterpret_cast<const char*>(&message), sizeof message};
  }

  bool read() { return connection->read(kTestKey, messages); }

  UniqueFd other;
  std::optional<HostConnection> connection;
  std::vector<LeaderMessage> messages;
};

}  // namespace

TEST_CASE("host connection: a stranger becomes known by the key") {
  Pair pair;
  CHECK(pair.read());
  CHECK_FALSE(pair.connection->is_known());
  REQUIRE(send_greeting(pair.other.get(), kTestKey, 7));
  CHECK(pair.read());
  CHECK(pair.connection->is_known());
  CHECK(pair.connection->rank() == 7);
  CHECK(pair.connection->address() == "127.0.0.1");
  CHECK(pair.messages.empty());
}

TEST_CASE("host connection: another key ends the connection") {
  Pair pair;
  REQUIRE(send_greeting(pair.other.get(), LeaderKey{9}, 7));
  CHECK_FALSE(pair.read());
  CHECK_FALSE(pair.connection->is_known());
}

TEST_CASE("host connection: a message may come in parts") {
  Pair pair;
  REQUIRE(send_greeting(pair.other.get(), kTestKey, 7));
  CHECK(pair.read());
  const auto bytes = Pair::bytes_of(kAbsentMessage);
  pair.say(bytes.substr(0, 5));
  CHECK(pair.read());
  CHECK(pair.messages.empty());
  pair.say(bytes.substr(5));
  pair.say(kAbsentMessage);
  CHECK(pair.read());
  REQUIRE(pair.messages.size() == 2);
  CHECK(pair.messages[0].absence == kAbsentMessage.absence);
  CHECK(pair.messages[0].meetings == kAbsentMessage.meetings);
}

TEST_CASE("host connection: the goodbye is no message, and an end is told") {
  Pair pair;
  REQUIRE(send_greeting(pair.other.get(), kTestKey, 7));
  pair.say(kGoodbyeMessage);
  LeaderMessage other = kAbsentMessage;
  other.type = static_cast<LeaderMessageType>('?');
  pair.say(other);
  CHECK(pair.read());
  CHECK(pair.connection->is_leaving());
  CHECK(pair.messages.empty());
  pair.other.reset();
  CHECK_FALSE(pair.read());
}

TEST_CASE(
    "host connection: bytes that a full connection does not take leave later") {
  // TCP opens small windows again only after a pause, and local sockets have
  // none.
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) ==
          0);
  HostConnection sender(UniqueFd(ends[0]), ConnectionOrigin::kHere);
  HostConnection other(UniqueFd(ends[1]), ConnectionOrigin::kHere);
  const int small = 4096;
  REQUIRE(::setsockopt(sender.fd(), SOL_SOCKET, SO_SNDBUF, &small,
                       sizeof small) == 0);
  constexpr std::uint64_t kMessages = 1 << 14;
  LeaderMessage message = kAbsentMessage;
  message.meetings = 0;
  const auto send_next = [&] {
    sender.send(message);
    ++message.meetings;
  };
  while (message.meetings < kMessages) {
    send_next();
  }
  std::vector<LeaderMessage> received;
  bool was_full = false;
  while (received.size() < message.meetings) {
    pollfd ready{other.fd(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    REQUIRE(other.read(kTestKey, received));
    sender.flush();
    // Messages also come behind bytes of which a part has left.
    if (received.size() < kMessages) {
      was_full = true;
      send_next();
    }
  }
  CHECK(was_full);
  REQUIRE(received.size() == message.meetings);
  bool are_in_order = true;
  for (std::size_t i = 0; i < received.size(); ++i) {
    are_in_order = are_in_order && received[i].meetings == i;
  }
  CHECK(are_in_order);
}

TEST_CASE("host connection: a port without a listener refuses") {
  HostListener listener = open_host_listener();
  const std::uint16_t port = listener.port;
  listener.socket.reset();
  CHECK_FALSE(open_host_connection("127.0.0.1", port, {}));
  CHECK(errno == ECONNREFUSED);
}

namespace {

/// A port whose host answers no further connection: its queue of connections
/// that nobody accepts is full.
class FullPort {
 public:
  FullPort() : listener_(open_host_listener()) {
    REQUIRE(listener_.socket);
    REQUIRE(::listen(listener_.socket.get(), 0) == 0);
    only_ = open_host_connection("127.0.0.1", number(), {});
    REQUIRE(only_);
    pollfd ready{listener_.socket.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
  }

  std::uint16_t number() const { return listener_.port; }

 private:
  HostListener listener_;
  UniqueFd only_;
};

constexpr int kSignals = 5;
int g_end_event = -1;  ///< Readable: the wait has to end.
volatile std::sig_atomic_t g_signals = 0;

/// Ends the wait at the last of the signals.
void count_signal(int) {
  g_signals = g_signals + 1;
  if (g_signals == kSignals) {
    const std::uint64_t one = 1;
    (void)!::write(g_end_event, &one, sizeof one);
  }
}

/// A signal each 5 ms while it lives.
class Signals {
 public:
  explicit Signals(int end_event) {
    g_end_event = end_event;
    g_signals = 0;

    struct sigaction action {};

    action.sa_handler = count_signal;
    REQUIRE(::sigaction(SIGALRM, &action, &before_) == 0);
    const itimerval each{{0, 5000}, {0, 5000}};
    REQUIRE(::setitimer(ITIMER_REAL, &each, nullptr) == 0);
  }

  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  ~Signals() {
    const itimerval none{};
    (void)::setitimer(ITIMER_REAL, &none, nullptr);
    (void)::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

}  // namespace

TEST_CASE("host connection: a handled signal does not end the wait for one") {
  const FullPort port;
  const UniqueFd end(::eventfd(0, EFD_CLOEXEC));
  {
    const Signals signals(end.get());
    CHECK_FALSE(open_host_connection("127.0.0.1", port.number(),
                                     {.end_fd = end.get()}));
  }
  CHECK(errno == ETIMEDOUT);
  CHECK(g_signals >= kSignals);
}

}  // namespace acp::runtime
