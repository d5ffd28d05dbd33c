// A fake endpoint that keeps messages and posted steps until the test takes
// them. Unit tests give it to engines and agents instead of a transport's.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "base/assert.h"
#include "transport/transport.h"

namespace acp::test {

/// The public fields are the test's. Results and limits steer the endpoint, and
/// the other fields record its calls. Not thread-safe.
class FakeEndpoint final : public transport::Endpoint {
 public:
  using Message = std::vector<std::byte>;

  /// A failure that the test has set precedes the checks of size and room.
  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override {
    ++offers;
    if (failure != Status::kOk) {
      return failure;
    }
    Message message;
    for (const std::span<const std::byte> part : parts) {
      message.insert(message.end(), part.begin(), part.end());
    }
    if (message.size() > max_message) {
      return Status::kTooLarge;
    }
    if (sent.size() >= room) {
      return Status::kAgain;
    }
    sent.push_back(std::move(message));
    orderings.push_back(ordering);
    return Status::kOk;
  }

  Status send_in_place(std::span<const std::span<const std::byte>> parts,
                       transport::Ordering ordering) override {
    const Status status = send(parts, ordering);
    if (status == Status::kOk && !parts.back().empty()) {
      in_place.push_back(parts.back());
    }
    return status;
  }

  Status send_from_region(std::span<const std::span<const std::byte>> parts,
                          transport::Ordering ordering) override {
    from_region += parts.back().size();
    return send(parts, ordering);
  }

  void reclaim(std::span<const std::byte> memory) noexcept override {
    std::erase_if(in_place, [memory](std::span<const std::byte> data) {
      return data.data() >= memory.data() &&
             data.data() + data.size() <= memory.data() + memory.size();
    });
  }

  /// Copies inside this process, which stands for the peer.
  Status copy_cross_memory(transport::Direction direction,
                           std::span<std::byte> local,
                           std::uint64_t remote_address) override {
    ++cross_memory_copies;
    if (cross_memory_status != Status::kOk) {
      return cross_memory_status;
    }
    auto* remote = reinterpret_cast<std::byte*>(remote_address);
    const bool is_get = direction == transport::Direction::kGet;
    std::memmove(is_get ? local.data() : remote, is_get ? remote : local.data(),
                 local.size());
    return Status::kOk;
  }

  struct Posted {
    std::vector<transport::RemoteStep> steps;
    std::uint64_t token;
    Message message;         ///< Follows the steps; empty after post().
    bool is_behind = false;  ///< By post_behind().
  };

  Status post(std::span<const transport::RemoteStep> steps,
              std::uint64_t token) override {
    if (!posts_words && std::ranges::any_of(steps, protocol::is_word,
                                            &transport::RemoteStep::opcode)) {
      return Status::kUnsupported;
    }
    const Status status = post_status ? post_status() : Status::kUnsupported;
    if (status == Status::kOk) {
      posted.push_back({{steps.begin(), steps.end()}, token, {}});
    }
    return status;
  }

  /// Counts like post(), and notes that the steps are behind all before.
  Status post_behind(std::span<const transport::RemoteStep> steps,
                     std::uint64_t token) override {
    const Status status = post(steps, token);
    if (status == Status::kOk) {
      posted.back().is_behind = true;
    }
    return status;
  }

  Status post_then_send(
      std::span<const transport::RemoteStep> steps,
      std::uint64_t token,
      std::span<const std::span<const std::byte>> parts) override {
    const Status status =
        post_then_send_status ? post_then_send_status() : Status::kUnsupported;
    if (status == Status::kOk) {
      posted.push_back({{steps.begin(), steps.end()}, token, {}});
      Message& message = posted.back().message;
      for (const std::span<const std::byte> part : parts) {
        message.insert(message.end(), part.begin(), part.end());
      }
    }
    return status;
  }

  /// Removes and returns the oldest message.
  Message take() {
    ACP_ASSERT(!sent.empty());
    Message message = std::move(sent.front());
    sent.pop_front();
    return message;
  }

  std::deque<Message> sent;
  std::vector<transport::Ordering> orderings;  ///< One per accepted message.
  std::size_t room = SIZE_MAX;                 ///< Most messages in `sent`.
  std::size_t max_message = 4096;
  Status failure = Status::kOk;  ///< Result of send().
  Status cross_memory_status =
      Status::kUnsupported;             ///< Result of copy_cross_memory().
  std::deque<Posted> posted;            ///< Accepted, not done.
  std::function<Status()> post_status;  ///< Result of post().
  bool posts_words = true;  ///< Else post() refuses every step on a word.
  std::function<Status()> post_then_send_status;     ///< Its result.
  std::vector<std::span<const std::byte>> in_place;  ///< Kept until reclaim().
  std::size_t from_region = 0;  ///< Bytes offered by send_from_region().
  int offers = 0;               ///< Calls of send().
  int cross_memory_copies = 0;
};

}  // namespace acp::test
