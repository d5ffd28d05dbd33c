// Tests that a caller asleep in epoll is woken by what another thread finds in
// its pass. The caller itself is not asked: it sleeps.
#include <catch2/catch.hpp>

#include "support/messages.h"
#include "unit/engine_world.h"

namespace acp::gma {

namespace {

/// Answers the oldest message to the peer.
void answer(EngineUnderTest& rank, Status status = Status::kOk) {
  const auto message = rank.endpoint().take();
  const auto request = protocol::decode_request(message);
  REQUIRE(request.has_value());
  const auto old = test::word_bytes(0);
  const auto results =
      status == Status::kOk && protocol::is_atomic(request->step(0).opcode)
          ? std::span<const std::byte>(old)
          : std::span<const std::byte>();
  const auto reply =
      test::reply_message(request->header.id, status, 0, results);
  rank.pass_with([&] { rank.engine.runner().on_reply(reply); });
}

}  // namespace

TEST_CASE("engine: a completion wakes callers", "[gma][engine][wake]") {
  EngineUnderTest rank;
  rank.issue_signal();
  rank.pass(Arrivals::kNone);
  CHECK(rank.wakes() == 0);
  answer(rank);
  CHECK(rank.wakes() == 1);
  rank.pass(Arrivals::kNone);
  CHECK(rank.wakes() == 1);
}

TEST_CASE("engine: the end of the last internal operation wakes callers",
          "[gma][engine][wake]") {
  // acp_finalize and acp_reset wait for it.
  EngineUnderTest rank;
  rank.endpoint().room = 0;
  rank.start_internal_signal();
  rank.start_internal_signal();
  rank.endpoint().room = 1;
  rank.pass(Arrivals::kNone);
  CHECK(rank.engine.has_internal());
  CHECK(rank.wakes() == 0);
  rank.endpoint().take();
  rank.pass(Arrivals::kNone);
  CHECK_FALSE(rank.engine.has_internal());
  CHECK(rank.wakes() == 1);
}

TEST_CASE("engine: a signal of the runtime ends when it is sent",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.start_internal_signal();
  CHECK_FALSE(rank.engine.has_internal());
  const auto message = rank.endpoint().take();
  const auto request = protocol::decode_request(message);
  REQUIRE(request.has_value());
  CHECK(request->header.flags == protocol::kUnansweredFlag);
}

TEST_CASE("engine: the end of a delegated copy wakes callers",
          "[gma][engine][wake]") {
  EngineUnderTest rank;
  int replies = 0;
  rank.engine.set_delegated_done(
      [&](const ReplyTo&, Status, CopyEnd) { ++replies; });
  Step copy;
  copy.remote =
      rank.space.codec().encode(1, 0, gmm::kStarterKey, 0, std::uint64_t{64});
  copy.local =
      rank.space.codec().encode(0, 0, gmm::kStarterKey, 0, std::uint64_t{64});
  copy.size = 8;
  rank.pass_with([&] { rank.engine.start_delegated({1, 0, 7}, copy); });
  CHECK(rank.engine.has_internal());
  CHECK(rank.wakes() == 0);
  answer(rank);
  CHECK(replies == 1);
  CHECK_FALSE(rank.engine.has_internal());
  CHECK(rank.wakes() == 1);
}

TEST_CASE("engine: a lost peer wakes callers that wait for others",
          "[gma][engine][wake]") {
  // Nothing is under way to that peer, so nothing completes.
  EngineUnderTest rank;
  rank.pass_with([&] { rank.engine.fail_peer(1); });
  CHECK(rank.wakes() == 1);
  rank.pass(Arrivals::kNone);
  CHECK(rank.wakes() == 1);
}

}  // namespace acp::gma
