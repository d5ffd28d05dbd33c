// Grants of the receiving end. Called by Receiver with the end's lock held.
// docs/channels.md, "Grants", has the flow. If a post is refused,
// nothing has changed, and the next call tries again.
#include "middle/channel/granter.h"

namespace acp::middle::channel {

namespace {

/// A grant holds its key until the message comes, which may take long. Half of
/// the keys stay for messages under way.
constexpr int kMaxGrantedKeys = Site::kMaxKeys / 2;

}  // namespace

void Granter::add(Request& request) {
  request.number = posted_++;
  request.is_granted = false;
  if (next_ == nullptr) {
    next_ = &request;
  }
}

bool Granter::advance(acp_handle_t& newest) {
  bool has_worked = false;
  while (expects_large_ && next_ != nullptr && sender_block_ != ACP_GA_NULL &&
         grant(*next_, newest)) {
    next_ = next_->next;
    has_worked = true;
  }
  return has_worked;
}

/// Grants a receive, or leaves it to the offer when no offer will come for it
/// or keys are short. False: not now.
bool Granter::grant(Request& request, acp_handle_t& newest) {
  if (request.size < kOfferFrom) {
    return true;
  }
  Written& written = written_[index_of_grant(request.number)];
  if (written.request != nullptr || !is_complete(written.handle)) {
    return false;
  }
  if (site_.keys.load(std::memory_order_relaxed) >= kMaxGrantedKeys) {
    return true;
  }
  const acp_atkey_t key = take_key(site_, request.buffer, request.size);
  if (key == ACP_ATKEY_NULL) {
    return true;
  }
  const acp_ga_t buffer = acp_query_ga(key, request.buffer);
  announce(buffer, request.size, sender_);
  const acp_ga_t at = sender_block_ + offsetof(SenderBlock, grants) +
                      index_of_grant(request.number) * sizeof(Grant);
  const std::array ops = {
      put8(at + offsetof(Grant, address), buffer),
      put8(at + offsetof(Grant, size), request.size),
      put8(at + offsetof(Grant, number), request.number + 1, true)};
  const int before = acp_errno;
  const acp_handle_t handle = post(ops);
  if (handle == ACP_HANDLE_NULL) {
    acp_errno = before;  // no error: the post is tried again
    ended_.end(key);
    return false;
  }
  newest = handle;
  request.key = key;
  request.is_granted = true;
  written = {&request, handle};
  return true;
}

bool Granter::is_put(const Request& request, int& error) const {
  const std::uint64_t arrived =
      load(mine_.arrived[index_of_grant(request.number)]);
  error = code_of(arrived);
  return number_of(arrived) == request.number + 1;
}

void Granter::finish(Request& request, bool is_large) {
  learn(request, is_large);
  written_[index_of_grant(request.number)].request = nullptr;
  request.is_granted = false;
  ended_.end(request.key);
  request.key = ACP_ATKEY_NULL;
}

}  // namespace acp::middle::channel
