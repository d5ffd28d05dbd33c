// The search of acp_top for jobs, and the rows that it makes of two views.
#include <fmt/core.h>

#include <array>

#include <catch2/catch.hpp>

#include "live_job.h"
#include "picture.h"
#include "tests/support/fake_acprun.h"

namespace acp::top {

namespace {

using protocol::JobView;
using protocol::RankStage;
using protocol::TrafficCount;
using test::FakeAcprun;
using test::PrivateFolder;

std::string why_none(std::uint32_t pid, const std::string& folder) {
  const std::array<std::string, 1> folders = {folder};
  const auto found = find_job(pid, folders);
  const auto* none = std::get_if<NoJob>(&found);
  return none == nullptr ? "" : none->text;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The state of rank 0 of the later view.
State state_of(const JobView& now, const JobView* before = nullptr) {
  return picture_of(now, before).rows.at(0).state;
}

}  // namespace

TEST_CASE("acp_top: without a job it says how to start one", "[top]") {
  const PrivateFolder folder;
  CHECK(has(why_none(0, folder.path()), "Start one: acprun -np 4 PROGRAM"));
  CHECK(has(why_none(0, folder.path()), folder.path()));
}

TEST_CASE("acp_top: the only job is found, and answers", "[top]") {
  const PrivateFolder folder;
  const FakeAcprun acprun(folder.path(), test::computing_job(3));
  const std::array<std::string, 1> folders = {folder.path()};
  auto found = find_job(0, folders);
  REQUIRE(std::holds_alternative<LiveJob>(found));
  auto& job = std::get<LiveJob>(found);
  job.ask(protocol::ViewRequest::kRanks);
  const auto view = job.wait(std::chrono::seconds(60));
  REQUIRE(view);
  CHECK(view->acprun_pid == acprun.pid());
  CHECK(view->ranks.size() == 3);
}

TEST_CASE("acp_top: several jobs are listed, and one is chosen", "[top]") {
  const PrivateFolder folder;
  const FakeAcprun first(folder.path(), test::computing_job(3));
  const FakeAcprun second(folder.path(), test::computing_job(5));
  const std::string list = why_none(0, folder.path());
  CHECK(has(list, "several jobs"));
  CHECK(has(list, fmt::format("{:>8}       3", first.pid())));
  CHECK(has(list, fmt::format("{:>8}       5", second.pid())));
  CHECK(has(list, "./program"));
  CHECK(why_none(second.pid(), folder.path()).empty());
  CHECK(has(why_none(1, folder.path()), "no acprun of this user"));
}

TEST_CASE("acp_top: a list does not wait for an acprun that is stopped",
          "[top]") {
  const PrivateFolder folder;
  const FakeAcprun stopped(folder.path(), test::computing_job(3));
  const FakeAcprun good(folder.path(), test::computing_job(3));
  stopped.stop();
  CHECK(has(why_none(0, folder.path()),
            fmt::format("{:>8}  does not answer", stopped.pid())));
}

TEST_CASE("acp_top: the death of acprun ends the wait", "[top]") {
  const PrivateFolder folder;
  FakeAcprun acprun(folder.path(), test::computing_job(3));
  const std::array<std::string, 1> folders = {folder.path()};
  auto found = find_job(acprun.pid(), folders);
  auto& job = std::get<LiveJob>(found);
  acprun.stop();
  job.ask(protocol::ViewRequest::kRanks);
  acprun.kill();
  CHECK_FALSE(job.wait(std::chrono::seconds(60)));
  CHECK(job.is_over());
  CHECK(job.error().empty());
}

TEST_CASE("acp_top: states come from what the looks saw", "[top]") {
  JobView before = test::computing_job(1);
  JobView now = before;
  auto& rank = now.ranks[0];
  CHECK(state_of(now) == State::kComputing);
  rank.call = "acp_sync";
  CHECK(state_of(now, &before) == State::kAsleep);
  rank.is_running = true;
  CHECK(state_of(now, &before) == State::kWaiting);
  rank.arrivals = 1;
  CHECK(state_of(now, &before) == State::kInProgress);
  rank.was_seen = false;
  CHECK(state_of(now, &before) == State::kUnknown);
  rank.stage = RankStage::kFinished;
  CHECK(state_of(now, &before) == State::kFinished);
  rank.stage = RankStage::kStarting;
  CHECK(state_of(now, &before) == State::kStarting);
  rank.is_stopped = true;
  CHECK(state_of(now, &before) == State::kStopped);
  rank.stage = RankStage::kEnded;
  CHECK(state_of(now, &before) == State::kEnded);
}

TEST_CASE("acp_top: rates are per second between two views", "[top]") {
  JobView before = test::computing_job(1);
  JobView now = before;
  now.age_ms = before.age_ms + 500;
  now.ranks[0].waits = 10;
  now.ranks[0].traffic[TrafficCount::kSent] = 100;
  now.ranks[0].traffic[TrafficCount::kSentAgain] = 1;
  const RankRow row = picture_of(now, &before).rows.at(0);
  CHECK(row.waits_per_s == 20);
  CHECK(row.sent_per_s == 200);
  CHECK(row.resent_per_s == 2);
  CHECK(row.sent == 100);
  CHECK_FALSE(picture_of(now, nullptr).rows.at(0).waits_per_s);
  // A count that shrinks is of another process.
  CHECK_FALSE(picture_of(before, &now).rows.at(0).sent_per_s);
}

}  // namespace acp::top
