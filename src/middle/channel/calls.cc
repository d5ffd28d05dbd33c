#include "middle/channel/calls.h"

#include <array>
#include <mutex>

namespace acp::middle::channel {

void Calls::call(Endpoint& endpoint) {
  outgoing_.push_back(&endpoint);
  make_calls();
}

void Calls::expect(Endpoint& endpoint, int sender) {
  std::deque<Call>& early = unexpected_[sender];
  if (early.empty()) {
    expected_[sender].push_back(&endpoint);
    return;
  }
  const Call call = early.front();
  early.pop_front();
  const std::lock_guard lock(endpoint.lock);
  endpoint.receiver->accept(call.block, call.ring_limit);
}

bool Calls::advance() {
  const bool has_called = make_calls();
  const bool has_taken = take_calls();
  const bool has_refused = refuse();
  return has_called || has_taken || has_refused;
}

/// One at a time: the order of the calls is that of the swaps.
bool Calls::make_calls() {
  bool has_worked = false;
  while (!outgoing_.empty()) {
    Endpoint& endpoint = *outgoing_.front();
    const std::lock_guard lock(endpoint.lock);
    Sender& sender = *endpoint.sender;
    if (outgoing_handle_ == ACP_HANDLE_NULL) {
      const std::array ops = {acpx_op_t{
          ACPX_SWAP8, ACPX_SIGNAL,
          site_.block_of(sender.receiver()) + offsetof(RankBlock, calls),
          word(offsetof(RankBlock, older_call)), 0, sender.block(), 0}};
      outgoing_handle_ = post(ops);
      if (outgoing_handle_ == ACP_HANDLE_NULL) {
        return true;  // again
      }
    }
    if (!is_complete(outgoing_handle_)) {
      return has_worked;
    }
    sender.called(load(site_.mine->older_call));
    outgoing_handle_ = ACP_HANDLE_NULL;
    outgoing_.pop_front();
    has_worked = true;
  }
  return has_worked;
}

/// Takes the whole list, newest first, and reads it to its oldest call.
bool Calls::take_calls() {
  if (next_call_ == ACP_GA_NULL && taking_ == ACP_HANDLE_NULL) {
    if (load(site_.mine->calls) == 0) {
      return false;
    }
    const std::array ops = {
        acpx_op_t{ACPX_SWAP8, 0, word(offsetof(RankBlock, calls)),
                  word(offsetof(RankBlock, taken_calls)), 0, 0, 0}};
    taking_ = post(ops);
  }
  if (taking_ != ACP_HANDLE_NULL && is_complete(taking_)) {
    taking_ = ACP_HANDLE_NULL;
    next_call_ = load(site_.mine->taken_calls);
  }
  while (next_call_ != ACP_GA_NULL) {
    if (!read_call()) {
      return true;  // it is on its way, or its caller is about to finish it
    }
  }
  return deliver();
}

bool Calls::read_call() {
  if (reading_ == ACP_HANDLE_NULL) {
    const acp_ga_t to = word(offsetof(RankBlock, call));
    const std::array ops = {
        get8(next_call_ + offsetof(SenderBlock, next), to),
        get8(next_call_ + offsetof(SenderBlock, sender), to + 8),
        get8(next_call_ + offsetof(SenderBlock, ring_limit), to + 16)};
    reading_ = post(ops);
    if (reading_ == ACP_HANDLE_NULL) {
      return false;
    }
  }
  if (!is_complete(reading_)) {
    return false;
  }
  reading_ = ACP_HANDLE_NULL;
  const std::uint64_t next = load(site_.mine->call[0]);
  if (next == kNotKnown) {
    return false;  // its swap is not back yet: read again
  }
  taken_.push_back({static_cast<int>(load(site_.mine->call[1])), next_call_,
                    load(site_.mine->call[2])});
  next_call_ = next;
  return true;
}

bool Calls::deliver() {
  const bool has_some = !taken_.empty();
  for (; !taken_.empty(); taken_.pop_back()) {
    match(taken_.back());  // the oldest first
  }
  return has_some;
}

void Calls::match(const Call& call) {
  std::deque<Endpoint*>& waiting = expected_[call.sender];
  if (waiting.empty()) {
    (refuses_ ? to_refuse_ : unexpected_[call.sender]).push_back(call);
    return;
  }
  Endpoint& endpoint = *waiting.front();
  waiting.pop_front();
  has_news_ = true;
  const std::lock_guard lock(endpoint.lock);
  endpoint.receiver->accept(call.block, call.ring_limit);
}

void Calls::refuse_unexpected() {
  refuses_ = true;
  for (auto& [sender, calls] : unexpected_) {
    to_refuse_.insert(to_refuse_.end(), calls.begin(), calls.end());
  }
  unexpected_.clear();
}

bool Calls::refuse() {
  bool has_worked = false;
  while (!to_refuse_.empty()) {
    const Call& call = to_refuse_.front();
    const std::array ops = {
        put8(call.block + offsetof(SenderBlock, answer), kClosed, true),
        add8(site_.block_of(call.sender) + offsetof(RankBlock, news), 1, true)};
    if (post(ops) == ACP_HANDLE_NULL) {
      return true;  // again
    }
    to_refuse_.pop_front();
    has_worked = true;
  }
  return has_worked;
}

void Calls::clear() {
  refuses_ = false;
  outgoing_.clear();
  outgoing_handle_ = taking_ = reading_ = ACP_HANDLE_NULL;
  next_call_ = ACP_GA_NULL;
  taken_.clear();
  expected_.clear();
  unexpected_.clear();
  to_refuse_.clear();
}

}  // namespace acp::middle::channel
