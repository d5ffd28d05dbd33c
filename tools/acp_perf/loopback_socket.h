// UDP sockets on the loopback for raw rows: what the kernel takes by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "row.h"

namespace acp::perf {

/// A non-blocking socket; closes itself.
class LoopbackSocket {
 public:
  LoopbackSocket();
  LoopbackSocket(const LoopbackSocket&) = delete;
  LoopbackSocket& operator=(const LoopbackSocket&) = delete;
  ~LoopbackSocket();

  /// On rank 0 and rank 1 of the row under way: connects their sockets. False
  /// on both when that cannot be done.
  bool meet_rank_one(Context& context) const;
  bool meet_rank_zero(Context& context) const;

  /// A full buffer counts as a loss: the caller sends again.
  void send(std::span<const std::byte> bytes) const;

  /// A datagram of exactly this size; false when none is there.
  bool receive(std::span<std::byte> bytes) const;

  /// Asks for a receive buffer, and says how much there is: of the kernel's
  /// accounting, in which a datagram takes up to twice its bytes.
  std::size_t grow_buffer(int bytes) const;

 private:
  bool connect_to(std::uint64_t port) const;

  int fd_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace acp::perf
