// A runner with its surroundings, for its tests: rank 0 with memory of its own,
// and peers that are reached by fake endpoints.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "gma/operation_runner.h"
#include "gmm/key_table.h"
#include "support/fake_endpoint.h"
#include "support/host_memory.h"
#include "support/messages.h"

namespace acp::gma {

/// Ranks 0 and 1 are of this host, 2 and 3 of other hosts. Process numbers are
/// ranks plus 10.
class RunnerWorld final : private Endpoints, private OperationOwner {
 public:
  static constexpr std::size_t kMemory = 9 << 20;

  explicit RunnerWorld(std::size_t max_message = 1024,
                       std::size_t max_posted = 0,
                       gmm::Reach reach = gmm::Reach::kHost)
      : max_message_(max_message),
        max_posted_(max_posted),
        memory(kMemory),
        peer_memory(kMemory),
        space(host.segment(), 0, 0, 2, reach) {
    mine = keys.add(0, 0, memory.data(), kMemory).value() +
           (reinterpret_cast<std::uintptr_t>(memory.data()) & 63);
    theirs = peer_keys.add(1, 0, peer_memory.data(), kMemory).value() +
             (reinterpret_cast<std::uintptr_t>(peer_memory.data()) & 63);
  }

  GlobalAddress far(Rank rank, std::uint64_t offset, Color color = 0) const {
    return space.codec().encode(rank, color, 5, 0, offset);
  }

  test::FakeEndpoint& endpoint(Rank rank, Color color = 0) {
    test::FakeEndpoint& endpoint = endpoints_[{rank, color}];
    endpoint.max_message = max_message_;
    return endpoint;
  }

  /// Starts an operation, and makes all copies and sends that are possible.
  Operation& start(std::vector<Step> steps) {
    Operation& operation = prepare(std::move(steps));
    runner.start(operation);
    pump();
    return operation;
  }

  void pump() {
    while (runner.pump()) {
    }
  }

  Operation& prepare(std::vector<Step> steps) {
    operations_.push_back(std::make_unique<Operation>());
    operations_.back()->steps = std::move(steps);
    return *operations_.back();
  }

  /// Takes the oldest request to `rank` and answers it, unless more of it
  /// comes; its first step.
  protocol::Step answer(Rank rank,
                        Status status = Status::kOk,
                        std::span<const std::byte> data = {},
                        std::uint16_t failed_step = 0) {
    const auto message = endpoint(rank).take();
    const auto request = protocol::decode_request(message);
    REQUIRE(request.has_value());
    const protocol::Step step = request->step(0);
    if ((request->header.flags & protocol::kMoreFlag) == 0) {
      runner.on_reply(
          test::reply_message(request->header.id, status, failed_step, data));
    }
    return step;
  }

  /// Not started, under way, or ended once: how often it has ended.
  int ends_of(const Operation& operation) const {
    const auto found = ends_.find(&operation);
    return found == ends_.end() ? 0 : found->second;
  }

  bool has_ended(const Operation& operation, Status status) const {
    return ends_of(operation) == 1 && operation.status == status;
  }

 private:
  Result<PeerEndpoint> endpoint_of(Rank rank, Color color) override {
    if (endpoint_failure != Status::kOk) {
      return endpoint_failure;
    }
    PeerEndpoint found;
    found.endpoint = &endpoint(rank, color);
    found.max_message = max_message_;
    found.max_posted = max_posted_;
    found.proc = rank + 10;
    return found;
  }

  void on_finished(Operation& operation) override { ++ends_[&operation]; }

  std::size_t max_message_;
  std::size_t max_posted_;
  std::map<std::pair<Rank, Color>, test::FakeEndpoint> endpoints_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::map<const Operation*, int> ends_;

 public:
  std::vector<std::byte> memory;
  std::vector<std::byte> peer_memory;
  test::HostMemory host{4, 2};
  gmm::KeyTable keys{host.segment(), 0};
  gmm::KeyTable peer_keys{host.segment(), 1};
  gmm::AddressSpace space;
  gmm::AddressSpace peer_space{host.segment(), 1, 1, 2, gmm::Reach::kHost};
  test::CountingWaker waker;
  OperationRunner runner{space, *this, waker, *this};
  GlobalAddress mine = 0;    ///< memory[0].
  GlobalAddress theirs = 0;  ///< peer_memory[0].
  Status endpoint_failure = Status::kOk;
};

inline Step copy_step(GlobalAddress to,
                      GlobalAddress from,
                      std::uint64_t size) {
  Step step;
  step.remote = to;
  step.local = from;
  step.size = size;
  return step;
}

inline Step bulk_step(protocol::Opcode opcode,
                      GlobalAddress remote,
                      GlobalAddress local,
                      std::uint64_t size) {
  Step step = copy_step(remote, local, size);
  step.opcode = opcode;
  return step;
}

inline Step word_step(protocol::Opcode opcode,
                      GlobalAddress remote,
                      GlobalAddress local,
                      std::uint64_t operand = 1) {
  Step step;
  step.opcode = opcode;
  step.remote = remote;
  step.local = local;
  step.operand = operand;
  return step;
}

}  // namespace acp::gma
