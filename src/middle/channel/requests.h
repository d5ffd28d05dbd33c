// The requests of one end of a channel: checked handles, and queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "acp/gma.h"

namespace acp::middle::channel {

enum class RequestState : std::uint8_t { kUnused, kPending, kDone, kFailed };

/// A send, a receive or a free. Guarded by the lock of the end. RequestPool
/// writes the index and the generation. Channels writes the buffer, its size
/// and is_receive. The pool, the queues and the end write the other fields.
struct Request {
  std::byte* buffer = nullptr;
  std::uint64_t size = 0;  ///< Bytes of the buffer.
  std::uint64_t done = 0;  ///< Bytes written to the ring, or received.
  Request* next = nullptr;
  /// Messages, or receives, of the channel before this one. Sender writes it
  /// when the message was written or offered, Granter when a receive is posted.
  std::uint64_t number = 0;
  /// A send's put into granted memory; ACP_HANDLE_NULL: there is none. Written
  /// by GrantedPuts.
  acp_handle_t put = ACP_HANDLE_NULL;
  /// Key of the buffer while it is registered.
  acp_atkey_t key = ACP_ATKEY_NULL;
  std::uint32_t index = 0;
  std::uint32_t generation = 1;
  RequestState state = RequestState::kUnused;
  bool is_receive = false;
  /// A large send that goes through the ring, because there was no key.
  bool takes_ring = false;
  /// A receive whose buffer the sender may put the message into. Written by
  /// Granter.
  bool is_granted = false;
  int error = 0;  ///< Code for acp_errno when the state is kFailed.

  void finish() { state = RequestState::kDone; }

  void fail(int code) {
    error = code;
    state = RequestState::kFailed;
  }

  /// Finishes the request, or fails it with the code in `error`.
  void end() {
    state = error == 0 ? RequestState::kDone : RequestState::kFailed;
  }
};

/// A queue, first in, first out. Does not own its requests. Guarded by the lock
/// of the end.
class RequestQueue {
 public:
  bool is_empty() const { return first_ == nullptr; }

  Request* front() const { return first_; }

  void push(Request& request) {
    request.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &request;
    last_ = &request;
  }

  void pop() { first_ = first_->next; }

 private:
  // push() and pop() write these, under the lock of the end.
  Request* first_ = nullptr;
  Request* last_ = nullptr;  ///< Undefined while the queue is empty.
};

/// Owns requests, whose addresses never change. Guarded by the lock of the end.
class RequestPool {
 public:
  /// Bits of a handle that name the request (handles.h).
  static constexpr std::uint32_t kIndexBits = 20;
  static constexpr std::uint32_t kMaxRequests = 1U << kIndexBits;
  static constexpr std::uint32_t kGenerationMask = 0xffffff;

  /// Returns a pending request; nullptr when there are kMaxRequests.
  Request* take() {
    if (unused_ == nullptr && !grow()) {
      return nullptr;
    }
    Request* request = unused_;
    unused_ = request->next;
    request->state = RequestState::kPending;
    request->done = 0;
    request->takes_ring = false;
    request->put = ACP_HANDLE_NULL;
    request->error = 0;
    ++in_use_;
    return request;
  }

  /// nullptr: there is no such request, or it was given back.
  Request* find(std::uint32_t index, std::uint32_t generation) {
    if (index >= size_) {
      return nullptr;
    }
    Request& request = blocks_[index / kBlock][index % kBlock];
    return request.generation == generation &&
                   request.state != RequestState::kUnused
               ? &request
               : nullptr;
  }

  /// Ends a request; its handle is dead.
  void give_back(Request& request) {
    request.state = RequestState::kUnused;
    request.generation = request.generation % kGenerationMask + 1;  // not 0
    request.next = unused_;
    unused_ = &request;
    --in_use_;
  }

  /// Ends all requests.
  void clear();

  /// Requests that were not waited for yet.
  std::uint32_t in_use() const { return in_use_; }

 private:
  /// Requests that are made at a time. Most channels never need a second block.
  static constexpr std::uint32_t kBlock = 32;

  bool grow();

  // The lock of the end guards these fields. grow() writes blocks_ and size_.
  // take() and give_back() write unused_ and in_use_.
  std::vector<std::unique_ptr<Request[]>> blocks_;
  Request* unused_ = nullptr;  ///< The first; Request::next leads on.
  std::uint32_t size_ = 0;     ///< Requests in blocks_.
  std::uint32_t in_use_ = 0;
};

}  // namespace acp::middle::channel
