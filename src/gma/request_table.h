// Requests that have been sent and not been answered yet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gma/operation.h"
#include "gma/peer_queue.h"

namespace acp::gma {

/// Which event ends a request.
enum class AnsweredBy : std::uint8_t {
  kReply,       ///< A reply of the peer's agent.
  kCompletion,  ///< MessageSink::on_posted_done of the transport.
};

/// A request on its way.
struct Request {
  Operation* operation = nullptr;
  PeerQueue* queue = nullptr;
  GlobalAddress local = 0;        ///< Where the result goes, or 0.
  std::uint64_t size = 0;         ///< Bytes of the result at `local`.
  std::uint64_t reply_bytes = 0;  ///< Bytes of results in the reply.
  AnsweredBy answered_by = AnsweredBy::kReply;
};

/// Gives out ids and finds requests by them. Guarded by the engine's mutex.
///
/// Invariants:
///  1. An id names at most one request, ever: it is index and generation, and
///     close() changes the generation.
///  2. operation->outstanding counts the operation's open requests.
///  3. queue->reserve_reply() has been called for each open request.
class RequestTable {
 public:
  /// Opens a request; nothing when the queue has no room for its reply.
  std::optional<std::uint64_t> open(const Request& request);

  /// Null when the id names no open request with this kind of answer: the peer
  /// has failed meanwhile, or the message is not for this process.
  const Request* find(std::uint64_t id, AnsweredBy answered_by) const noexcept;

  /// Closes an open request and returns it.
  Request close(std::uint64_t id);

  /// The ids of all open requests to a process.
  std::vector<std::uint64_t> ids_to(transport::ProcId proc) const;

 private:
  struct Entry {
    Request request;  ///< Without operation: free.
    std::uint32_t generation = 0;
  };

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;  ///< Indices of free entries.
};

}  // namespace acp::gma
