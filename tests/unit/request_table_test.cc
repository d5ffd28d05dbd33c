// RequestTable: open requests by id, and ids of requests that have ended.
#include "gma/request_table.h"

#include <catch2/catch.hpp>

namespace acp::gma {

namespace {

PeerEndpoint peer(transport::ProcId proc) {
  PeerEndpoint to;
  to.proc = proc;
  return to;
}

struct Table {
  Operation operation;
  PeerQueue queue{peer(7)};
  PeerQueue other{peer(8)};
  RequestTable table;

  Request request(std::uint64_t reply_bytes = 0) {
    Request made;
    made.operation = &operation;
    made.queue = &queue;
    made.reply_bytes = reply_bytes;
    return made;
  }
};

}  // namespace

TEST_CASE("gma: an open request is found by its id until it is closed",
          "[gma][requests]") {
  Table it;
  const auto id = it.table.open(it.request());
  REQUIRE(id.has_value());
  CHECK(it.operation.outstanding == 1);
  CHECK(it.table.find(*id, AnsweredBy::kReply) != nullptr);
  CHECK(it.table.close(*id).operation == &it.operation);
  CHECK(it.operation.outstanding == 0);
  CHECK(it.table.find(*id, AnsweredBy::kReply) == nullptr);
}

TEST_CASE("gma: a reused entry does not answer to an old id",
          "[gma][requests]") {
  Table it;
  const std::uint64_t old_id = it.table.open(it.request()).value();
  it.table.close(old_id);
  const std::uint64_t id = it.table.open(it.request()).value();
  CHECK(static_cast<std::uint32_t>(id) == static_cast<std::uint32_t>(old_id));
  CHECK(id != old_id);
  CHECK(it.table.find(old_id, AnsweredBy::kReply) == nullptr);
  CHECK(it.table.find(id, AnsweredBy::kReply) != nullptr);
}

TEST_CASE("gma: a completion does not end a request that a reply ends",
          "[gma][requests]") {
  Table it;
  const std::uint64_t message = it.table.open(it.request()).value();
  Request posted = it.request();
  posted.answered_by = AnsweredBy::kCompletion;
  const std::uint64_t post = it.table.open(posted).value();
  CHECK(it.table.find(message, AnsweredBy::kCompletion) == nullptr);
  CHECK(it.table.find(post, AnsweredBy::kReply) == nullptr);
  CHECK(it.table.find(post, AnsweredBy::kCompletion) != nullptr);
}

TEST_CASE("gma: an id of no entry is found nowhere", "[gma][requests]") {
  Table it;
  CHECK(it.table.find(0, AnsweredBy::kReply) == nullptr);
  CHECK(it.table.find(~std::uint64_t{0}, AnsweredBy::kReply) == nullptr);
}

TEST_CASE("gma: replies under way are bounded, but one may have any size",
          "[gma][requests]") {
  Table it;
  const std::uint64_t large = it.table.open(it.request(4 << 20)).value();
  CHECK_FALSE(it.table.open(it.request(8)).has_value());
  CHECK(it.operation.outstanding == 1);
  it.table.close(large);
  CHECK(it.table.open(it.request(8)).has_value());
}

TEST_CASE("gma: the open requests to a process are those of its queues",
          "[gma][requests]") {
  Table it;
  const std::uint64_t here = it.table.open(it.request()).value();
  const std::uint64_t closed = it.table.open(it.request()).value();
  Request elsewhere = it.request();
  elsewhere.queue = &it.other;
  const std::uint64_t there = it.table.open(elsewhere).value();
  it.table.close(closed);
  CHECK(it.table.ids_to(7) == std::vector{here});
  CHECK(it.table.ids_to(8) == std::vector{there});
  CHECK(it.table.ids_to(9).empty());
}

}  // namespace acp::gma
