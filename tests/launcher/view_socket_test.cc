// The sockets of views: who may use them, and what killed acpruns leave.
#include "protocol/view_socket.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include <catch2/catch.hpp>

#include "tests/support/fake_acprun.h"

namespace acp::protocol {

namespace {

namespace fs = std::filesystem;
using test::FakeAcprun;
using test::PrivateFolder;

using Folders = std::array<std::string, 1>;

bool can_listen_in(const std::string& folder, std::string& why) {
  const Folders folders = {folder};
  return ViewListener::open(folders, why).ok();
}

}  // namespace

TEST_CASE("view socket: socket and folder are the owner's alone, and go",
          "[launcher][view]") {
  const PrivateFolder top;
  const Folders folders = {top.path() + "/acp"};
  {
    std::string why;
    const auto listener = ViewListener::open(folders, why);
    REQUIRE(listener.ok());

    struct stat facts {};

    REQUIRE(::stat(folders[0].c_str(), &facts) == 0);
    CHECK((facts.st_mode & 07777) == 0700);
    REQUIRE(::stat(listener->path().c_str(), &facts) == 0);
    CHECK((facts.st_mode & 07777) == 0600);
    CHECK(connect_to_jobs(folders).size() == 1);
    UniqueFd viewer = listener->accept();
    CHECK(viewer);
  }
  CHECK_FALSE(fs::exists(folders[0]));
}

TEST_CASE("view socket: a folder that others can enter is refused",
          "[launcher][view]") {
  const PrivateFolder top;
  std::string why;
  SECTION("mode") {
    REQUIRE(::chmod(top.path().c_str(), 0755) == 0);
    CHECK_FALSE(can_listen_in(top.path(), why));
    CHECK(why.find("chmod 700") != std::string::npos);
  }
  SECTION("a symbolic link") {
    const std::string link = top.path() + "/link";
    fs::create_symlink("/tmp", link);
    CHECK_FALSE(can_listen_in(link, why));
    CHECK(why.find("no folder") != std::string::npos);
  }
  SECTION("another user's") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(top.path().c_str(), 65534, 65534) == 0);
    CHECK_FALSE(can_listen_in(top.path(), why));
    CHECK(why.find("user 65534") != std::string::npos);
  }
  SECTION("a name that is too long") {
    const std::string folder = top.path() + "/" + std::string(100, 'x');
    CHECK_FALSE(can_listen_in(folder, why));
    CHECK(why.find("too long") != std::string::npos);
  }
  const Folders folders = {top.path()};
  CHECK(connect_to_jobs(folders).empty());
}

TEST_CASE("view socket: an acprun that was killed leaves nothing for long",
          "[launcher][view]") {
  const PrivateFolder top;
  const Folders folders = {top.path()};
  std::optional<FakeAcprun> killed;
  killed.emplace(top.path(), test::computing_job(1));
  const std::string socket =
      fmt::format("{}/acprun-{}", top.path(), killed->pid());
  REQUIRE(connect_to_jobs(folders).size() == 1);
  killed.reset();
  REQUIRE(fs::exists(socket));
  SECTION("a viewer removes its socket") {
    CHECK(connect_to_jobs(folders).empty());
  }
  SECTION("the next acprun removes its socket") {
    const FakeAcprun next(top.path(), test::computing_job(1));
    CHECK(fs::exists(fmt::format("{}/acprun-{}", top.path(), next.pid())));
  }
  CHECK_FALSE(fs::exists(socket));
}

TEST_CASE("view socket: another user is turned away", "[launcher][view]") {
  if (::geteuid() != 0) return;
  const PrivateFolder top;
  const Folders folders = {top.path()};
  std::string why;
  const auto listener = ViewListener::open(folders, why);
  REQUIRE(listener.ok());
  // The folder alone keeps the user out; without it SO_PEERCRED does.
  const bool is_open = GENERATE(false, true);
  if (is_open) {
    REQUIRE(::chmod(top.path().c_str(), 0755) == 0);
    REQUIRE(::chmod(listener->path().c_str(), 0666) == 0);
  }
  const pid_t other = ::fork();
  REQUIRE(other >= 0);
  if (other == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, listener->path().c_str(),
                 sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const bool is_connected =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) == 0;
    ::_exit(is_connected ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(WEXITSTATUS(status) == (is_open ? 1 : 0));
  CHECK_FALSE(listener->accept());
}

}  // namespace acp::protocol
