// Connects the ends of channels. Called by Channels with the connector's lock
// held. Nothing here waits: a refused post is tried again in a later step.
#include "middle/channel/connector.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace acp::middle::channel {

void Connector::connect(End& end) {
  outgoing_.push_back(&end);
  post_requests();
}

void Connector::expect(End& end, int sender) {
  std::deque<ConnectRequest>& early = unexpected_[sender];
  if (early.empty()) {
    expected_[sender].push_back(&end);
    return;
  }
  const ConnectRequest request = early.front();
  early.pop_front();
  const std::lock_guard lock(end.lock);
  end.receiver->accept(request.block, request.ring_limit);
}

bool Connector::advance() {
  const bool has_posted = post_requests();
  const bool has_taken = take_requests();
  const bool has_refused = refuse();
  const bool has_asked = post_question();
  const bool has_ended = end_lost();
  return has_posted || has_taken || has_refused || has_asked || has_ended;
}

/// Posts one request at a time, so that they take effect in order.
bool Connector::post_requests() {
  bool has_worked = false;
  while (!outgoing_.empty()) {
    End& end = *outgoing_.front();
    const std::lock_guard lock(end.lock);
    Sender& sender = *end.sender;
    if (outgoing_handle_ == ACP_HANDLE_NULL) {
      const std::array ops = {acpx_op_t{
          ACPX_SWAP8, ACPX_SIGNAL,
          site_.block_of(sender.receiver()) +
              offsetof(RankBlock, connect_requests),
          word(offsetof(RankBlock, older_request)), 0, sender.block(), 0}};
      outgoing_handle_ = post(ops);
      if (outgoing_handle_ == ACP_HANDLE_NULL) {
        return true;  // refused: try again
      }
    }
    if (!is_complete(outgoing_handle_)) {
      return has_worked;
    }
    sender.set_older_request(load(site_.mine->older_request));
    outgoing_handle_ = ACP_HANDLE_NULL;
    outgoing_.pop_front();
    has_worked = true;
  }
  return has_worked;
}

/// Takes the whole list by one swap, then reads it from the newest request to
/// the oldest. No count of changes is needed, because no request is removed
/// alone.
bool Connector::take_requests() {
  if (next_request_ == ACP_GA_NULL && taking_ == ACP_HANDLE_NULL) {
    if (load(site_.mine->connect_requests) == 0) {
      return false;
    }
    const std::array ops = {
        acpx_op_t{ACPX_SWAP8, 0, word(offsetof(RankBlock, connect_requests)),
                  word(offsetof(RankBlock, taken_requests)), 0, 0, 0}};
    taking_ = post(ops);
  }
  if (taking_ != ACP_HANDLE_NULL && is_complete(taking_)) {
    taking_ = ACP_HANDLE_NULL;
    next_request_ = load(site_.mine->taken_requests);
  }
  while (next_request_ != ACP_GA_NULL) {
    if (!read_request()) {
      // the answer is on its way, or the sender does not know `next` yet
      return true;
    }
  }
  return deliver();
}

/// Gets the first line of a request, and waits in later steps until its sender
/// has written `next`. True: the request was read.
bool Connector::read_request() {
  if (reading_ == ACP_HANDLE_NULL) {
    const acp_ga_t to = word(offsetof(RankBlock, connect_request));
    const std::array ops = {
        get8(next_request_ + offsetof(SenderBlock, next), to),
        get8(next_request_ + offsetof(SenderBlock, sender), to + 8),
        get8(next_request_ + offsetof(SenderBlock, ring_limit), to + 16)};
    reading_ = post(ops);
    if (reading_ == ACP_HANDLE_NULL) {
      return false;
    }
  }
  if (!is_complete(reading_)) {
    return false;
  }
  reading_ = ACP_HANDLE_NULL;
  const std::uint64_t next = load(site_.mine->connect_request[0]);
  if (next == kNotKnown) {
    return false;  // the sender's swap is not complete yet: read again
  }
  taken_.push_back({static_cast<int>(load(site_.mine->connect_request[1])),
                    next_request_, load(site_.mine->connect_request[2])});
  next_request_ = next;
  return true;
}

/// Connects the requests that were read, the oldest first.
bool Connector::deliver() {
  const bool has_some = !taken_.empty();
  for (; !taken_.empty(); taken_.pop_back()) {
    match(taken_.back());  // the oldest first
  }
  return has_some;
}

/// Connects a request with the oldest end that waits for its sender.
void Connector::match(const ConnectRequest& request) {
  std::deque<End*>& waiting = expected_[request.sender];
  if (waiting.empty()) {
    (refuses_ ? to_refuse_ : unexpected_[request.sender]).push_back(request);
    return;
  }
  End& end = *waiting.front();
  waiting.pop_front();
  has_connected_ = true;
  const std::lock_guard lock(end.lock);
  end.receiver->accept(request.block, request.ring_limit);
}

void Connector::refuse_unexpected() {
  refuses_ = true;
  for (auto& [sender, requests] : unexpected_) {
    to_refuse_.insert(to_refuse_.end(), requests.begin(), requests.end());
  }
  unexpected_.clear();
}

/// Answers kClosed to each refused request, and counts a closed end at its
/// rank.
bool Connector::refuse() {
  bool has_worked = false;
  while (!to_refuse_.empty()) {
    const ConnectRequest& request = to_refuse_.front();
    const std::array ops = {
        put8(request.block + offsetof(SenderBlock, answer), kClosed, true),
        add8(site_.block_of(request.sender) + offsetof(RankBlock, closed_ends),
             1, true)};
    if (post(ops) == ACP_HANDLE_NULL) {
      return true;  // refused: try again
    }
    to_refuse_.pop_front();
    has_worked = true;
  }
  return has_worked;
}

void Connector::ask(int sender) {
  if (!refuses_ && !left_.contains(sender) &&
      std::find(to_ask_.begin(), to_ask_.end(), sender) == to_ask_.end()) {
    to_ask_.push_back(sender);
  }
}

/// Asks one sender at a time, because there is one word for the answer.
bool Connector::post_question() {
  if (question_ == ACP_HANDLE_NULL) {
    if (refuses_ || to_ask_.empty()) {
      return false;
    }
    const std::array ops = {
        get8(site_.block_of(to_ask_.front()) + offsetof(RankBlock, has_left),
             word(offsetof(RankBlock, has_sender_left)))};
    question_ = post(ops);
    return true;  // asked, or refused: try again
  }
  if (!is_complete(question_)) {
    return false;
  }
  question_ = ACP_HANDLE_NULL;
  if (load(site_.mine->has_sender_left) != 0) {
    left_.insert(to_ask_.front());
  }
  to_ask_.pop_front();
  return true;
}

/// No connect request lies in this rank's list or is being read.
bool Connector::has_taken_all() const {
  return next_request_ == ACP_GA_NULL && taking_ == ACP_HANDLE_NULL &&
         load(site_.mine->connect_requests) == 0;
}

/// The requests of a sender that has left took effect before it said so. They
/// are in the list when its answer is here, so this looks at the list last.
bool Connector::end_lost() {
  if (left_.empty() || !has_taken_all()) {
    return false;
  }
  bool has_ended = false;
  for (const int sender : left_) {
    for (End* end : std::exchange(expected_[sender], {})) {
      const std::lock_guard lock(end->lock);
      end->receiver->lose_sender();
      end->has_lost_sender = true;
      has_ended = has_connected_ = true;
    }
  }
  return has_ended;
}

void Connector::clear() {
  refuses_ = false;
  outgoing_.clear();
  outgoing_handle_ = taking_ = reading_ = ACP_HANDLE_NULL;
  next_request_ = ACP_GA_NULL;
  taken_.clear();
  expected_.clear();
  unexpected_.clear();
  to_refuse_.clear();
  to_ask_.clear();
  question_ = ACP_HANDLE_NULL;
  left_.clear();
}

}  // namespace acp::middle::channel
