// Matching of HMPI: MPI's rules one by one, and random programs beside a model
// that keeps one list of receives and one of messages.
#include "hmpi/matching.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace hmpi {

namespace {

PostedReceive receive_of(Peer peer, std::int32_t tag) {
  PostedReceive receive;
  receive.peer = peer;
  receive.tag = tag;
  return receive;
}

UnexpectedMessage message_of(Peer peer, std::int32_t tag) {
  UnexpectedMessage message;
  message.peer = peer;
  message.tag = tag;
  return message;
}

bool fits(const PostedReceive& receive, Peer peer, std::int32_t tag) {
  return (receive.peer == kAnyPeer || receive.peer == peer) &&
         (receive.tag == kAnyTag || receive.tag == tag);
}

/// The rules by the simplest code: receives and messages, in order.
class Model {
 public:
  UnexpectedMessage* post(PostedReceive& receive) {
    UnexpectedMessage* message = probe(receive);
    if (message != nullptr) {
      take(*message);
    } else {
      receives_.push_back(&receive);
    }
    return message;
  }

  PostedReceive* arrive(Peer peer, std::int32_t tag) {
    const auto at = std::ranges::find_if(
        receives_, [&](const auto* entry) { return fits(*entry, peer, tag); });
    if (at == receives_.end()) {
      return nullptr;
    }
    PostedReceive* receive = *at;
    receives_.erase(at);
    return receive;
  }

  UnexpectedMessage* probe(const PostedReceive& receive) {
    const auto at = std::ranges::find_if(messages_, [&](const auto* entry) {
      return fits(receive, entry->peer, entry->tag);
    });
    return at == messages_.end() ? nullptr : *at;
  }

  void keep(UnexpectedMessage& message) { messages_.push_back(&message); }

  void take(UnexpectedMessage& message) { std::erase(messages_, &message); }

  void withdraw(PostedReceive& receive) { std::erase(receives_, &receive); }

  const std::vector<PostedReceive*>& receives() const { return receives_; }

 private:
  std::vector<PostedReceive*> receives_;
  std::vector<UnexpectedMessage*> messages_;
};

}  // namespace

TEST_CASE("hmpi matching: messages of one sender match in their order",
          "[hmpi][matching]") {
  Matching matching(2);
  UnexpectedMessage first = message_of(1, 5);
  UnexpectedMessage second = message_of(1, 5);
  for (UnexpectedMessage* message : {&first, &second}) {
    REQUIRE(matching.arrive(1, 5) == nullptr);
    matching.keep(*message);
  }
  PostedReceive receive = receive_of(1, 5);
  CHECK(matching.post(receive) == &first);
  CHECK(matching.post(receive) == &second);
  CHECK(matching.post(receive) == nullptr);
}

TEST_CASE("hmpi matching: the oldest receive that fits gets the message",
          "[hmpi][matching]") {
  Matching matching(2);
  PostedReceive other_tag = receive_of(1, 4);
  PostedReceive any = receive_of(kAnyPeer, 5);
  PostedReceive exact = receive_of(1, 5);
  PostedReceive all = receive_of(kAnyPeer, kAnyTag);
  for (PostedReceive* receive : {&other_tag, &any, &exact, &all}) {
    REQUIRE(matching.post(*receive) == nullptr);
  }
  CHECK(matching.arrive(1, 5) == &any);
  CHECK(matching.arrive(1, 5) == &exact);
  CHECK(matching.arrive(1, 5) == &all);
  CHECK(matching.arrive(1, 5) == nullptr);
  CHECK(matching.has_receives());
  CHECK(matching.arrive(1, 4) == &other_tag);
  CHECK_FALSE(matching.has_receives());
}

TEST_CASE("hmpi matching: any source takes the message that was drained first",
          "[hmpi][matching]") {
  Matching matching(3);
  UnexpectedMessage messages[] = {message_of(2, 1), message_of(0, 1),
                                  message_of(1, 1)};
  for (UnexpectedMessage& message : messages) {
    matching.keep(message);
  }
  CHECK(matching.probe(kAnyPeer, 1) == &messages[0]);
  CHECK(matching.probe(1, kAnyTag) == &messages[2]);
  CHECK(matching.probe(1, 2) == nullptr);
  PostedReceive receive = receive_of(kAnyPeer, kAnyTag);
  for (UnexpectedMessage& message : messages) {
    CHECK(matching.post(receive) == &message);
  }
}

TEST_CASE("hmpi matching: a withdrawn receive gets no message",
          "[hmpi][matching]") {
  Matching matching(1);
  PostedReceive first = receive_of(0, 1);
  PostedReceive second = receive_of(kAnyPeer, 1);
  REQUIRE(matching.post(first) == nullptr);
  REQUIRE(matching.post(second) == nullptr);
  matching.withdraw(first);
  CHECK(matching.arrive(0, 1) == &second);
  CHECK(matching.arrive(0, 1) == nullptr);
}

// Few peers and tags, so that nearly every operation has several candidates. A
// seed that fails is in the message.
TEST_CASE("hmpi matching: random programs match as the model says",
          "[hmpi][matching]") {
  constexpr int kSteps = 100'000;
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const Peer peers = 1 + seed;
    Matching matching(peers);
    Model model;
    std::deque<PostedReceive> receives;
    std::deque<UnexpectedMessage> messages;
    const auto pick_tag = [&] {
      return static_cast<std::int32_t>(random() % 3);
    };
    const auto pick_peer = [&] {
      return static_cast<Peer>(random() % peers);
    };
    const auto pick_receive = [&] {
      return receive_of(random() % 3 == 0 ? kAnyPeer : pick_peer(),
                        random() % 3 == 0 ? kAnyTag : pick_tag());
    };
    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
      const auto kind = random() % 16;
      if (kind < 7) {
        PostedReceive& receive = receives.emplace_back(pick_receive());
        wrong += model.post(receive) != matching.post(receive) ? 1 : 0;
      } else if (kind < 14) {
        const Peer peer = pick_peer();
        const std::int32_t tag = pick_tag();
        PostedReceive* receive = model.arrive(peer, tag);
        wrong += receive != matching.arrive(peer, tag) ? 1 : 0;
        if (receive == nullptr) {
          UnexpectedMessage& message =
              messages.emplace_back(message_of(peer, tag));
          model.keep(message);
          matching.keep(message);
        }
      } else if (kind == 14) {
        const PostedReceive wanted = pick_receive();
        UnexpectedMessage* message = model.probe(wanted);
        wrong += message != matching.probe(wanted.peer, wanted.tag) ? 1 : 0;
        if (message != nullptr && random() % 2 == 0) {
          model.take(*message);
          matching.take(*message);
        }
      } else if (!model.receives().empty()) {
        PostedReceive& receive =
            *model.receives()[random() % model.receives().size()];
        model.withdraw(receive);
        matching.withdraw(receive);
      }
      wrong += matching.has_receives() == model.receives().empty() ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

}  // namespace hmpi
