// Copies to and from another process's own memory (process_vm_readv, "CMA").
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/host_segment.h"
#include "status/status.h"
#include "transport/transport.h"

namespace acp::shm {

/// The state of one process for copies to and from all its peers. Thread-safe.
class CrossMemory {
 public:
  /// Publishes the address of this process's probe word in `mine`. With
  /// `is_allowed` false all probes fail, so nothing is ever copied.
  CrossMemory(protocol::ProcRecord& mine, bool is_allowed) noexcept;
  CrossMemory(const CrossMemory&) = delete;
  CrossMemory& operator=(const CrossMemory&) = delete;

  /// Copies between `local` and an address of the peer. kUnsupported: the
  /// kernel refuses such copies for good. kPeerDead: the process is gone.
  /// kBadAddress: the peer or this process has no memory there. kSystem: any
  /// other error. The last two are logged.
  [[nodiscard]] Status copy(const protocol::ProcRecord& peer,
                            transport::Direction direction,
                            std::span<std::byte> local,
                            std::uint64_t remote_address) noexcept;

  /// Reads and writes the peer's probe word. This shows that the kernel permits
  /// it. It also shows that the pid belongs to the process that published the
  /// word, and not to one in another pid namespace.
  bool probe(const protocol::ProcRecord& peer) noexcept;

 private:
  void note_refusal(pid_t pid, int error) noexcept;

  /// Random. Written by the constructor. Peers read it, and write what they
  /// have read.
  std::uint64_t probe_word_;
  /// Cleared by any thread to which the kernel refuses a copy, and never set
  /// again. Relaxed.
  std::atomic<bool> is_allowed_;
};

}  // namespace acp::shm
