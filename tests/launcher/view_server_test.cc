// acprun's side of acp_top: looks are shared and rare, and no viewer can keep
// acprun busy.
#include "launcher/view_server.h"

#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/fake_acprun.h"

namespace acp::launcher {

namespace {

using protocol::JobView;
using std::chrono::milliseconds;
using Clock = ViewServer::Clock;

/// A server in this process. The test is its event loop and its viewers.
struct Host {
  Host() {
    REQUIRE(loop.open() == Status::kOk);
    server.open(folders);
    loop.turn(milliseconds(0));
  }

  UniqueFd viewer() {
    auto jobs = protocol::connect_to_jobs(folders);
    REQUIRE(jobs.size() == 1);
    turn();
    return std::move(jobs.front().socket);
  }

  void turn() {
    // accept() and read_from() are handlers of different descriptors.
    for (int i = 0; i < 3; ++i)
      loop.turn(milliseconds(0));
  }

  void send(const UniqueFd& viewer, std::string_view bytes) {
    REQUIRE(::send(viewer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
    turn();
  }

  test::PrivateFolder top;
  std::array<std::string, 1> folders = {top.path()};
  EventLoop loop;
  JobView view = test::computing_job(2);
  ViewServer server{loop, [this] {
                      JobView job = view;
                      job.ranks.clear();
                      return job;
                    }};
};

/// The bytes that have arrived; nullopt when the connection has ended.
std::optional<std::string> receive(const UniqueFd& viewer) {
  std::string bytes;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = ::recv(viewer.get(), buffer.data(), buffer.size(), 0);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return std::nullopt;
    if (n < 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::optional<JobView> view_in(const std::optional<std::string>& bytes) {
  if (!bytes || bytes->size() < protocol::kViewHeaderBytes) {
    return std::nullopt;
  }
  return protocol::decode_view(
      std::string_view{*bytes}.substr(protocol::kViewHeaderBytes));
}

}  // namespace

TEST_CASE("view server: viewers share a look, and the next one waits",
          "[launcher][view]") {
  Host host;
  const UniqueFd first = host.viewer();
  const UniqueFd second = host.viewer();
  const auto now = Clock::now();
  CHECK_FALSE(host.server.is_look_due(now));
  host.send(first, "R");
  host.send(second, "R");
  REQUIRE(host.server.is_look_due(now));
  host.server.note_look(now, now);
  CHECK_FALSE(host.server.is_look_due(now + ViewServer::kLeastPause));
  host.server.answer(host.view);
  CHECK(view_in(receive(first)) == host.view);
  CHECK(view_in(receive(second)) == host.view);
  host.send(first, "R");
  CHECK_FALSE(host.server.is_look_due(now + ViewServer::kLeastPause / 2));
  CHECK(host.server.is_look_due(now + ViewServer::kLeastPause));
  CHECK(host.server.next() == now + ViewServer::kLeastPause);
}

TEST_CASE("view server: a look that took long is followed by a longer pause",
          "[launcher][view]") {
  Host host;
  const UniqueFd viewer = host.viewer();
  const auto end = Clock::now();
  host.server.note_look(end - milliseconds(20), end);
  host.send(viewer, "R");
  CHECK_FALSE(host.server.is_look_due(end + milliseconds(999)));
  CHECK(host.server.is_look_due(end + milliseconds(1000)));
}

TEST_CASE("view server: facts about the job cost no look", "[launcher][view]") {
  Host host;
  const UniqueFd viewer = host.viewer();
  host.send(viewer, "J");
  CHECK_FALSE(host.server.is_asked());
  const auto view = view_in(receive(viewer));
  REQUIRE(view);
  CHECK(view->procs == 2);
  CHECK(view->ranks.empty());
}

TEST_CASE("view server: an answer does without a host that is late",
          "[launcher][view]") {
  Host host;
  const UniqueFd viewer = host.viewer();
  host.send(viewer, "R");
  const auto now = Clock::now();
  host.server.note_look(now, now);
  CHECK_FALSE(host.server.is_answer_overdue(now));
  CHECK(host.server.next() == now + ViewServer::kLookLimit);
  CHECK(host.server.is_answer_overdue(now + ViewServer::kLookLimit));
  host.server.answer(host.view);
  CHECK_FALSE(host.server.is_answer_overdue(now + ViewServer::kLookLimit));
}

TEST_CASE("view server: a viewer that goes takes its question with it",
          "[launcher][view]") {
  Host host;
  {
    const UniqueFd viewer = host.viewer();
    host.send(viewer, "R");
    const auto now = Clock::now();
    host.server.note_look(now, now);
  }
  host.turn();
  CHECK_FALSE(host.server.has_viewers());
  CHECK(host.server.next() == Clock::time_point::max());
}

TEST_CASE("view server: garbage ends the connection, and nothing else",
          "[launcher][view]") {
  Host host;
  const UniqueFd good = host.viewer();
  const UniqueFd bad = host.viewer();
  SECTION("no request") {
    host.send(bad, "x");
  }
  SECTION("two requests at once") {
    host.send(bad, "RR");
  }
  SECTION("a request before the answer") {
    host.send(bad, "R");
    host.send(bad, "R");
  }
  SECTION("a flood") {
    host.send(bad, std::string(100'000, 'R'));
  }
  CHECK_FALSE(receive(bad));
  host.send(good, "R");
  host.server.answer(host.view);
  CHECK(view_in(receive(good)) == host.view);
}

TEST_CASE("view server: a viewer that does not read is dropped",
          "[launcher][view]") {
  Host host;
  host.view = test::computing_job(20'000);
  const UniqueFd viewer = host.viewer();
  host.send(viewer, "R");
  host.server.answer(host.view);
  REQUIRE(host.server.has_viewers());
  const auto now = Clock::now();
  host.server.check(now);
  CHECK(host.server.has_viewers());
  CHECK(host.server.next() <= now + ViewServer::kPatience);
  host.server.check(now + ViewServer::kPatience);
  CHECK_FALSE(host.server.has_viewers());
}

TEST_CASE("view server: a slow viewer gets all of a large view",
          "[launcher][view]") {
  Host host;
  host.view = test::computing_job(20'000);
  const UniqueFd viewer = host.viewer();
  host.send(viewer, "R");
  host.server.answer(host.view);
  std::string bytes;
  for (int i = 0;
       i < 1000 && bytes.size() < protocol::encode_view(host.view).size();
       ++i) {
    bytes += receive(viewer).value();
    host.turn();
  }
  CHECK(view_in(bytes) == host.view);
  host.server.check(Clock::now() + ViewServer::kPatience);
  CHECK(host.server.has_viewers());
}

TEST_CASE("view server: more viewers than it serves are turned away",
          "[launcher][view]") {
  Host host;
  std::vector<UniqueFd> viewers;
  for (std::size_t i = 0; i < ViewServer::kMostViewers; ++i)
    viewers.push_back(host.viewer());
  const UniqueFd last = host.viewer();
  CHECK_FALSE(receive(last));
  CHECK(receive(viewers.front()));
}

TEST_CASE("view server: the end of the job reaches every viewer",
          "[launcher][view]") {
  Host host;
  const UniqueFd asked = host.viewer();
  const UniqueFd silent = host.viewer();
  host.send(asked, "R");
  host.view.end = "rank 1 failed";
  host.server.finish(host.view);
  CHECK(view_in(receive(asked)) == host.view);
  CHECK(view_in(receive(silent)) == host.view);
  host.send(silent, "R");
  CHECK(view_in(receive(silent)) == host.view);
  CHECK_FALSE(host.server.is_asked());
}

}  // namespace acp::launcher
