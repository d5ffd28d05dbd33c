// Requests that have been sent and not been answered yet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.h"
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
  std::optional<std::uint64_t> open(const Request& request) {
    if (!request.queue->reserve_reply(request.reply_bytes)) {
      return std::nullopt;
    }
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Entry& entry = entries_[index];
    entry.request = request;
    entry.is_open = true;
    ++request.operation->outstanding;
    return make_id(entry.generation, index);
  }

  /// Null when the id names no open request with this kind of answer. Then the
  /// peer has failed meanwhile, or the message is not for this process.
  const Request* find(std::uint64_t id, AnsweredBy answered_by) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    return index < entries_.size() && is_open(entries_[index], id) &&
                   entries_[index].request.answered_by == answered_by
               ? &entries_[index].request
               : nullptr;
  }

  /// Closes an open request and returns it.
  Request close(std::uint64_t id) {
    const auto index = static_cast<std::uint32_t>(id);
    Entry& entry = entries_[index];
    ACP_ASSERT(is_open(entry, id));
    entry.request.queue->release_reply(entry.request.reply_bytes);
    --entry.request.operation->outstanding;
    entry.is_open = false;
    ++entry.generation;
    free_.push_back(index);
    return entry.request;
  }

  /// The ids of all open requests to a process.
  std::vector<std::uint64_t> ids_to(transport::ProcId proc) const;

 private:
  /// Written by open() and close().
  struct Entry {
    Request request;
    std::uint32_t generation = 0;
    bool is_open = false;
  };

  static std::uint64_t make_id(std::uint32_t generation, std::uint32_t index) {
    return std::uint64_t{generation} << 32 | index;
  }

  /// `entry` is the one with the index in `id`.
  static bool is_open(const Entry& entry, std::uint64_t id) noexcept {
    return entry.is_open && entry.generation == id >> 32;
  }

  std::vector<Entry> entries_;  ///< Grown by open(); never shrinks.
  /// Indices of free entries. close() adds, and open() removes.
  std::vector<std::uint32_t> free_;
};

}  // namespace acp::gma
