// UDP sockets on the loopback. Raw rows measure with them the time that the
// kernel's UDP takes without ACP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "row.h"

namespace acp::perf {

/// A non-blocking UDP socket, closed by the destructor. Not thread-safe.
class LoopbackSocket {
 public:
  LoopbackSocket();
  LoopbackSocket(const LoopbackSocket&) = delete;
  LoopbackSocket& operator=(const LoopbackSocket&) = delete;
  ~LoopbackSocket();

  /// Connects the sockets of ranks 0 and 1: rank 0 calls meet_rank_one, rank 1
  /// meet_rank_zero. False on both when the sockets cannot be connected.
  bool meet_rank_one(Context& context) const;
  bool meet_rank_zero(Context& context) const;

  /// Sends one datagram. A full send buffer loses it; the caller sends again.
  void send(std::span<const std::byte> bytes) const;

  /// Receives a datagram of exactly this size; false when none has arrived.
  bool receive(std::span<std::byte> bytes) const;

  /// Asks for a receive buffer of `bytes`; returns the bytes granted. In the
  /// kernel's accounting a datagram takes up to twice its size.
  std::size_t grow_buffer(int bytes) const;

 private:
  bool connect_to(std::uint64_t port) const;

  int fd_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace acp::perf
