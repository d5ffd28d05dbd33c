// Peer queues: the operations that have messages to send to one peer.
#include "gma/peer_queue.h"

#include <array>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::gma {

namespace {

class CountedEndpoints final : public Endpoints {
 public:
  Result<PeerEndpoint> endpoint_of(Rank rank, Color /*color*/) override {
    ++calls;
    if (failure != Status::kOk) {
      return failure;
    }
    PeerEndpoint to;
    to.proc = rank + 10;
    return to;
  }

  int calls = 0;
  Status failure = Status::kOk;
};

}  // namespace

TEST_CASE("gma: a rank and a color have one queue, made on first use",
          "[gma][queues]") {
  CountedEndpoints endpoints;
  PeerQueues queues(endpoints);
  PeerQueue* queue = queues.queue_to(1, 0).value();
  CHECK(queues.queue_to(1, 0).value() == queue);
  CHECK(endpoints.calls == 1);
  CHECK(queues.queue_to(1, 1).value() != queue);
  CHECK(queues.queues_to(11).size() == 2);
  CHECK(queues.queues_to(12).empty());
}

TEST_CASE("gma: a queue that cannot be made is asked for again",
          "[gma][queues]") {
  CountedEndpoints endpoints;
  PeerQueues queues(endpoints);
  endpoints.failure = Status::kUnsupported;
  CHECK(queues.queue_to(1, 0).status() == Status::kUnsupported);
  endpoints.failure = Status::kOk;
  CHECK(queues.queue_to(1, 0).ok());
}

// The operation is removed from the front, the middle and the end, and is added
// again behind a fourth.
TEST_CASE("gma: an operation leaves its queue from any place in it",
          "[gma][queues]") {
  CountedEndpoints endpoints;
  PeerQueues queues(endpoints);
  PeerQueue& queue = *queues.queue_to(1, 0).value();
  for (std::size_t gone = 0; gone < 3; ++gone) {
    std::array<Operation, 4> operations;
    for (std::size_t i = 0; i < 3; ++i) {
      queues.add(operations[i], queue);
    }
    queue.remove(operations[gone]);
    queues.add(operations[3], queue);
    queues.add(operations[gone], queue);
    std::vector<const Operation*> order;
    while (!queue.is_empty()) {
      order.push_back(&queue.front());
      queue.pop_front();
    }
    const std::size_t first = gone == 0 ? 1 : 0;
    const std::size_t second = gone == 2 ? 1 : 2;
    CHECK(order ==
          std::vector<const Operation*>{&operations[first], &operations[second],
                                        &operations[3], &operations[gone]});
  }
}

// A queue that empties during the round leaves the list, and a full one stays.
TEST_CASE("gma: a queue stays listed until it is found empty",
          "[gma][queues]") {
  CountedEndpoints endpoints;
  PeerQueues queues(endpoints);
  PeerQueue& full = *queues.queue_to(1, 0).value();
  PeerQueue& open = *queues.queue_to(2, 0).value();
  Operation first;
  Operation second;
  Operation third;
  queues.add(first, full);
  queues.add(second, full);
  queues.add(third, open);
  CHECK(first.has_unsent);
  CHECK(&full.front() == &first);
  queues.for_each_listed([&](PeerQueue& queue) {
    if (&queue == &open) {
      queue.pop_front();
    }
  });
  CHECK(full.is_listed());
  CHECK_FALSE(open.is_listed());
  queues.for_each_listed([](PeerQueue& queue) {
    while (!queue.is_empty()) {
      queue.pop_front();
    }
  });
  CHECK_FALSE(queues.has_listed());
}

TEST_CASE("gma: operations that are added during the round are seen in it",
          "[gma][queues]") {
  CountedEndpoints endpoints;
  PeerQueues queues(endpoints);
  PeerQueue& one = *queues.queue_to(1, 0).value();
  PeerQueue& two = *queues.queue_to(2, 0).value();
  Operation first;
  Operation second;
  queues.add(first, one);
  int visits = 0;
  queues.for_each_listed([&](PeerQueue& queue) {
    ++visits;
    queue.pop_front();
    if (&queue == &one) {
      queues.add(second, two);
    }
  });
  CHECK(visits == 2);
  CHECK_FALSE(queues.has_listed());
}

}  // namespace acp::gma
