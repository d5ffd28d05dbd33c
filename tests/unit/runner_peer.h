// A far rank of a RunnerWorld whose memory is there, for its device and its
// agent.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "gmm/memory_ops.h"
#include "unit/runner_world.h"

namespace acp::gma {

/// Bytes of a message and of a posted step at most, where the endpoint posts.
inline constexpr std::size_t kMaxMessage = 1024;
inline constexpr std::size_t kMaxPosted = 700;

/// The memory of a far rank; applies steps to it.
class Peer {
 public:
  explicit Peer(std::size_t size) : memory(size) {}

  /// A step of a posted chain, as a device would do it.
  void run(const transport::RemoteStep& step) {
    std::byte* at = memory.data() + step.offset;
    switch (step.opcode) {
      case protocol::Opcode::kPut:
        std::memcpy(at, step.local_memory, step.size);
        return;
      case protocol::Opcode::kGet:
        std::memcpy(step.local_memory, at, step.size);
        return;
      case protocol::Opcode::kPut8: std::memcpy(at, &step.operand, 8); return;
      default: {
        const std::uint64_t old = gmm::apply_atomic(step.opcode, step.width, at,
                                                    step.operand, step.compare);
        if (step.local_memory != nullptr) {
          gmm::store_word(step.local_memory, step.width, old);
        }
      }
    }
  }

  /// A request, as the agent would; returns the reply.
  std::vector<std::byte> answer(std::span<const std::byte> message,
                                const gmm::GlobalAddressCodec& codec) {
    const auto request = protocol::decode_request(message);
    REQUIRE(request.has_value());
    std::span<const std::byte> data = request->data;
    std::vector<std::byte> results;
    for (std::size_t i = 0; i < request->header.steps; ++i) {
      const protocol::Step step = request->step(i);
      std::byte* at = memory.data() + codec.offset(step.remote);
      if (step.opcode == protocol::Opcode::kPut) {
        std::memcpy(at, data.data(), step.size);
        data = data.subspan(step.size);
      } else if (step.opcode == protocol::Opcode::kGet) {
        results.insert(results.end(), at, at + step.size);
      } else if (step.opcode == protocol::Opcode::kPut8) {
        std::memcpy(at, &step.operand, 8);
      } else {
        const auto old = test::word_bytes(gmm::apply_atomic(
            step.opcode, step.width, at, step.operand, step.compare));
        results.insert(results.end(), old.begin(), old.end());
      }
    }
    return test::reply_message(request->header.id, Status::kOk, 0, results);
  }

  std::vector<std::byte> memory;
};

/// Does the oldest chain that was posted to `rank`; its token. A message behind
/// the chain is the newest in `sent` then.
inline std::uint64_t run_oldest(RunnerWorld& world, Peer& peer, Rank rank = 2) {
  auto& endpoint = world.endpoint(rank);
  const test::FakeEndpoint::Posted chain = std::move(endpoint.posted.front());
  endpoint.posted.pop_front();
  for (const transport::RemoteStep& step : chain.steps) {
    peer.run(step);
  }
  if (!chain.message.empty()) {
    endpoint.sent.push_back(chain.message);
  }
  return chain.token;
}

/// Does the oldest chain that was posted to `rank` and says so; its token.
inline std::uint64_t complete_oldest(RunnerWorld& world,
                                     Peer& peer,
                                     Rank rank = 2) {
  const std::uint64_t token = run_oldest(world, peer, rank);
  world.runner.on_posted_done(token);
  return token;
}

inline std::function<Status()> always(Status status) {
  return [status] {
    return status;
  };
}

}  // namespace acp::gma
