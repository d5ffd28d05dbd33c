// Tests the socket of a seat: which connections it takes.
#include "launcher/seat_socket.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

std::string token() {
  return "test-" + std::to_string(::getpid());
}

/// The exit status of a child that runs `part`.
template <typename Part>
int status_of_child(Part part) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(part() ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("seat socket: a process of the same user comes in", "[macprun]") {
  auto listener = listen_at_seat(token(), 3);
  REQUIRE(listener.ok());
  CHECK_FALSE(accept_at_seat(listener->get()));
  CHECK(errno == EAGAIN);
  const UniqueFd other = connect_to_seat(token(), 3);
  REQUIRE(other);
  CHECK(accept_at_seat(listener->get()));
}

// The seat serves signals after each connection. So one call takes one
// connection, although the other user connects again and again.
TEST_CASE("seat socket: another user is kept out, one in each turn",
          "[macprun]") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can be another user");
    return;
  }
  const std::string name = token();
  auto listener = listen_at_seat(name, 4);
  REQUIRE(listener.ok());
  REQUIRE(status_of_child([&name] {
            if (::setuid(64321) != 0) return false;
            // The connections stay in the queue of the listener.
            return !connect_to_seat(name, 4) && !connect_to_seat(name, 4);
          }) == 0);
  const UniqueFd rank = connect_to_seat(name, 4);
  REQUIRE(rank);
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(accept_at_seat(listener->get()));
    CHECK(errno == EAGAIN);
  }
  CHECK(accept_at_seat(listener->get()));
}

TEST_CASE("seat socket: a lack of descriptors is told", "[macprun]") {
  auto listener = listen_at_seat(token(), 5);
  REQUIRE(listener.ok());
  const UniqueFd other = connect_to_seat(token(), 5);
  REQUIRE(other);
  CHECK(status_of_child([&] {
          const rlimit none{3, 3};
          return ::setrlimit(RLIMIT_NOFILE, &none) == 0 &&
                 !accept_at_seat(listener->get()) && errno == EMFILE;
        }) == 0);
  CHECK(accept_at_seat(listener->get()));
}

}  // namespace acp::launcher
