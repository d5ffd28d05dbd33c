// A wire that keeps what is sent until the test takes it.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "base/assert.h"
#include "transport/transport.h"

namespace acp::test {

/// Not thread-safe.
class FakeEndpoint final : public transport::Endpoint {
 public:
  using Message = std::vector<std::byte>;

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

  void reclaim(std::span<const std::byte> memory) noexcept override {
    std::erase_if(in_place, [memory](std::span<const std::byte> data) {
      return data.data() >= memory.data() &&
             data.data() + data.size() <= memory.data() + memory.size();
    });
  }

  /// The "peer" is this process.
  Status transfer(transport::Direction direction,
                  std::span<std::byte> local,
                  std::uint64_t remote_address) override {
    ++transfers;
    if (transfer_status != Status::kOk) {
      return transfer_status;
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
  };

  Status post(std::span<const transport::RemoteStep> steps,
              std::uint64_t token) override {
    const Status status = post_status ? post_status() : Status::kUnsupported;
    if (status == Status::kOk) {
      posted.push_back({{steps.begin(), steps.end()}, token});
    }
    return status;
  }

  /// The oldest message.
  Message take() {
    ACP_ASSERT(!sent.empty());
    Message message = std::move(sent.front());
    sent.pop_front();
    return message;
  }

  std::deque<Message> sent;
  std::vector<transport::Ordering> orderings;  ///< Of all that were taken.
  std::size_t room = SIZE_MAX;                 ///< Messages that it holds.
  std::size_t max_message = 4096;
  Status failure = Status::kOk;                      ///< What send() says.
  Status transfer_status = Status::kUnsupported;     ///< What transfer() says.
  std::deque<Posted> posted;                         ///< Taken, not done yet.
  std::function<Status()> post_status;               ///< What post() says.
  std::vector<std::span<const std::byte>> in_place;  ///< Until reclaim().
  int offers = 0;                                    ///< Calls of send().
  int transfers = 0;
};

}  // namespace acp::test
