// Tests one link between the leaders of two hosts.
#include "runtime/bootstrap_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/bootstrap_link_socket.h"

namespace acp::runtime {

namespace {

constexpr LinkKey kTestKey{1, 2, 3};
constexpr LinkMessage kAbsentMessage{LinkMessageType::kAbsent, 0, 77, 3};
constexpr LinkMessage kGoodbyeMessage{LinkMessageType::kGoodbye, 0, 0, 0};

/// A link that rank 0 has taken, and the other end, which is the test's.
struct Pair {
  Pair() {
    LinkListener listener = open_link_listener();
    REQUIRE(listener.socket);
    other = connect_link("127.0.0.1", listener.port, {});
    REQUIRE(other);
    UniqueFd taken(
        ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK));
    REQUIRE(taken);
    link.emplace(std::move(taken), LinkOrigin::kThere);
  }

  void say(std::string_view bytes) const {
    REQUIRE(::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }

  void say(const LinkMessage& message) const { say(bytes_of(message)); }

  static std::string_view bytes_of(const LinkMessage& message) {
    return {reinterpret_cast<const char*>(&message), sizeof message};
  }

  bool read() { return link->read(kTestKey, messages); }

  UniqueFd other;
  std::optional<HostLink> link;
  std::vector<LinkMessage> messages;
};

}  // namespace

TEST_CASE("host link: a stranger becomes known by the key") {
  Pair pair;
  CHECK(pair.read());
  CHECK_FALSE(pair.link->is_known());
  REQUIRE(send_greeting(pair.other.get(), kTestKey, 7));
  CHECK(pair.read());
  CHECK(pair.link->is_known());
  CHECK(pair.link->rank() == 7);
  CHECK(pair.link->address() == "127.0.0.1");
  CHECK(pair.messages.empty());
}

TEST_CASE("host link: another key ends the connection") {
  Pair pair;
  REQUIRE(send_greeting(pair.other.get(), LinkKey{9}, 7));
  CHECK_FALSE(pair.read());
  CHECK_FALSE(pair.link->is_known());
}

TEST_CASE("host link: a message may come in parts") {
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

TEST_CASE("host link: the goodbye is no message, and an end is told") {
  Pair pair;
  REQUIRE(send_greeting(pair.other.get(), kTestKey, 7));
  pair.say(kGoodbyeMessage);
  LinkMessage other = kAbsentMessage;
  other.type = static_cast<LinkMessageType>('?');
  pair.say(other);
  CHECK(pair.read());
  CHECK(pair.link->is_leaving());
  CHECK(pair.messages.empty());
  pair.other.reset();
  CHECK_FALSE(pair.read());
}

TEST_CASE("host link: bytes that a full connection does not take leave later") {
  Pair pair;
  const int small = 4096;
  REQUIRE(::setsockopt(pair.link->fd(), SOL_SOCKET, SO_SNDBUF, &small,
                       sizeof small) == 0);
  REQUIRE(::setsockopt(pair.other.get(), SOL_SOCKET, SO_RCVBUF, &small,
                       sizeof small) == 0);
  constexpr std::uint64_t kMessages = 1 << 14;
  LinkMessage message = kAbsentMessage;
  for (message.meetings = 0; message.meetings < kMessages; ++message.meetings) {
    pair.link->send(message);
  }
  HostLink other(std::move(pair.other), LinkOrigin::kHere);
  std::vector<LinkMessage> received;
  bool was_full = false;
  while (received.size() < kMessages) {
    pollfd ready{other.fd(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    REQUIRE(other.read(kTestKey, received));
    was_full = was_full || received.size() < kMessages;
    pair.link->flush();
  }
  CHECK(was_full);
  REQUIRE(received.size() == kMessages);
  CHECK(received.back().meetings == kMessages - 1);
}

TEST_CASE("host link: a port without a listener refuses") {
  LinkListener listener = open_link_listener();
  const std::uint16_t port = listener.port;
  listener.socket.reset();
  CHECK_FALSE(connect_link("127.0.0.1", port, {}));
  CHECK(errno == ECONNREFUSED);
}

}  // namespace acp::runtime
