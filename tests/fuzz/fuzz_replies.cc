// Fuzz target: any bytes as a reply, alone or shared, to nobody and to
// operations that wait for one. Each ends once, and changes only the memory
// that it asked results for.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/little_endian.h"
#include "base/log.h"
#include "gma/operation_runner.h"
#include "gmm/key_table.h"
#include "support/fake_endpoint.h"
#include "support/host_memory.h"

namespace {

using acp::gma::Step;
using acp::protocol::Opcode;

constexpr acp::transport::ProcId kPeer = 5;
constexpr std::size_t kResultAt = 24;
constexpr std::size_t kGetBytes = 100;
constexpr std::size_t kResultEnd = kResultAt + 8 + kGetBytes + 4;

/// Rank 0, whose other ranks are elsewhere, with an operation to rank 1.
class Initiator final : private acp::gma::Endpoints,
                        private acp::gma::OperationOwner {
 public:
  Initiator() {
    acp::set_log_level(acp::LogLevel::kError);
    const auto key = keys_.add(0, 0, memory_.data(), memory_.size());
    ACP_ASSERT(key.ok());
    base_ = keys_.address_of(0, key.value(), memory_.data()).value();
  }

  void take(std::span<const std::byte> reply) {
    runner_.on_reply(reply);
    runner_.on_shared_reply(reply);
    if (acp::protocol::decode_shared_reply(reply)) {
      share(reply);
    }
    if (!acp::protocol::decode_reply(reply)) {
      return;
    }
    // A get, an atomic of 4 bytes, and both in a chain with others.
    const Step get = step(Opcode::kGet, kResultAt + 8);
    Step add = step(Opcode::kAdd, kResultEnd - 4);
    add.width = 4;
    const Step put = step(Opcode::kPut8, 0);
    const Step swap = step(Opcode::kSwap, kResultAt);
    answer({get}, reply);
    answer({add}, reply);
    answer({put}, reply);
    answer({put, put}, reply);
    answer({swap, put, get, add}, reply);
  }

 private:
  Step step(Opcode opcode, std::size_t result_at) const {
    Step made;
    made.opcode = opcode;
    made.remote = space_.codec().encode(1, 0, 9, 0, 0);
    made.local = opcode == Opcode::kPut8 ? 0 : base_ + result_at;
    made.size = kGetBytes;
    return made;
  }

  /// Issues the steps and gives `reply` the number of their request.
  void answer(std::vector<Step> steps, std::span<const std::byte> reply) {
    memory_.fill(std::byte{0xaa});
    operation_ = acp::gma::Operation{};
    operation_.steps = std::move(steps);
    ends_ = 0;
    runner_.start(operation_);
    runner_.pump();
    ACP_ASSERT(endpoint_.sent.size() == 1);
    const auto message = endpoint_.take();
    const auto request = acp::protocol::decode_request(message);
    ACP_ASSERT(request.has_value());
    std::vector<std::byte> bytes(reply.begin(), reply.end());
    std::memcpy(bytes.data() + offsetof(acp::protocol::ReplyHeader, id),
                &request->header.id, sizeof request->header.id);
    runner_.on_reply(bytes);
    ACP_ASSERT(ends_ == 1);
    runner_.on_reply(bytes);
    ACP_ASSERT(ends_ == 1);
    const auto is_untouched = [](std::byte byte) {
      return byte == std::byte{0xaa};
    };
    ACP_ASSERT(std::all_of(memory_.begin(), memory_.begin() + kResultAt,
                           is_untouched));
    ACP_ASSERT(
        std::all_of(memory_.begin() + kResultEnd, memory_.end(), is_untouched));
  }

  /// Issues a put, a put and a swap. Of the ids of the reply, those that are 0,
  /// 1 or 2 modulo 4 become the numbers of these requests.
  void share(std::span<const std::byte> reply) {
    constexpr std::size_t kIdsAt = offsetof(acp::protocol::ReplyHeader, id);
    memory_.fill(std::byte{0xaa});
    ends_ = 0;
    const Step put = step(Opcode::kPut8, 0);
    const std::array steps = {put, put, step(Opcode::kSwap, kResultAt)};
    std::array<std::uint64_t, 3> ids{};
    for (std::size_t i = 0; i < steps.size(); ++i) {
      operations_[i] = acp::gma::Operation{};
      operations_[i].steps = {steps[i]};
      runner_.start(operations_[i]);
      runner_.pump();
      const auto message = endpoint_.take();
      const auto request = acp::protocol::decode_request(message);
      ACP_ASSERT(request.has_value());
      ids[i] = request->header.id;
    }
    std::vector<std::byte> bytes(reply.begin(), reply.end());
    std::array<bool, 3> is_named{};
    for (std::size_t at = kIdsAt; at < bytes.size(); at += 8) {
      const auto id = acp::load_little<std::uint64_t>(bytes.data() + at);
      if (id % 4 < ids.size()) {
        is_named[id % 4] = true;
        acp::store_little(bytes.data() + at, ids[id % 4]);
      }
    }
    runner_.on_shared_reply(bytes);
    ACP_ASSERT(ends_ == std::count(is_named.begin(), is_named.end(), true));
    // No result came, so the swap has failed.
    ACP_ASSERT(!is_named[2] || operations_[2].status != acp::Status::kOk);
    runner_.fail_peer(kPeer, acp::Status::kPeerDead);
    ACP_ASSERT(ends_ == 3);
    ACP_ASSERT(std::all_of(memory_.begin(), memory_.end(), [](std::byte byte) {
      return byte == std::byte{0xaa};
    }));
  }

  acp::Result<acp::gma::PeerEndpoint> endpoint_of(
      acp::gmm::Rank /*rank*/, acp::gmm::Color /*color*/) override {
    acp::gma::PeerEndpoint found{&endpoint_, endpoint_.max_message, 1};
    found.proc = kPeer;
    return found;
  }

  void on_finished(acp::gma::Operation& /*operation*/) override { ++ends_; }

  alignas(64) std::array<std::byte, 256> memory_{};
  acp::test::HostMemory host_{2, 1};
  acp::gmm::KeyTable keys_{host_.segment(), 0};
  acp::gmm::AddressSpace space_{host_.segment(), 0, 0, 1,
                                acp::gmm::Reach::kHost};
  acp::test::CountingWaker waker_;
  acp::test::FakeEndpoint endpoint_;
  acp::gma::OperationRunner runner_{space_, *this, waker_, *this};
  acp::gma::Operation operation_;
  std::array<acp::gma::Operation, 3> operations_;
  acp::gmm::GlobalAddress base_ = 0;
  int ends_ = 0;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static Initiator initiator;
  initiator.take(std::as_bytes(std::span(data, size)));
  return 0;
}
