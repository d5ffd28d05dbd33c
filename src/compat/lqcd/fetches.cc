// Fetches of messages. Called by Mailbox under its lock; nothing waits.
#include "compat/lqcd/fetches.h"

#include <cstring>

#include "acp/extension.h"

namespace lqcd {

void Fetches::add(Handle* receiver, const Offer& offer) {
  Fetch& fetch = fetches_.emplace_back();
  fetch.receiver = receiver;
  fetch.offer = offer;
}

/// Issues the chain of a fetch: get the bytes, then answer. False: the window
/// is full, or memory is missing; try again.
bool Fetches::issue(Fetch& fetch) {
  const Offer& offer = fetch.offer;
  Handle& receiver = *fetch.receiver;
  const bool is_too_long = offer.bytes > receiver.bytes;
  const bool has_bytes = offer.bytes > 0 && !is_too_long;
  acp_ga_t to = receiver.address;
  if (has_bytes && to == ACP_GA_NULL) {
    if (fetch.bounce == nullptr) {
      fetch.bounce = GlobalBytes::make(receiver.bytes);
    }
    if (fetch.bounce == nullptr) {
      return false;  // Memory may be freed later; waits have a time limit.
    }
    to = fetch.bounce->address();
  }
  acpx_op_t steps[2] = {};
  std::size_t count = 0;
  if (has_bytes) {
    steps[count].opcode = ACPX_GET;
    steps[count].remote = offer.source;
    steps[count].local = to;
    steps[count].size = static_cast<std::size_t>(offer.bytes);
    ++count;
  }
  steps[count].opcode = ACPX_PUT8;
  steps[count].flags = ACPX_SIGNAL;
  steps[count].remote = offer.answer;
  steps[count].operand = static_cast<std::uint64_t>(
      is_too_long ? Answer::kTooLong : Answer::kFetched);
  ++count;
  fetch.handle = acpx_post(steps, count, ACP_HANDLE_NULL);
  if (fetch.handle == ACP_HANDLE_NULL) {
    return false;
  }
  receiver.fetch = fetch.handle;
  receiver.length = offer.bytes;
  return true;
}

/// Issues what waits, and ends what has arrived. A message that is too long was
/// fetched without its data, since the sender waits for a fetch.
bool Fetches::advance(bool may_issue) {
  bool has_moved = false;
  for (auto each = fetches_.begin(); each != fetches_.end();) {
    if (each->handle == ACP_HANDLE_NULL) {
      if (!may_issue || !issue(*each)) {
        ++each;
        continue;
      }
      has_moved = true;
    }
    if (acp_inquire(each->handle) != 0) {
      ++each;
      continue;
    }
    Handle& receiver = *each->receiver;
    const bool is_too_long = each->offer.bytes > receiver.bytes;
    if (each->bounce != nullptr && !is_too_long) {
      std::memcpy(receiver.buffer, each->bounce->data(),
                  static_cast<std::size_t>(each->offer.bytes));
    }
    receiver.state =
        is_too_long ? Handle::State::kTooLong : Handle::State::kDone;
    each = fetches_.erase(each);
    has_moved = true;
  }
  return has_moved;
}

}  // namespace lqcd
