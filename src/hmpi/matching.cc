// Matches messages and receives; matching.h has the rules. Lists are searched
// from the oldest entry on. While a single tag is in use, the first entry fits.
#include "hmpi/matching.h"

namespace hmpi {

namespace {

bool is_tag_of(std::int32_t wanted, std::int32_t tag) {
  return wanted == kAnyTag || wanted == tag;
}

/// The older entry of two, either of which may be null.
template <typename T>
T* older(T* a, T* b) {
  return a == nullptr || (b != nullptr && b->number < a->number) ? b : a;
}

UnexpectedMessage* find_message(const List<UnexpectedMessage>& messages,
                                std::int32_t tag) {
  return messages.find([tag](const UnexpectedMessage& message) {
    return is_tag_of(tag, message.tag);
  });
}

PostedReceive* find_receive(const List<PostedReceive>& receives,
                            std::int32_t tag) {
  return receives.find([tag](const PostedReceive& receive) {
    return is_tag_of(receive.tag, tag);
  });
}

}  // namespace

UnexpectedMessage* Matching::probe(Peer peer, std::int32_t tag) noexcept {
  if (peer != kAnyPeer) {
    return find_message(from_[peer].unexpected, tag);
  }
  UnexpectedMessage* first = nullptr;
  for (const From& from : from_) {
    first = older(first, find_message(from.unexpected, tag));
  }
  return first;
}

void Matching::take(UnexpectedMessage& message) noexcept {
  from_[message.peer].unexpected.remove(message);
}

UnexpectedMessage* Matching::post(PostedReceive& receive) noexcept {
  UnexpectedMessage* message = probe(receive.peer, receive.tag);
  if (message != nullptr) {
    take(*message);
    return message;
  }
  receive.number = next_number_++;
  list_of(receive).push_back(receive);
  ++receives_;
  return nullptr;
}

PostedReceive* Matching::expecting(Peer peer, std::int32_t tag) noexcept {
  return older(find_receive(from_[peer].expected, tag),
               find_receive(expected_any_, tag));
}

PostedReceive* Matching::arrive(Peer peer, std::int32_t tag) noexcept {
  PostedReceive* receive = expecting(peer, tag);
  if (receive != nullptr) {
    withdraw(*receive);
  }
  return receive;
}

void Matching::keep(UnexpectedMessage& message) noexcept {
  message.number = next_number_++;
  from_[message.peer].unexpected.push_back(message);
}

void Matching::withdraw(PostedReceive& receive) noexcept {
  list_of(receive).remove(receive);
  --receives_;
}

}  // namespace hmpi
