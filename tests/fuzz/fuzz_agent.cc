// Fuzz target: an agent with one registered region gets any bytes as a request.
// No byte outside of the region may change, and the initiator has to be able to
// decode the reply. The region is exactly as long as its allocation, so a
// sanitizer sees a step that leaves it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/agent.h"
#include "base/assert.h"
#include "base/little_endian.h"
#include "base/log.h"
#include "gmm/key_table.h"
#include "support/host_memory.h"

namespace {

using acp::gmm::GlobalAddress;
using acp::protocol::kStepBytes;

constexpr std::size_t kRegionBytes = 1000;

/// Takes the replies and decodes them.
class ReplySink final : public acp::transport::Endpoint {
 public:
  acp::Status send(std::span<const std::span<const std::byte>> parts,
                   acp::transport::Ordering /*ordering*/) override {
    std::vector<std::byte> bytes;
    for (const auto part : parts) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    ACP_ASSERT(acp::protocol::decode_reply(bytes).has_value() ||
               acp::protocol::decode_shared_reply(bytes).has_value());
    return acp::Status::kOk;
  }
};

class Neighbours final : public acp::agent::Surroundings {
 public:
  acp::Result<acp::transport::Endpoint*> endpoint(
      acp::transport::ProcId /*proc*/,
      acp::transport::Color /*color*/) override {
    return &sink_;
  }

  void start_copy(acp::transport::ProcId /*proc*/,
                  acp::transport::Color /*color*/,
                  std::uint64_t /*id*/,
                  const acp::protocol::Step& /*copy*/) override {}

 private:
  ReplySink sink_;
};

/// A process with one region and its agent; lives as long as the fuzzer.
class Process {
 public:
  Process()
      : host_(1),
        keys_(host_.segment(), 0),
        space_(host_.segment(), 0, 0, 1, acp::gmm::Reach::kSelf),
        region_(kRegionBytes),
        agent_(space_, waker_, neighbours_) {
    acp::set_log_level(acp::LogLevel::kError);
    const auto key = keys_.add(0, 0, region_.data(), region_.size());
    ACP_ASSERT(key.ok());
    base_ = keys_.address_of(0, key.value(), region_.data()).value();
  }

  GlobalAddress base() const noexcept { return base_; }

  void serve(std::span<const std::byte> request) {
    // A poll that brings the request twice, so that its replies are shared.
    agent_.on_request(0, 0, request);
    agent_.on_request(0, 0, request);
    agent_.flush();
    ACP_ASSERT(!agent_.has_backlog());
    // A request in parts may have begun whose last part never comes.
    agent_.forget_peer(0);
  }

 private:
  acp::test::HostMemory host_;
  acp::gmm::KeyTable keys_;
  acp::gmm::AddressSpace space_;
  std::vector<std::byte> region_;
  acp::test::CountingWaker waker_;
  Neighbours neighbours_;
  acp::agent::Agent agent_;
  GlobalAddress base_ = 0;
};

/// Moves addresses whose top bit is off to the region and its surroundings,
/// since random addresses would hit no memory. Other addresses stay.
void aim(std::span<std::byte> request, GlobalAddress base) {
  using acp::protocol::RequestHeader;
  for (std::size_t at = sizeof(RequestHeader);
       at + kStepBytes <= request.size(); at += kStepBytes) {
    // `remote` of every step, and `local` of a copy.
    for (const std::size_t offset : {8U, 16U}) {
      std::byte* address = request.data() + at + offset;
      const auto old = acp::load_little<std::uint64_t>(address);
      if ((old >> 63) == 0) {
        acp::store_little(address, base + old % (2 * kRegionBytes));
      }
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static Process process;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> request(input.begin(), input.end());
  aim(request, process.base());
  process.serve(request);
  return 0;
}
