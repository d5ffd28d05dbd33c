// Copies to and from another process's own memory (process_vm_readv, "CMA").
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "protocol/host_segment.h"
#include "transport/transport.h"

namespace acp::shm {

/// What one process keeps for all peers. Thread-safe.
class CrossMemory {
 public:
  /// Publishes my probe word in `mine`. `is_allowed` false: never use it.
  CrossMemory(protocol::ProcRecord& mine, bool is_allowed) noexcept;
  CrossMemory(const CrossMemory&) = delete;
  CrossMemory& operator=(const CrossMemory&) = delete;

  /// kUnsupported when the kernel refuses (for good), kBadAddress when the
  /// peer has no memory there, kPeerDead, kSystem.
  [[nodiscard]] Status transfer(const protocol::ProcRecord& peer,
                                transport::Direction direction,
                                std::span<std::byte> local,
                                std::uint64_t remote_address) noexcept;

  /// Reads and writes the peer's probe word: is it the process that published
  /// it (and not another with its number in another pid namespace), and does
  /// the kernel let us?
  bool probe(const protocol::ProcRecord& peer) noexcept;

 private:
  std::uint64_t probe_word_;
  std::atomic<bool> is_allowed_;
};

}  // namespace acp::shm
