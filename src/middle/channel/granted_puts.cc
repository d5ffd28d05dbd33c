// Puts of the sending end into granted memory. Called by Sender with the end's
// lock held. docs/channels.md, "Grants", has the flow. If a post is
// refused, nothing has changed, and the next call tries again.
#include "middle/channel/granted_puts.h"

#include <algorithm>

namespace acp::middle::channel {

namespace {

/// The value of a result word until the put is complete. No message has this
/// number.
constexpr std::uint64_t kNoResult = UINT64_MAX;

/// nullptr: message `number` is not offered, or not any more.
Request* find(const RequestQueue& offers, std::uint64_t number) {
  Request* request = offers.front();
  while (request != nullptr && request->number < number) {
    request = request->next;
  }
  return request != nullptr && request->number == number ? request : nullptr;
}

}  // namespace

/// Where the receiver reads that the message has arrived.
acp_ga_t GrantedPuts::arrived_at(const Request& request) const {
  return receiver_block_ + offsetof(ReceiverBlock, arrived) +
         index_of_grant(request.number) * sizeof(std::uint64_t);
}

/// A grant of a message that is not sent yet stays for a later call. A grant of
/// a message that went through the ring is not used.
bool GrantedPuts::advance(const RequestQueue& offers,
                          std::uint64_t sent,
                          acp_handle_t& newest) {
  bool has_worked = false;
  for (std::size_t index = 0; index < kGrants; ++index) {
    const std::uint64_t number = load(mine_.grants[index].number);
    if (number == seen_[index] || number > sent || puts_[index] != nullptr) {
      continue;
    }
    Request* request = find(offers, number - 1);
    if (request != nullptr && !put(*request, newest)) {
      continue;
    }
    seen_[index] = number;
    has_worked = has_worked || request != nullptr;
  }
  return has_worked;
}

/// Puts the message and the word that tells the receiver in one chain. The old
/// value of the word comes back and proves that the whole chain was executed.
bool GrantedPuts::put(Request& request, acp_handle_t& newest) {
  const std::size_t index = index_of_grant(request.number);
  const Grant& grant = mine_.grants[index];
  store(mine_.results[index], kNoResult);
  const std::array<acpx_op_t, 2> ops = {
      acpx_op_t{ACPX_PUT, 0, grant.address,
                acp_query_ga(request.key, request.buffer),
                std::min(grant.size, request.size), 0, 0},
      acpx_op_t{ACPX_ADD8, ACPX_SIGNAL, arrived_at(request),
                block_ + offsetof(SenderBlock, results) +
                    index * sizeof(std::uint64_t),
                0, request.number + 1 - arrived_[index], 0}};
  const int before = acp_errno;
  request.put = channel::post(ops);
  const int reason = acp_errno;
  acp_errno = before;
  if (request.put == ACP_HANDLE_NULL) {
    if (reason == ACPX_AGAIN) {
      return false;
    }
    request.error = reason;
    if (!tell_failure(request, newest)) {
      request.error = 0;
      return false;
    }
    return true;
  }
  newest = request.put;
  puts_[index] = &request;
  arrived_[index] = request.number + 1;
  return true;
}

/// The receiver's word changes by a put here, because the failed chain may have
/// changed the word or not.
bool GrantedPuts::tell_failure(Request& request, acp_handle_t& newest) {
  const std::uint64_t arrived = make_arrived(request.number + 1, request.error);
  const std::array ops = {put8(arrived_at(request), arrived, true)};
  const int before = acp_errno;
  const acp_handle_t handle = channel::post(ops);
  acp_errno = before;
  if (handle == ACP_HANDLE_NULL) {
    return false;
  }
  request.put = handle;
  newest = handle;
  puts_[index_of_grant(request.number)] = &request;
  arrived_[index_of_grant(request.number)] = arrived;
  return true;
}

bool GrantedPuts::is_done(Request& request, acp_handle_t& newest) {
  const std::size_t index = index_of_grant(request.number);
  if (!is_complete(request.put)) {
    return false;
  }
  if (request.error == 0 && load(mine_.results[index]) == kNoResult) {
    request.error = ACPX_BAD_ADDRESS;
    if (!tell_failure(request, newest)) {
      request.error = 0;
    }
    return false;
  }
  puts_[index] = nullptr;
  return true;
}

}  // namespace acp::middle::channel
