// Tests how the join command carries PMI messages, and how it finds the one of
// MPI_Abort.
#include "launcher/pmi_relay.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// Feeds a finder byte by byte. Returns the status that it finds; -1: no abort.
int found_in(const std::string& text) {
  PmiAbortFinder finder;
  int found = -1;
  for (const char byte : text) {
    found = finder.feed(std::string(1, byte)).value_or(found);
  }
  PmiAbortFinder at_once;
  CHECK(at_once.feed(text).value_or(-1) == found);
  return found;
}

std::string read_from(int fd) {
  std::array<char, 256> buffer{};
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(n > 0 ? n : 0)};
}

}  // namespace

TEST_CASE("pmi relay: an abort of PMI-1 and of PMI-2 is found", "[macprun]") {
  CHECK(found_in("cmd=init pmi_version=1\ncmd=abort exitcode=9\n") == 9);
  CHECK(found_in("cmd=abort\n") == 1);
  CHECK(found_in("cmd=abort exitcode=-1\n") == 1);
  CHECK(found_in(
            "cmd=init pmi_version=2\n    30cmd=abort;isworld=TRUE;msg=no;") ==
        1);
  CHECK(found_in("    13cmd=job-getid    10cmd=abort;") == 1);
}

TEST_CASE("pmi relay: a text that is like an abort is none", "[macprun]") {
  CHECK(found_in("cmd=abort exitcode=9") == -1);
  CHECK(found_in("cmd=put key=a value=cmd=abort\n") == -1);
  CHECK(found_in("cmd=abortive\n") == -1);
  CHECK(found_in("    32cmd=kvs-put;value=   9cmd=abort;") == -1);
  CHECK(found_in("      no PMI") == -1);
  PmiAbortFinder finder;
  CHECK_FALSE(finder.feed(std::string(3 << 20, 'x')));
}

// Both ends of the relay are in this process. The steps are bytes to the
// launcher, bytes to the program, an abort that the relay notices and passes
// on, and the launcher's end.
TEST_CASE("pmi relay: bytes pass in both directions", "[macprun]") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const UniqueFd launcher(ends[0]);
  std::vector<std::string> environment{
      "A=b", "PMI_FD=" + std::to_string(ends[1]), "PMI_RANK=1"};
  std::vector<int> aborts;
  UniqueFd program;
  {
    PmiRelay relay([&aborts](int status) { aborts.push_back(status); });
    program = relay.put_between(environment);
    REQUIRE(program);
    CHECK(value_in(environment, "PMI_FD") == std::to_string(program.get()));
    CHECK(environment.size() == 3);
    CHECK((::fcntl(ends[1], F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(::write(program.get(), "cmd=init\n", 9) == 9);
    relay.pass_on_from_program();
    CHECK(read_from(launcher.get()) == "cmd=init\n");
    REQUIRE(::write(launcher.get(), "rc=0\n", 5) == 5);
    relay.pass_on_from_launcher();
    CHECK(read_from(program.get()) == "rc=0\n");
    CHECK(aborts.empty());
    REQUIRE(::write(program.get(), "cmd=abort exitcode=9\n", 21) == 21);
    relay.pass_on_from_program();
    CHECK(aborts == std::vector<int>{9});
    CHECK(read_from(launcher.get()) == "cmd=abort exitcode=9\n");
    ::shutdown(launcher.get(), SHUT_RDWR);
    relay.pass_on_from_launcher();
    CHECK(relay.launcher_fd() == -1);
    CHECK(relay.program_fd() == -1);
  }
  CHECK(read_from(program.get()).empty());
  ::close(ends[1]);
}

TEST_CASE("pmi relay: without a socket of PMI nothing is relayed",
          "[macprun]") {
  for (const char* fd :
       {"PMI_FD=", "PMI_FD=9999", "PMI_FD=x", "PMI_PORT=h:1"}) {
    std::vector<std::string> environment{fd};
    PmiRelay relay([](int) {});
    CHECK_FALSE(relay.put_between(environment));
    CHECK(environment.front() == fd);
    CHECK(relay.program_fd() == -1);
    CHECK(relay.launcher_fd() == -1);
  }
}

}  // namespace acp::launcher
